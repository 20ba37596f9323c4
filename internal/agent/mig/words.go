package mig

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Describe says in words what a device is: "MIG enabled: 3g.40gb@0, 1g.10gb@4".
func Describe(s fleet.MIGState) string {
	text := "MIG " + modeWord(s.Current)
	switch {
	case s.Current == fleet.MIGUnknown && s.Pending != fleet.MIGUnknown:
		text = fmt.Sprintf("MIG set to %s, not read back", s.Pending)
	case pending(s):
		text += " (pending " + modeWord(s.Pending) + ": needs a reset or a reboot)"
	}
	if s.Current != fleet.MIGEnabled && len(s.Instances) == 0 {
		return text
	}
	if len(s.Instances) == 0 {
		return text + ", no instances"
	}
	return text + ": " + listInstances(s.Instances)
}

func listInstances(list []fleet.MIGInstance) string {
	var parts []string
	for _, i := range byStart(list) {
		parts = append(parts, instanceWord(&i))
	}
	return strings.Join(parts, ", ")
}

// instanceWord names an instance, and says when it is not whole.
func instanceWord(i *fleet.MIGInstance) string {
	text := Item{Profile: i.Profile, Start: i.Start}.text(1)
	switch {
	case len(i.CIs) == 0:
		return text + " without a compute instance"
	case len(i.CIs) == 1 && i.CIs[0].Slices == i.Compute:
		return text
	}
	var cuts []string
	for _, ci := range i.CIs {
		cuts = append(cuts, fmt.Sprintf("%dc", ci.Slices))
	}
	return text + " cut into " + strings.Join(cuts, "+")
}

func modeWord(m fleet.MIGMode) string {
	if m == fleet.MIGUnknown {
		return "unknown"
	}
	return string(m)
}

// holderWords says who holds what: "pid 4711 (python) of job 12, user alice, holds
// 3g.40gb@0".
func holderWords(proc *fleet.GPUProcess, p *wire.MIGPlan) string {
	text := fmt.Sprintf("pid %d", proc.PID)
	if proc.Name != "" {
		text += " (" + proc.Name + ")"
	}
	o := &proc.Owner
	switch {
	case o.Job.ID != "" && o.User != "":
		text += fmt.Sprintf(" of job %s, user %s,", o.Job.ID, o.User)
	case o.Job.ID != "":
		text += fmt.Sprintf(" of job %s,", o.Job.ID)
	case o.User != "":
		text += fmt.Sprintf(" of user %s, job unknown,", o.User)
	default:
		text += ", owner unknown,"
	}
	for i := range p.Before.Instances {
		if inst := &p.Before.Instances[i]; inst.ID == proc.Instance {
			return text + fmt.Sprintf(" holds %s (instance %d)", Item{Profile: inst.Profile, Start: inst.Start}.text(1), inst.ID)
		}
	}
	return text + " holds the whole GPU"
}
