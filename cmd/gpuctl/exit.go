package main

import "fmt"

// The exit codes. Scripts rely on them.
const (
	exitDone        = 0 // done and verified
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3 // guard, blocker, read-only, policy
	exitNotVerified = 4 // sent, not verified in time
	exitSource      = 5 // source down or stale
)

// exitError is an error with the exit code it stands for. A nil err means that
// everything was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// fail wraps err with an exit code; nil stays nil.
func fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// failf is fail for a new sentence.
func failf(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}
