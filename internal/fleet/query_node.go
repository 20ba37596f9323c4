package fleet

import (
	"slices"
	"time"
)

// NodeRow is a Node as a Query sees it. One NodeRow may be used for many nodes, one
// after the other.
type NodeRow struct {
	*Node
	Snap *Snapshot // for jobs and users on the node; may be nil
	Now  time.Time
}

// column is a field and how to get it from a row.
type column[R any] struct {
	Field
	get func(R) Value
}

// lookUp finds a field of a row by any of its names.
func lookUp[R any](columns []column[R], name string, row R) (Value, bool) {
	for i := range columns {
		if columns[i].named(name) {
			return columns[i].get(row), true
		}
	}
	return Value{}, false
}

// fieldsOf lists the fields without their code.
func fieldsOf[R any](columns []column[R]) []Field {
	out := make([]Field, len(columns))
	for i := range columns {
		out[i] = columns[i].Field
	}
	return out
}

// field makes the description of a field; further names follow the first.
func field(kind ValueKind, doc, name string, aliases ...string) Field {
	return Field{Name: name, Aliases: aliases, Kind: kind, Doc: doc}
}

// NodeFields lists the fields of a NodeRow.
func NodeFields() []Field { return fieldsOf(nodeColumns) }

// Field implements Row.
func (r *NodeRow) Field(name string) (Value, bool) { return lookUp(nodeColumns, name, r) }

var nodeColumns = []column[*NodeRow]{
	{field(KindText, "host name", "name", "node"), func(r *NodeRow) Value { return TextValue(r.Name) }},
	{field(KindText, "clusters that know the host", "cluster"), eachView(func(v *View) []string { return []string{v.Cluster} })},
	{field(KindState, "base state, flags and condition", "state"), (*NodeRow).state},
	{field(KindState, "base state", "base"), func(r *NodeRow) Value {
		return r.states(func(v *View) Value { return StateValue(v.Base, nil, "") })
	}},
	{field(KindState, "flags of the state", "flag", "flags"), func(r *NodeRow) Value {
		return r.states(func(v *View) Value { return StateValue("", v.Flags, "") })
	}},
	{field(KindText, "why it is out of service", "reason"), eachView(func(v *View) []string { return some(v.Reason.Text) })},
	{field(KindText, "who wrote the reason", "author"), eachView(func(v *View) []string { return some(v.Reason.Author) })},
	{field(KindDuration, "time since the reason was written", "age"), (*NodeRow).age},
	{field(KindText, "partitions or queues", "queue", "partition"), eachView(func(v *View) []string { return v.Queues })},
	{field(KindText, "GPU model", "gpu", "model"), eachView(func(v *View) []string { return some(v.GPUs.Model) })},
	{field(KindNumber, "GPUs", "gpus"), func(r *NodeRow) Value { return NumberValue(r.GPUCount().Total) }},
	{field(KindNumber, "GPUs that work could start on now", "free"), func(r *NodeRow) Value { return NumberValue(r.Usable()) }},
	{field(KindNumber, "GPUs allocated", "allocated", "alloc"), func(r *NodeRow) Value { return NumberValue(r.GPUCount().Allocated) }},
	{field(KindText, "users with jobs here", "user", "owner"), (*NodeRow).users},
	{field(KindState, "ids of jobs here", "job"), (*NodeRow).jobs},
	{field(KindNumber, "CPUs", "cpu", "cpus"), func(r *NodeRow) Value {
		return r.most(KindNumber, func(v *View) float64 { return float64(v.CPUs.Total) })
	}},
	{field(KindSize, "memory", "mem", "memory"), func(r *NodeRow) Value {
		return r.most(KindSize, func(v *View) float64 { return float64(v.Memory.Total) * (1 << 20) })
	}},
	{field(KindNumber, "load average of one minute", "load"), func(r *NodeRow) Value {
		return r.most(KindNumber, func(v *View) float64 { return v.Load })
	}},
	{field(KindNumber, "hottest GPU in degrees Celsius", "temp"), (*NodeRow).temp},
	{field(KindText, "features", "feature", "features"), eachView(func(v *View) []string { return v.Features })},
	{field(KindText, "version of the node's daemon", "version"), eachView(func(v *View) []string { return some(v.Version) })},
	{field(KindText, "reservation", "reservation", "resv"), eachView(func(v *View) []string { return some(v.Resv) })},
	{field(KindText, "comment", "comment"), eachView(func(v *View) []string { return some(v.Comment) })},
	{field(KindText, "how two schedulers contradict each other", "disagree"), func(r *NodeRow) Value { return TextValue(r.Disagree) }},
}

