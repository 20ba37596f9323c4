package main

import (
	"slices"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

func gpuItemOf(s *fleet.Snapshot, n *fleet.Node, g *fleet.GPU) gpuItem {
	item := gpuItem{
		ID: g.ID(), UUID: g.UUID, Node: g.Node, Index: g.Index, Model: g.Model, Proven: true,
		Use: string(n.UseOf(g)), State: told(string(g.Health.State)), StateSince: when(g.Health.Since), StateWhy: g.Health.Why,
		PCI: told(g.PCI), Serial: told(g.Serial), VBIOS: told(g.VBIOS), ReadAt: when(n.ReadAt(g)),
		MIG: migStateOf(g), Checks: checkItems(g.Checks), Faults: faultItems(g.Faults), Processes: processItems(g.Processes),
	}
	if g.Minor >= 0 {
		item.Minor = &g.Minor
	}
	item.Owners, item.Users = holderNames(g.Holders)
	for o := range g.Holders {
		item.Proven = item.Proven && o.Proven
	}
	item.Proven = item.Proven && len(item.Owners) > 0
	item.readings(g)
	item.Findings = findingIDs(s, fleet.KindGPU, g.ID())
	return item
}

// readings fills in what was measured, and says why the rest was not.
func (item *gpuItem) readings(g *fleet.GPU) {
	for _, r := range []struct {
		name string
		into **float64
		fleet.Reading
	}{
		{"temperature_celsius", &item.Temperature, g.Temp},
		{"temperature_limit_celsius", &item.TempLimit, g.TempLimit},
		{"power_watts", &item.Power, g.Power},
		{"power_limit_watts", &item.PowerLimit, g.PowerCap},
		{"utilization_percent", &item.Utilisation, g.Util},
		{"memory_used_bytes", &item.MemUsed, g.MemUsed},
		{"memory_total_bytes", &item.MemTotal, g.MemTotal},
		{"sm_clock_mhz", &item.SMClock, g.SMClock},
	} {
		*r.into = known(r.Reading)
		if *r.into == nil && g.Health.State != fleet.GPUUnwatched {
			if item.Absent == nil {
				item.Absent = map[string]string{}
			}
			item.Absent[r.name] = whyAbsent(r.Reading)
		}
	}
}

func known(r fleet.Reading) *float64 {
	if r.Quality != fleet.Known {
		return nil
	}
	return &r.Value
}

func whyAbsent(r fleet.Reading) string {
	switch r.Quality {
	case fleet.NotApplicable:
		return "n/a"
	case fleet.Unsupported:
		return "unsupported"
	case fleet.Unreadable:
		return words.Or(r.Why)
	case fleet.Unread, fleet.Known:
	}
	return "not read"
}

// told is nil for a text that nobody told.
func told(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// holderNames are the jobs and users among owners, each once.
func holderNames(holders func(func(*fleet.Owner) bool)) (jobs, users []string) {
	jobs, users = []string{}, []string{}
	for o := range holders {
		if !slices.Contains(jobs, o.Job.ID) {
			jobs = append(jobs, o.Job.ID)
		}
		if o.User != "" && !slices.Contains(users, o.User) {
			users = append(users, o.User)
		}
	}
	return jobs, users
}

func migStateOf(g *fleet.GPU) *migState {
	if g.MIG.Current == fleet.MIGUnknown {
		return nil
	}
	state := &migState{Current: string(g.MIG.Current), Pending: string(g.MIG.Pending), Slices: g.MIG.Slices, Instances: []instanceItem{}}
	for _, in := range fleet.ByPlace(g.MIG.Instances) {
		state.Instances = append(state.Instances, instanceItemOf(g, &in))
	}
	return state
}

func instanceItemOf(g *fleet.GPU, in *fleet.MIGInstance) instanceItem {
	item := instanceItem{
		ID: in.ID, Profile: in.Profile, Placement: placement{in.Start, in.Size}, Compute: in.Compute, Bytes: in.Bytes, Used: known(in.MemUsed),
		UUID: told(in.UUID), CIs: []computeItem{}, Use: string(g.UseOfInstance(in)),
	}
	for _, c := range in.CIs {
		item.CIs = append(item.CIs, computeItem{c.ID, c.Profile, c.Start, c.Slices, c.UUID})
	}
	part := fleet.GPU{Owners: in.Owners}
	item.Owners, item.Users = holderNames(part.Holders)
	return item
}

func checkItems(all []fleet.Check) []checkItem {
	items := make([]checkItem, 0, len(all))
	for _, c := range all {
		items = append(items, checkItem{c.Name, string(c.Result), c.Text})
	}
	return items
}

func faultItems(all []fleet.Fault) []faultItem {
	items := make([]faultItem, 0, len(all))
	for i := range all {
		f := &all[i]
		item := faultItem{
			Kind: f.Kind, Text: f.Text, First: when(f.First), Last: when(f.Last), Count: f.Count, Process: f.Process,
			Source: f.Source, BootID: f.BootID, Cleared: when(f.Cleared), By: f.By,
		}
		if f.Code != 0 {
			item.Code = &f.Code
		}
		if f.PID != 0 {
			item.PID = &f.PID
		}
		items = append(items, item)
	}
	return items
}

func processItems(all []fleet.GPUProcess) []processItem {
	items := make([]processItem, 0, len(all))
	for i := range all {
		p := &all[i]
		item := processItem{PID: p.PID, Name: p.Name, Bytes: known(p.Bytes), Owner: told(p.Owner.Job.ID), User: p.Owner.User}
		if p.Instance >= 0 {
			item.Instance = &p.Instance
		}
		items = append(items, item)
	}
	return items
}

func agentItemOf(a *fleet.AgentInfo) *agentItem {
	if a == nil {
		return nil
	}
	item := &agentItem{
		Status: string(a.Status), Version: a.Version, Via: a.Via, Driver: told(a.Driver), CUDA: told(a.CUDA), NVML: told(a.NVML),
		Present: a.Present, At: when(a.At), Gone: a.Gone, Problems: strs(a.Problems), Checks: checkItems(a.Checks), Faults: faultItems(a.Faults),
	}
	if a.Expected >= 0 {
		item.Expected = &a.Expected
	}
	return item
}

// findingIDs names the findings about a thing.
func findingIDs(s *fleet.Snapshot, kind fleet.Kind, name string) []string {
	ids := []string{}
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Subject.Kind == kind && f.Subject.Name == name {
			ids = append(ids, f.ID)
		}
	}
	return ids
}
