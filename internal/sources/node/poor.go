package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// How often nvidia-smi is asked on a node without an agent, how long it may take, and
// after how many answers it is looked whether an agent is there now.
const (
	poorEvery = 15 * time.Second
	poorLimit = 30 * time.Second
	poorTurns = 20
)

// poor shows what nvidia-smi knows of a node without an agent. It returns nil when it
// is time to look for an agent again, else why there is nothing to show.
func (w *watch) poor(ctx context.Context, query runner, noAgent error) error {
	for range poorTurns {
		r, err := w.ask(ctx, query)
		if err != nil {
			return fmt.Errorf("%w; and %w", noAgent, err)
		}
		r.Agent.Problems = append(r.Agent.Problems, "the poorer view of nvidia-smi, without owners, faults and MIG instances: "+noAgent.Error())
		w.board.answered(r)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poorEvery - poorEvery/10 + rand.N(poorEvery/5)):
		}
	}
	return nil
}

// ask asks nvidia-smi one time.
func (w *watch) ask(ctx context.Context, query runner) (fleet.HostReport, error) {
	ctx, cancel := context.WithTimeout(ctx, poorLimit)
	defer cancel()
	out, err := query.Run(ctx, w.host, smiCommand())
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fleet.HostReport{}, fmt.Errorf("nvidia-smi did not end within %s: a GPU may hang: %w", poorLimit, err)
	case err != nil:
		return fleet.HostReport{}, err
	}
	return readSMI(w.host, time.Now(), out)
}

var _ runner = (*client.SSHWay)(nil)
