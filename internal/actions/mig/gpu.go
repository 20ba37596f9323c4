package mig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

func gpuState(g *fleet.GPU) string {
	text := fmt.Sprintf("GPU %d %s", g.Index, mig.Describe(g.MIG))
	if g.Health.State != fleet.GPUAnswers && g.Health.State != fleet.GPUUnwatched {
		text += " (" + string(g.Health.State) + ")"
	}
	return text
}

// repartition plans one GPU's change as its agent works it out.
func (p *planner) repartition(ctx context.Context, gpu *fleet.GPU, layout string) error {
	var plan wire.MIGPlan
	err := p.b.ask(ctx, p.target.Name, wire.OpMIGPlan, wire.MIGArgs{UUID: gpu.UUID, Layout: layout}, &plan)
	if errors.Is(err, actions.ErrUnreachable) {
		return err
	}
	if err != nil {
		p.refuse("GPU %d cannot become %s: %v", gpu.Index, layout, err)
		return nil
	}
	for _, w := range plan.Warnings {
		p.warn("GPU %d: %s", gpu.Index, w)
	}
	p.will[gpu.UUID] = afterOf(&plan)
	if isSo(&plan) {
		p.done = append(p.done, fmt.Sprintf("GPU %d is %s", gpu.Index, mig.Describe(plan.Before)))
		return nil
	}
	for _, b := range plan.Blockers {
		p.refuse("GPU %d: %s", gpu.Index, b)
	}
	p.before = append(p.before, actions.GPUWish{UUID: gpu.UUID, Layout: mig.LayoutOf(plan.Before).String()})
	p.work = append(p.work, p.migStep(gpu, &plan))
	return nil
}

// migStep is the change in words. It asks for exactly the places that were planned.
func (p *planner) migStep(gpu *fleet.GPU, plan *wire.MIGPlan) actions.Step {
	after := afterOf(plan)
	exact := mig.LayoutOf(after).String()
	s := p.agentStep(opMIG, gpu.UUID)
	s.Name = fmt.Sprintf("GPU %d: %s", gpu.Index, changeWords(plan))
	s.Args["layout"] = exact
	s.Command = fmt.Sprintf("gpuctl mig apply %s --gpu %d %s", p.target.Name, gpu.Index, exact)
	s.Expect = fmt.Sprintf("the GPU is read back as %s", mig.Describe(after))
	return s
}

func changeWords(plan *wire.MIGPlan) string {
	var parts []string
	if plan.Mode != "" {
		parts = append(parts, "set MIG "+string(plan.Mode))
	}
	for _, c := range []struct {
		verb string
		list []fleet.MIGInstance
	}{{"keep", plan.Keep}, {"destroy", plan.Destroy}, {"create", plan.Create}} {
		if len(c.list) > 0 {
			parts = append(parts, c.verb+" "+mig.LayoutOf(fleet.MIGState{Current: fleet.MIGEnabled, Instances: c.list}).String())
		}
	}
	return strings.Join(parts, "; ")
}

// afterOf is what the device will be.
func afterOf(plan *wire.MIGPlan) fleet.MIGState {
	s := fleet.MIGState{Current: plan.Before.Current, Instances: plan.After}
	if plan.Mode != "" {
		s.Current = plan.Mode
	}
	return s
}

// reset plans a reset, and the partitioning that it wipes out again.
func (p *planner) reset(gpu *fleet.GPU) {
	for i := range gpu.Processes {
		p.refuse("GPU %d: %s must end first", gpu.Index, processWords(&gpu.Processes[i]))
	}
	s := p.agentStep(opReset, gpu.UUID)
	s.Name = fmt.Sprintf("reset GPU %d", gpu.Index)
	s.Command = fmt.Sprintf("nvidia-smi --gpu-reset --id=%s", gpu.UUID)
	s.Expect = "the agent did it, and the GPU answers with every check good"
	p.work = append(p.work, s)
	p.warn("GPU %d: where GPUs are joined by NVSwitch, the driver may have to reset all of the node together", gpu.Index)
	if gpu.MIG.Current != fleet.MIGEnabled || gpu.MIG.Pending == fleet.MIGDisabled || len(gpu.MIG.Instances) == 0 {
		return
	}
	p.warn("GPU %d: its MIG instances do not survive the reset, and are made again: %s", gpu.Index, mig.Describe(gpu.MIG))
	p.will[gpu.UUID] = gpu.MIG
	again := p.agentStep(opMIG, gpu.UUID)
	again.Args["layout"] = mig.LayoutOf(gpu.MIG).String()
	again.Name = fmt.Sprintf("GPU %d: make %s again", gpu.Index, again.Args["layout"])
	again.Command = fmt.Sprintf("gpuctl mig apply %s --gpu %d %s", p.target.Name, gpu.Index, again.Args["layout"])
	again.Expect = fmt.Sprintf("the GPU is read back as %s", mig.Describe(gpu.MIG))
	p.work = append(p.work, again)
}

// processWords says who holds a GPU: "pid 4711 (python) of job 12, user alice,".
func processWords(proc *fleet.GPUProcess) string {
	text := fmt.Sprintf("pid %d (%s)", proc.PID, proc.Name)
	o := &proc.Owner
	if o.Job.ID != "" {
		text += " of job " + o.Job.ID
	}
	if o.User != "" {
		return text + ", user " + o.User + ","
	}
	return text + ", owner unknown,"
}
