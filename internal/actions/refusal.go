package actions

import (
	"errors"
	"strings"
)

// ErrInput is a request that makes no sense: an unknown verb, no target, a name
// that nothing has. The command line calls it a usage error.
var ErrInput = errors.New("bad request")

// Refusal is the error of Run when a plan was refused and nothing was sent. It
// is an ErrRefused.
type Refusal struct{ Blockers []Blocker }

// Error lists what stands in the way.
func (r *Refusal) Error() string {
	texts := make([]string, len(r.Blockers))
	for i, b := range r.Blockers {
		texts[i] = b.Text
	}
	return "refused: " + strings.Join(texts, "; ")
}

// Is makes a Refusal match ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// The exit codes of the command line (see the README).
const (
	ExitVerified    = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitRefused     = 3
	ExitNotVerified = 4
	ExitSource      = 5
)

// ErrorExit is the exit code of an error of Plan, Run or a Resolve function.
func ErrorExit(err error) int {
	var refusal *Refusal
	switch {
	case err == nil:
		return ExitVerified
	case errors.As(err, &refusal):
		return BlockersExit(refusal.Blockers)
	case errors.Is(err, ErrInput):
		return ExitUsage
	case errors.Is(err, ErrUnreachable):
		return ExitSource
	case errors.Is(err, ErrRefused):
		return ExitRefused
	}
	return ExitError
}

// BlockersExit is the exit code of a plan with these blockers. A source that is
// not live comes first: nothing else can be believed.
func BlockersExit(blockers []Blocker) int {
	code := ExitVerified
	for _, b := range blockers {
		if b.Code == BlockSource {
			return ExitSource
		}
		code = ExitRefused
	}
	return code
}

// Exit is the exit code of the result. A run of which nothing but failures came
// back was not sent at all, as far as anyone can tell.
func (r *Result) Exit() int {
	switch r.Result {
	case Verified:
		return ExitVerified
	case Refused:
		return ExitRefused
	}
	for _, s := range r.Steps {
		if s.Result == NotVerified || s.Result == Verified {
			return ExitNotVerified
		}
	}
	return ExitError
}

// RefusedResult is the result of a plan that Run refused with err, for output
// that is to have the same shape whatever became of the plan.
func RefusedResult(p *Plan, err error) Result {
	return Result{Plan: p, Result: Refused, Steps: []StepResult{}, Message: err.Error()}
}
