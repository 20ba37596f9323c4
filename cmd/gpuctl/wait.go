package main

import (
	"context"
	"errors"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// first waits until every source has answered or failed once.
func (s *session) first(ctx context.Context) (*fleet.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.app.patience)
	defer cancel()
	changes, stop := s.store.Subscribe()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return s.store.Latest(), nil // with its sources still connecting, which the exit code tells
			}
			return nil, fail(exitFailed, context.Cause(ctx))
		case snap := <-changes:
			if settled(snap) {
				return snap, nil
			}
		}
	}
}

// factsPatience is how long a command that shows partitions or limits waits for
// them: they are asked apart from the first poll.
const factsPatience = 3 * time.Second

// facts is first, with partitions and limits where they come soon.
func (s *session) facts(ctx context.Context) (*fleet.Snapshot, error) {
	snap, err := s.first(ctx)
	if err != nil || hasFacts(snap) {
		return snap, err
	}
	changes, stop := s.store.Subscribe()
	defer stop()
	late := time.After(factsPatience)
	for !hasFacts(snap) {
		select {
		case <-ctx.Done():
			return nil, fail(exitFailed, context.Cause(ctx))
		case <-late:
			return snap, nil
		case snap = <-changes:
		}
	}
	return snap, nil
}

// hasFacts reports that every live Slurm cluster told its partitions and limits, or
// said that it does not.
func hasFacts(snap *fleet.Snapshot) bool {
	for i := range snap.Clusters {
		c := &snap.Clusters[i]
		src := snap.SourceOf(c.Name)
		missing := len(c.Partitions) == 0 || c.Accounting && len(c.QOS) == 0
		if c.Kind == fleet.Slurm && src != nil && src.Usable() && missing && len(c.Notes) == 0 {
			return false
		}
	}
	return true
}

func settled(snap *fleet.Snapshot) bool {
	for i := range snap.Sources {
		if snap.Sources[i].Status == fleet.SourceConnecting {
			return false
		}
	}
	return true
}
