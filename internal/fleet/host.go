package fleet

import (
	"slices"
)

// reportKey names a host's report by who sent it.
type reportKey struct{ source, host string }

// updateHosts applies what agents say of whole hosts. It returns the hosts whose report
// changed, and whether the set of hosts did, or which machine one of them is.
func (f *feed) updateHosts(u *Update, d *differ) (changed []reportKey, reshaped bool) {
	if len(u.Hosts) == 0 && !(u.Full && f.hadHosts) {
		return nil, false
	}
	if f.hosts == nil {
		f.hosts = map[string]*HostReport{}
	}
	for i := range u.Hosts {
		next := u.Hosts[i] // a copy: one kept row must not keep all of them
		old := f.hosts[next.Host]
		next.inherit(old)
		if old != nil && sameReport(old, &next) {
			continue
		}
		d.host(old, &next)
		reshaped = reshaped || old == nil || old.Agent.Machine != next.Agent.Machine || old.Agent.BootID != next.Agent.BootID
		f.hosts[next.Host] = &next
		changed = append(changed, reportKey{f.source, next.Host})
	}
	if u.Full {
		f.hadHosts = true
		reshaped = f.keepHosts(u.Hosts) || reshaped
	}
	d.tellAgents()
	return changed, reshaped
}

// inherit keeps what was said before: all of it when the agent is gone, and devices
// that are still the same, so that they can be shared.
func (r *HostReport) inherit(old *HostReport) {
	if old == nil {
		return
	}
	if r.Gone != "" && r.Agent.At.IsZero() {
		status := r.Agent.Status
		r.Agent, r.GPUs = old.Agent, old.GPUs
		r.Agent.Status = status
	}
	if slices.EqualFunc(old.GPUs, r.GPUs, func(a, b GPU) bool { return sameGPU(&a, &b) }) {
		r.GPUs = old.GPUs
	}
}

// keepHosts drops the hosts that a full set does not list, and reports whether there
// were any.
func (f *feed) keepHosts(listed []HostReport) bool {
	if len(f.hosts) == len(listed) {
		return false // all of them were just put in
	}
	names := make(map[string]bool, len(listed))
	for i := range listed {
		names[listed[i].Host] = true
	}
	before := len(f.hosts)
	for host := range f.hosts {
		if !names[host] {
			delete(f.hosts, host)
		}
	}
	return len(f.hosts) != before
}

// better reports whether a says more of a host than b.
func (r *HostReport) better(b *HostReport) bool {
	switch {
	case b == nil || (r.Gone == "") != (b.Gone == ""):
		return b == nil || r.Gone == ""
	case r.poor() != b.poor():
		return !r.poor()
	}
	return r.Agent.At.After(b.Agent.At)
}

// ViaSMI is AgentInfo.Via of the poorer view that nvidia-smi gives of a node without
// an agent.
const ViaSMI = "nvidia-smi"

func (r *HostReport) poor() bool { return r.Agent.Via == ViaSMI }

// agent is what a Node shows of the report.
func (r *HostReport) agent() *AgentInfo {
	a := r.Agent
	a.Gone = r.Gone
	return &a
}
