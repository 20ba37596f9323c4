package mig

import (
	"errors"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// The classes of failure of a Device that mean something to the engine, wrapped with
// what was asked.
var (
	// ErrInUse: something holds the device or the instance.
	ErrInUse = errors.New("GPU in use")
	// ErrNoRoom: the driver found no place for the instance.
	ErrNoRoom = errors.New("insufficient resources")
)

// ErrLayout is a layout that makes no sense, or that this board cannot have whatever
// its state is.
var ErrLayout = errors.New("layout refused")

// Failure is the error of an apply that did not end as planned.
type Failure struct {
	// Code is CodeRefused when nothing was changed, CodeBusy when another change is
	// under way, CodeFailed when the state before was restored, and CodeLeft when
	// something else is left.
	Code wire.Code
	Text string
	// Left is what the device is now, when Code is CodeLeft. With Unread it could not
	// be read, and Left is what the calls that succeeded make of it.
	Left   fleet.MIGState
	Unread bool
	Err    error // what went wrong first; nil when nothing was tried
}

// Error is the whole story in one line.
func (f *Failure) Error() string { return f.Text }

// Unwrap is what went wrong first.
func (f *Failure) Unwrap() error { return f.Err }

// CodeOf is the class of an error of this package for a wire.Reply.
func CodeOf(err error) wire.Code {
	var f *Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Code
	case errors.Is(err, ErrLayout):
		return wire.CodeRefused
	}
	return wire.CodeFailed
}
