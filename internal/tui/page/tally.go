package page

import (
	"cmp"
	"slices"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Tally counts the whole GPUs of one model by the condition of their nodes. Every
// GPU is counted once: the five counts add up to Total.
type Tally struct {
	Model                               string
	Total                               int
	Busy, Free, Draining, Faulty, Other int
}

// Tallies counts the GPUs of a snapshot, the most numerous model first. All counts
// come from that one snapshot, so no share can exceed the whole.
func Tallies(s *fleet.Snapshot) []Tally {
	byModel := map[string]*Tally{}
	for _, n := range s.Nodes {
		gpus := n.GPUCount()
		if gpus.Total == 0 {
			continue
		}
		model := cmp.Or(gpus.Model, "gpu")
		t := byModel[model]
		if t == nil {
			t = &Tally{Model: model}
			byModel[model] = t
		}
		t.add(gpus, n.Usable(), n.Condition())
	}
	all := make([]Tally, 0, len(byModel))
	for _, t := range byModel {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Model, b.Model))
	})
	return all
}

func (t *Tally) add(g fleet.GPUCount, usable int, c fleet.Condition) {
	t.Total += g.Total
	switch c {
	case fleet.CondFaulty:
		t.Faulty += g.Total
	case fleet.CondDraining:
		t.Draining += g.Total
	case fleet.CondOther:
		t.Other += g.Total
	case fleet.CondBusy, fleet.CondFree:
		used := min(g.Allocated, g.Total)
		t.Busy += used
		t.Free += usable
		t.Other += g.Total - used - usable
	}
}

// Demand is what the queue waits for.
type Demand struct {
	Records    int // rows of the queue
	Jobs, GPUs int
}

// Waiting adds up the jobs that wait and the GPUs they want. The waiting rest of
// an array counts as its tasks.
func Waiting(s *fleet.Snapshot) Demand {
	var d Demand
	for _, j := range s.Jobs {
		if !j.Waiting() {
			continue
		}
		d.Records++
		d.Jobs += Tasks(j)
		d.GPUs += Wants(j)
	}
	return d
}

// Tasks is how many jobs the record stands for.
func Tasks(j *fleet.Job) int {
	if j.Array == nil {
		return 1
	}
	return max(1, j.Array.Count)
}

// Wants is how many GPUs the record asks for, with all the tasks it stands for.
func Wants(j *fleet.Job) int { return j.GPUs.Wanted * Tasks(j) }
