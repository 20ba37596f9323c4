package agent

import (
	"context"
	"slices"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// readBoards asks what the devices can be cut into, once for each model: that never
// changes. What a driver does not tell while MIG is off is asked again once it is on.
func (s *Sampler) readBoards(ctx context.Context) error {
	select {
	case s.driver <- struct{}{}:
		defer func() { <-s.driver }()
	default:
		return nil // somebody has it to himself
	}
	for _, g := range s.unknownBoards() {
		device := s.opts.Driver.MIG(g.UUID)
		if device == nil {
			continue
		}
		profiles, err := device.Profiles(ctx)
		if err != nil {
			s.opts.Log.Debug("what a board can be cut into is not told", "gpu", g.UUID, "err", err)
			continue
		}
		s.learn(fleet.MIGBoard{Model: g.Model, Profiles: profilesOf(profiles)})
	}
	return nil
}

// unknownBoards is one device of each model of which nothing, or not all, is known.
func (s *Sampler) unknownBoards() []fleet.GPU {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ask []fleet.GPU
	for _, g := range s.found.sample.GPUs {
		on := g.MIG.Current == fleet.MIGEnabled
		if g.Health.State != fleet.GPUAnswers || !on && g.MIG.Current != fleet.MIGDisabled ||
			slices.ContainsFunc(ask, func(x fleet.GPU) bool { return x.Model == g.Model }) {
			continue
		}
		i := s.board(g.Model)
		if i < 0 || on && !s.found.boards[i].Placed() {
			ask = append(ask, g)
		}
	}
	return ask
}

// board is the index of a model among the known boards; -1: not known. Hold mu.
func (s *Sampler) board(model string) int {
	return slices.IndexFunc(s.found.boards, func(b fleet.MIGBoard) bool { return b.Model == model })
}

func (s *Sampler) learn(b fleet.MIGBoard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	boards := slices.Clone(s.found.boards) // the old slice is in a state
	if i := s.board(b.Model); i >= 0 {
		boards[i] = b
	} else {
		boards = append(boards, b)
	}
	s.found.boards = boards
}

func profilesOf(all []mig.Profile) []fleet.MIGProfile {
	out := make([]fleet.MIGProfile, 0, len(all))
	for _, p := range all {
		var starts []int
		for _, place := range p.Placements {
			starts = append(starts, place.Start)
		}
		out = append(out, fleet.MIGProfile{Name: p.Name, Compute: p.Compute, Memory: p.Memory, Max: p.Max, Starts: starts, Media: p.Media})
	}
	return out
}