// some is a list of one text, or of none when it is empty.
func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// eachView makes the getter of a text that every scheduler has its own of.
func eachView(get func(*View) []string) func(*NodeRow) Value {
	return func(r *NodeRow) Value {
		if len(r.Views) == 1 {
			return TextsValue(get(&r.Views[0]))
		}
		var all []string
		for i := range r.Views {
			all = append(all, get(&r.Views[i])...)
		}
		return TextsValue(all)
	}
}

// states joins the state words of all views.
func (r *NodeRow) states(get func(*View) Value) Value {
	if len(r.Views) == 1 {
		return get(&r.Views[0])
	}
	all := absentValue(KindState)
	for i := range r.Views {
		if v := get(&r.Views[i]); !v.Absent {
			all.List = append(append(all.List, v.List...), some(v.Text)...)
			all.List = append(all.List, some(v.Also)...)
			all.Absent = false
		}
	}
	return all
}

// state adds the condition to the scheduler's words, and tells drained from
// draining: the condition of both is draining.
func (r *NodeRow) state() Value {
	return r.states(func(v *View) Value {
		flags, cond := v.Flags, v.Condition().String()
		if v.Has(FlagDrain) {
			word := "drained"
			if v.Draining() {
				word = "draining"
			}
			flags = append(slices.Clone(flags), word)
			if !v.Faulty() {
				cond = ""
			}
		}
		return StateValue(v.Base, flags, cond)
	})
}

// age is the time since the oldest reason.
func (r *NodeRow) age() Value {
	var at time.Time
	for i := range r.Views {
		if t := r.Views[i].Reason.At; !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return AgeValue(r.Now, at)
}

// most is the largest number that a view tells; NaN is not told.
func (r *NodeRow) most(kind ValueKind, get func(*View) float64) Value {
	v := Value{Kind: kind, Num: -1}
	for i := range r.Views {
		if n := get(&r.Views[i]); n > v.Num {
			v.Num = n
		}
	}
	v.Absent = v.Num < 0
	return v
}

func (r *NodeRow) temp() Value {
	v := absentValue(KindNumber)
	for i := range r.GPUs {
		if t := r.GPUs[i].Temp; t.Quality == Known && (v.Absent || t.Value > v.Num) {
			v.Num, v.Absent = t.Value, false
		}
	}
	return v
}

func (r *NodeRow) users() Value {
	var all []string
	add := func(u string) {
		if u != "" && !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	for _, j := range r.jobsHere() {
		add(j.User)
	}
	for i := range r.GPUs {
		for _, o := range r.GPUs[i].Owners {
			add(o.User)
		}
	}
	return TextsValue(all)
}

func (r *NodeRow) jobs() Value {
	var all []string
	for _, j := range r.jobsHere() {
		all = append(all, j.ID)
	}
	return StateValue("", all, "")
}

func (r *NodeRow) jobsHere() []*Job {
	if r.Snap == nil {
		return nil
	}
	return r.Snap.JobsOn(r.Name)
}

// Words implements Row: name, states, reasons, queues, models and users.
func (r *NodeRow) Words(yield func(string) bool) {
	if !yield(r.Name) {
		return
	}
	for i := range r.Views {
		v := &r.Views[i]
		for _, s := range [...]string{v.Cluster, v.Base, v.Reason.Text, v.Reason.Author, v.GPUs.Model} {
			if !yield(s) {
				return
			}
		}
		for _, list := range [...][]string{v.Flags, v.Queues} {
			for _, s := range list {
				if !yield(s) {
					return
				}
			}
		}
	}
	for _, j := range r.jobsHere() {
		if !yield(j.User) {
			return
		}
	}
}
