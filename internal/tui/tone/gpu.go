package tone

import (
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// GPU is the tone of a device: whether it answers, and whether faults are open on it.
func GPU(g *fleet.GPU) theme.Name {
	switch {
	case g.Silent():
		return theme.Crit
	case g.Health.State == fleet.GPUUnwatched:
		return theme.Dim
	}
	for i := range g.Faults {
		if g.Faults[i].IsOpen() {
			return theme.Warn
		}
	}
	for i := range g.Checks {
		if g.Checks[i].Result == fleet.CheckBad {
			return theme.Warn
		}
	}
	return theme.OK
}

// Temp is the tone of a device's temperature against its own limit.
func Temp(g *fleet.GPU) theme.Name {
	if g.Temp.Quality == fleet.Known && g.TempLimit.Quality == fleet.Known && g.Temp.Value >= g.TempLimit.Value {
		return theme.Crit
	}
	return theme.Text
}

// Use is the tone of whether a device is held.
func Use(u fleet.Use) theme.Name {
	switch u {
	case fleet.UseFree:
		return theme.Free
	case fleet.UseHeld:
		return theme.Busy
	case fleet.UseUnknown:
	}
	return theme.Warn
}

// Check is the tone of a check's result.
func Check(r fleet.CheckResult) theme.Name {
	switch r {
	case fleet.CheckBad:
		return theme.Crit
	case fleet.CheckWarn, fleet.CheckUnreadable:
		return theme.Warn
	case fleet.CheckOK, fleet.CheckNotApplicable:
	}
	return theme.Dim
}
