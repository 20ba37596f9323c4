package triage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// device is a GPU that is being judged.
type device struct {
	*fleet.GPU
	node *fleet.Node
	snap *fleet.Snapshot
}

// name is the device as people say it: "gpu-node017 GPU 3".
func (d device) name() string { return d.Node + " GPU " + strconv.Itoa(d.Index) }

// open lists the faults of a kind that nobody cleared; every kind without one.
func (d device) open(kinds ...string) []*fleet.Fault {
	var out []*fleet.Fault
	for i := range d.Faults {
		f := &d.Faults[i]
		if f.IsOpen() && (len(kinds) == 0 || slices.Contains(kinds, f.Kind)) {
			out = append(out, f)
		}
	}
	return out
}

// check is the result of a check by name; what nobody checked is fine.
func (d device) check(name string) fleet.CheckResult {
	for i := range d.Checks {
		if d.Checks[i].Name == name {
			return d.Checks[i].Result
		}
	}
	return fleet.CheckOK
}

// owners are those that hold the device or a part of it, each job once.
func (d device) owners() []fleet.Owner {
	var out []fleet.Owner
	add := func(o fleet.Owner) {
		same := func(x fleet.Owner) bool { return x.Job.ID == o.Job.ID && x.Job.Cluster == o.Job.Cluster }
		if o.Job.ID != "" && !slices.ContainsFunc(out, same) {
			out = append(out, o)
		}
	}
	for o := range d.Holders {
		add(*o)
	}
	for i := range d.Processes {
		add(d.Processes[i].Owner)
	}
	return out
}

// culprit are the owners of the process that a fault names, all owners when that
// cannot be told.
func (d device) culprit(f *fleet.Fault) []fleet.Owner {
	for i := range d.Processes {
		if p := &d.Processes[i]; f.PID != 0 && p.PID == f.PID && p.Owner.Job.ID != "" {
			return []fleet.Owner{p.Owner}
		}
	}
	return d.owners()
}

// blast is what the owners' jobs cost together, on all their GPUs; the device alone
// when nobody is known to hold it.
func (d device) blast(owners []fleet.Owner) fleet.Blast {
	var jobs []*fleet.Job
	var unlisted fleet.Blast // jobs that the snapshot does not have (yet)
	for _, o := range owners {
		if j := jobOf(d.snap, o.Job); j != nil {
			jobs = append(jobs, j)
			continue
		}
		unlisted.Jobs++
		if o.User != "" {
			unlisted.Users = append(unlisted.Users, o.User)
		}
	}
	b := blastOf(jobs)
	b.GPUs, b.Jobs = max(1, b.GPUs), b.Jobs+unlisted.Jobs
	b.Users = append(b.Users, unlisted.Users...)
	slices.Sort(b.Users)
	b.Users = slices.Compact(b.Users)
	return b
}

// jobOf is the job that a key means, when it is listed: an agent may not know the
// submit time.
func jobOf(s *fleet.Snapshot, k fleet.JobKey) *fleet.Job {
	if j := s.Job(k); j != nil {
		return j
	}
	return s.JobByID(k.Cluster, k.ID)
}

// ownerWords says in words who holds the device: ", job 4711 of alice".
func ownerWords(owners []fleet.Owner) string {
	switch len(owners) {
	case 0:
		return ""
	case 1:
		text := ", job " + owners[0].Job.ID
		if owners[0].User != "" {
			text += " of " + owners[0].User
		}
		return text
	}
	return fmt.Sprintf(", %d jobs", len(owners))
}

// finding starts a finding about the device.
func (d device) finding(rule string, sev fleet.Severity, says string, owners []fleet.Owner) fleet.Finding {
	f := finding(rule, sev, fleet.KindGPU, "", d.ID())
	f.Title = d.name() + " " + says + ownerWords(owners)
	f.Blast = d.blast(owners)
	if sev != fleet.Info {
		f.Actions = drainWhereOpen(d.node)
	}
	if d.UUID != "" {
		f.Evidence = append(f.Evidence, strings.TrimSpace(d.UUID+" "+d.PCI))
	}
	if a := d.node.Agent; a != nil && a.Gone != "" {
		f.Evidence = append(f.Evidence, "as of "+clock(d.At)+", the agent is not reached any more")
	}
	return f
}

// reset is the action that resets a device, once its node is drained.
const reset = "gpu-reset"

// drainWhereOpen is what helps while work may still come to the node.
func drainWhereOpen(n *fleet.Node) []string {
	for i := range n.Views {
		if !n.Views[i].Has(fleet.FlagDrain) {
			return []string{"drain"}
		}
	}
	return nil
}

// faultWords quotes a fault: "XID 79 at 13:59:12Z: GPU has fallen off the bus".
func faultWords(f *fleet.Fault) string {
	what := f.Kind
	switch f.Kind {
	case fleet.FaultXID:
		what = "XID " + strconv.Itoa(f.Code)
	case fleet.FaultSXID:
		what = "SXID " + strconv.Itoa(f.Code)
	case fleet.FaultRecovery:
		what = "recovery action " + ExplainRecovery(f.Code).Name
	}
	if f.Count > 1 {
		what += fmt.Sprintf(", %d times", f.Count)
	}
	if !f.Last.IsZero() {
		what += " at " + clock(f.Last)
	}
	if f.Text != "" {
		what += ": " + f.Text
	}
	if f.PID != 0 {
		what += fmt.Sprintf(" (pid %d %s)", f.PID, f.Process)
	}
	if f.Source != "" {
		what += " [" + f.Source + "]"
	}
	return what
}
