package mig

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// name is a profile's name taken apart: "1g.10gb+me".
type name struct {
	compute int
	gb      int
	attr    string // "+me", "-me", "+gfx", "+me.all"; mostly empty
}

var (
	nameForm    = regexp.MustCompile(`^([1-9][0-9]?)g\.([1-9][0-9]{0,3})gb((?:[+-][a-z][a-z.]{0,15})?)$`)
	computeForm = regexp.MustCompile(`^[1-9][0-9]?c\.[1-9]`)
)

func parseName(text string) (name, error) {
	m := nameForm.FindStringSubmatch(text)
	if m == nil {
		if computeForm.MatchString(text) {
			return name{}, fmt.Errorf("%w: %q is a part of an instance; gpuctl makes instances with one compute instance of all their slices", ErrLayout, text)
		}
		return name{}, fmt.Errorf("%w: %q is no profile; one looks like 3g.40gb, with a count 1g.10gb:2, with a place 3g.40gb@0", ErrLayout, text)
	}
	compute, _ := strconv.Atoi(m[1])
	gb, _ := strconv.Atoi(m[2])
	return name{compute, gb, m[3]}, nil
}

// shape is what tells instances of a board apart. Neither ids nor the memory in a
// name do: the same profile has another name on another board.
type shape struct {
	compute, memory int
	attr            string
}

func attrOf(profile string) string {
	if i := strings.IndexAny(profile, "+-"); i >= 0 {
		return profile[i:]
	}
	return ""
}

func (p *Profile) shape() shape { return shape{p.Compute, p.Memory, attrOf(p.Name)} }

func shapeOf(i *fleet.MIGInstance) shape { return shape{i.Compute, i.Size, attrOf(i.Profile)} }

// board is what can be computed with: the profiles a device reports.
type board struct {
	profiles []Profile
	compute  int // slices
	memory   int // slices
}

func newBoard(state fleet.MIGState, profiles []Profile) *board {
	b := &board{profiles: profiles, memory: state.Slices}
	for i := range profiles {
		b.compute = max(b.compute, profiles[i].Compute)
		for _, p := range profiles[i].Placements {
			b.memory = max(b.memory, p.Start+p.Size)
		}
	}
	return b
}

// find returns the profile that a name in a layout means on this board.
func (b *board) find(text string) (*Profile, error) {
	n, err := parseName(text)
	if err != nil {
		return nil, err
	}
	var near []string
	for i := range b.profiles {
		p := &b.profiles[i]
		have, err := parseName(strings.ToLower(p.Name))
		if err != nil || p.Compute != n.compute || have.attr != n.attr {
			continue
		}
		if have.gb == n.gb {
			return p, nil
		}
		near = append(near, fmt.Sprintf("%s (%d of %d compute slices, %d of %d memory slices)", p.Name, p.Compute, b.compute, p.Memory, b.memory))
	}
	if len(near) > 0 {
		return nil, fmt.Errorf("%w: this board has no %s; what it has with as many compute slices is %s", ErrLayout, text, strings.Join(near, " and "))
	}
	return nil, fmt.Errorf("%w: this board has no %s; it has %s", ErrLayout, text, strings.Join(b.names(), ", "))
}

func (b *board) names() []string {
	var names []string
	for i := range b.profiles {
		names = append(names, b.profiles[i].Name)
	}
	return names
}

// byShape returns the profile of an instance; nil when the board reports none like it.
func (b *board) byShape(s shape) *Profile {
	for i := range b.profiles {
		if b.profiles[i].shape() == s {
			return &b.profiles[i]
		}
	}
	return nil
}
