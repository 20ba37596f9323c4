package slurm

import (
	"context"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// drainedStep waits until nothing is left on a node.
func drainedStep(t actions.Target) actions.Step {
	return actions.Step{
		Name: "wait until " + t.Name + " is empty", Backend: fleet.Slurm, Op: opDrained, Target: t, WaitOnly: true, Twice: true,
		Expect: "DRAIN is set and nothing is allocated or completing, read twice",
	}
}

// resumeStep returns a node to service.
func resumeStep(t actions.Target) actions.Step {
	return actions.Step{
		Name: "resume " + t.Name, Backend: fleet.Slurm, Op: opResumeNode, Target: t,
		Command: fmt.Sprintf("scontrol update nodename=%s state=resume", t.Name),
		Expect:  "DRAIN and DOWN are gone and the node answers",
	}
}

// Drained is a step for plans of other backends that need a node out of service: it
// waits until nothing is left on it, whoever drained it.
func (b *Backend) Drained(t actions.Target) actions.Step { return drainedStep(t) }

// Resume is a step for such plans that returns the node to service.
func (b *Backend) Resume(t actions.Target) actions.Step { return resumeStep(t) }

// Node reads a node as the scheduler has it now.
func (b *Backend) Node(ctx context.Context, name string) (fleet.View, error) {
	v, err := b.node(ctx, name)
	return v, classify(err)
}
