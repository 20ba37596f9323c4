package actions

import (
	"context"
	"errors"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Errors that a Backend's Do and Check return, wrapped with what was acted on.
var (
	// ErrRefused: the scheduler said no, for good; the text says why.
	ErrRefused = errors.New("refused")
	// ErrFailed: it was tried and did not come about; the text says what there is now.
	ErrFailed = errors.New("failed")
	// ErrUnreachable: nothing was sent, or it is not known whether it arrived.
	ErrUnreachable = errors.New("unreachable")
)

// Backend plans and carries out the steps of one kind of scheduler.
type Backend interface {
	// Plan fills in targets, steps, impact, warnings, blockers, UndoneBy, Inverse
	// and Acting of a request whose targets are all on its clusters. It is a pure
	// read: it may ask the scheduler but changes nothing. Guard, cap, read-only and
	// source age are the Engine's business.
	Plan(ctx context.Context, snap *fleet.Snapshot, req Request) (*Plan, error)
	// Do carries out the step once. It is idempotent: doing a step that already
	// holds is no error.
	Do(ctx context.Context, step Step) error
	// Check reads the target back and says whether Expect holds. It asks the
	// scheduler, never a snapshot.
	Check(ctx context.Context, step Step) (Reading, error)
}

// Reading is one read-back.
type Reading struct {
	Holds bool
	State string // what was read, in words: "MIXED+DRAIN, job 4711 still runs"
	// Never is set when waiting longer cannot help (the job has ended).
	Never bool
}

// Event is one thing that happened during a run. Exactly one of its parts is set.
type Event struct {
	Plan     string // plan id
	Started  *Step  // a step begins
	Waiting  *Wait  // a read-back that does not show it yet
	Finished *StepResult
	Done     *Result // the last event
}

// Wait is a read-back on the way.
type Wait struct {
	N     int
	State string
}
