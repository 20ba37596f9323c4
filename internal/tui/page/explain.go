package page

import (
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

func explain(j *fleet.Job) Waiter {
	return Waiter{Job: j, NeedsOperator: needsOperator(j.Reason.Code), Why: words.Reason(j.Reason)}
}

func needsOperator(code string) bool {
	switch code {
	case "launch_failed_requeued_held", "JobHoldMaxRequeue", "JobHeldAdmin", "DependencyNeverSatisfied":
		return true
	}
	return false
}
