// Package tone chooses the theme name for a state of the fleet: one place, so that
// a draining node looks alike on every page.
//
// It imports fleet and theme.
package tone

import (
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Condition is the tone of a node's condition.
func Condition(c fleet.Condition) theme.Name {
	switch c {
	case fleet.CondFaulty:
		return theme.Faulty
	case fleet.CondDraining:
		return theme.Draining
	case fleet.CondBusy:
		return theme.Busy
	case fleet.CondFree:
		return theme.Free
	}
	return theme.Dim
}

// Job is the tone of a job's state.
func Job(j *fleet.Job) theme.Name {
	switch {
	case j.Waiting():
		return theme.Text
	case j.Active() && j.Base == fleet.JobRunning:
		return theme.Busy
	case j.Active():
		return theme.Draining
	}
	switch j.Base {
	case fleet.JobCompleted:
		return theme.OK
	case fleet.JobCancelled, fleet.JobPreempted:
		return theme.Dim
	}
	return theme.Faulty
}

// Severity is the tone of a finding.
func Severity(s fleet.Severity) theme.Name {
	switch s {
	case fleet.Critical:
		return theme.Crit
	case fleet.Warning:
		return theme.Warn
	}
	return theme.Info
}

// Source is the tone of a connection.
func Source(s fleet.SourceStatus) theme.Name {
	switch s {
	case fleet.SourceLive:
		return theme.OK
	case fleet.SourceStale:
		return theme.Warn
	case fleet.SourceDown:
		return theme.Crit
	}
	return theme.Dim
}
