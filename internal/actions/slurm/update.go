package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// checkUpdate checks what is to change, before any job is looked at.
func checkUpdate(p *planner) {
	o := p.req.Options
	if o.Priority == nil && o.TimeLimit == "" && o.Partition == "" && len(o.Exclude) == 0 {
		p.block(actions.BlockInput, "nothing to change: give a priority, a time limit, a partition or nodes to exclude")
	}
	if o.Priority != nil {
		switch {
		case *o.Priority < 1:
			p.block(actions.BlockInput, "a priority is 1 or more (0 would hold the job: use hold)")
		case *o.Priority > slurm.MaxPriority:
			p.block(actions.BlockInput, fmt.Sprintf("a priority is %d at most", int64(slurm.MaxPriority)))
		}
		needOperator(p)
	}
	if o.TimeLimit != "" {
		if _, err := newLimit(o.TimeLimit, fleet.Limit{Kind: fleet.LimitSet, Duration: 1 << 50}); err != nil {
			p.block(actions.BlockInput, err.Error())
		}
	}
	p.checkPartition(o.Partition)
	for _, n := range o.Exclude {
		if node := p.snap.Node(n); node == nil || node.View(p.cluster) == nil {
			p.block(actions.BlockInput, fmt.Sprintf("cannot exclude %s: it is not a node of %s", n, p.cluster))
		}
	}
}

func (p *planner) checkPartition(name string) {
	c := p.snap.Cluster(p.cluster)
	if name == "" || c == nil || len(c.Partitions) == 0 {
		return
	}
	var known []string
	for _, part := range c.Partitions {
		known = append(known, part.Name)
	}
	for one := range strings.SplitSeq(name, ",") {
		if !slices.Contains(known, one) {
			p.block(actions.BlockInput, fmt.Sprintf("no partition %s on %s; there are %s", one, p.cluster, strings.Join(known, ", ")))
		}
	}
}

// update changes a job in place.
func (p *planner) update(t actions.Target, j *fleet.Job) {
	before, o := jobState(j), p.req.Options
	_, isHeld := held(j)
	switch {
	case j.Done():
		p.refuse(actions.BlockTarget, t, before, "has ended")
		return
	case !j.Waiting() && (o.Partition != "" || len(o.Exclude) > 0):
		p.refuse(actions.BlockTarget, t, before, "runs: its partition and nodes can change only while it waits")
		return
	case isHeld && o.Priority != nil:
		p.refuse(actions.BlockTarget, t, before, "is held, and Slurm changes no priority of a held job: release it first")
		return
	case o.TimeLimit != "" && !p.limitFits(t, j, before):
		return
	}
	p.verdict(t, actions.FateAct, before, "")
	p.excludeStep(t, j, nil)
	p.changeSteps(t, j)
	p.inverseOfUpdate(t, j)
}

// limitFits reports whether the identity may set the limit, and records why not.
func (p *planner) limitFits(t actions.Target, j *fleet.Job, before string) bool {
	want, err := newLimit(p.req.Options.TimeLimit, j.Limit)
	if err != nil {
		p.refuse(actions.BlockInput, t, before, err.Error())
		return false
	}
	raises := want.Kind == fleet.LimitNone || j.Limit.Kind == fleet.LimitSet && want.Duration > j.Limit.Duration
	if raises && !p.operatorOrMore() {
		p.refuse(actions.BlockRight, t, before, "raising a time limit needs AdminLevel=Operator; its owner may only lower it")
		return false
	}
	return true
}

func (p *planner) changeSteps(t actions.Target, j *fleet.Job) {
	o := p.req.Options
	if o.Priority != nil {
		p.change(t, j, opPriority, "priority", strconv.FormatInt(*o.Priority, 10), nil)
	}
	if o.Partition != "" {
		p.change(t, j, opPartition, "partition", o.Partition, nil)
	}
	if o.TimeLimit != "" {
		want, _ := newLimit(o.TimeLimit, j.Limit) // checked by limitFits
		p.change(t, j, opTimeLimit, "timelimit", o.TimeLimit, map[string]string{"want": limitWord(want)})
	}
}

func (p *planner) change(t actions.Target, j *fleet.Job, op, field, value string, args map[string]string) {
	s := actions.Step{
		Name: fmt.Sprintf("set %s of %s to %s", field, j.ID, value), Op: op, Target: t,
		Args:    map[string]string{"id": sendID(j), "value": value},
		Command: fmt.Sprintf("scontrol update jobid=%s %s=%s", quote(sendID(j)), field, quote(value)),
		Expect:  fmt.Sprintf("its %s reads %s", field, value),
	}
	for k, v := range args {
		s.Args[k] = v
		s.Expect = fmt.Sprintf("its %s reads %s", field, v)
	}
	p.step(s)
}

// inverseOfUpdate can take back one job's change of priority, limit and partition.
// Several jobs may have had different values, and a list of excluded nodes only
// grows, so those are not offered for undo.
func (p *planner) inverseOfUpdate(t actions.Target, j *fleet.Job) {
	o := p.req.Options
	if len(p.req.Targets) > 1 || len(o.Exclude) > 0 {
		return
	}
	back := &p.inverse.Options
	if o.Priority != nil {
		if j.Priority < 1 {
			return
		}
		old := j.Priority
		back.Priority = &old
	}
	if o.TimeLimit != "" {
		if back.TimeLimit = limitWord(j.Limit); back.TimeLimit == "" {
			return
		}
	}
	if o.Partition != "" {
		back.Partition = j.Queue
	}
	p.undoes(t)
}

// newLimit is the time limit that text asks for: Slurm's own syntax, or +N and -N
// minutes or a duration from the present one.
func newLimit(text string, now fleet.Limit) (fleet.Limit, error) {
	sign := time.Duration(0)
	switch {
	case strings.HasPrefix(text, "+"):
		sign = 1
	case strings.HasPrefix(text, "-"):
		sign = -1
	}
	if sign == 0 {
		l, err := slurm.ParseLimit(text)
		if err != nil || l.Kind != fleet.LimitSet && l.Kind != fleet.LimitNone {
			return fleet.Limit{}, fmt.Errorf("time limit %q is none that Slurm knows: try 90, 12:00:00, 2-00:00:00, UNLIMITED or +60", text)
		}
		return l, nil
	}
	d, err := slurm.ParseDuration(text[1:])
	if err != nil {
		return fleet.Limit{}, fmt.Errorf("time limit %q: %w", text, err)
	}
	if now.Kind != fleet.LimitSet {
		return fleet.Limit{}, fmt.Errorf("time limit %q is relative, and the job has no limit of its own to change", text)
	}
	if now.Duration += sign * d; now.Duration < time.Minute {
		return fleet.Limit{}, fmt.Errorf("time limit %q would leave less than a minute", text)
	}
	return now, nil
}

// limitWord is a limit in Slurm's syntax, days-hours:minutes:seconds; empty when
// there is no such word.
func limitWord(l fleet.Limit) string {
	switch l.Kind {
	case fleet.LimitNone:
		return "UNLIMITED"
	case fleet.LimitSet:
		s := int64(l.Duration / time.Second)
		return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
	case fleet.LimitUnknown, fleet.LimitPartition:
	}
	return ""
}
