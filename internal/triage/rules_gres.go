package triage

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// gresTrouble finds nodes whose GPUs are not those that Slurm counts on (C94d). What
// a lost device or slurmctld itself explains is not said again.
func gresTrouble(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, n := range s.Nodes {
		if n.Agent == nil || n.Agent.Gone != "" || len(n.GPUs) == 0 {
			continue
		}
		h := host{n, s}
		for i := range n.Views {
			v := &n.Views[i]
			configured, found := configuredGPUs(v), h.found()
			if v.Kind != fleet.Slurm || configured == 0 || configured == found || explained(v) ||
				configured > found && configured <= found+h.silent()+max(0, n.Agent.Expected-n.Agent.Present) {
				continue
			}
			out = append(out, h.gres(v, configured, found))
		}
	}
	return out
}

func (h host) gres(v *fleet.View, configured, found int) fleet.Finding {
	f := h.finding(RuleGRESCount, fleet.Warning, fmt.Sprintf("has %d GPUs or slices, Slurm is configured for %d", found, configured))
	f.Subject.Cluster = v.Cluster
	f.ID = f.Rule + "/" + v.Cluster + "/" + h.Name
	var raw []string
	for i := range v.GRES {
		raw = append(raw, v.GRES[i].Raw)
	}
	f.Evidence = []string{"Slurm: " + strings.Join(raw, " "), "agent: " + h.layout()}
	f.Advice = "repair gres.conf or the MIG layout, restart slurmd: with fewer than configured the node goes INVAL at its next registration"
	return f
}

// configuredGPUs counts what Slurm counts on, slices too.
func configuredGPUs(v *fleet.View) int {
	n := 0
	for i := range v.GRES {
		if v.GRES[i].Name == "gpu" {
			n += int(v.GRES[i].Count)
		}
	}
	return n
}

// found counts what slurmd would find: whole devices, or the slices of those in MIG mode.
func (h host) found() int {
	n := 0
	for i := range h.GPUs {
		g := &h.GPUs[i]
		switch {
		case g.Health.State == fleet.GPUMissing || g.Health.State == fleet.GPULost:
		case g.MIG.Current == fleet.MIGEnabled:
			n += len(g.MIG.Instances)
		default:
			n++
		}
	}
	return n
}

// layout is what the devices are, in words: "7 x h100, GPU 7: 3g.40gb 2g.20gb".
func (h host) layout() string {
	whole, parts := 0, []string{}
	for i := range h.GPUs {
		g := &h.GPUs[i]
		if g.MIG.Current != fleet.MIGEnabled {
			whole++
			continue
		}
		profiles := make([]string, len(g.MIG.Instances))
		for k := range g.MIG.Instances {
			profiles[k] = g.MIG.Instances[k].Profile
		}
		parts = append(parts, fmt.Sprintf("GPU %d: %s", g.Index, strings.Join(profiles, " ")))
	}
	return strings.Join(append([]string{fmt.Sprintf("%d whole", whole)}, parts...), ", ")
}

// explained reports a view in which slurmctld itself says that the count is wrong.
func explained(v *fleet.View) bool {
	return v.Base == fleet.BaseInval || v.Has(fleet.FlagInvalidReg) || strings.HasPrefix(strings.ToLower(v.Reason.Text), "gres/gpu")
}
