package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// Check implements actions.Backend.
func (b *Backend) Check(ctx context.Context, s actions.Step) (actions.Reading, error) {
	if test, ok := nodeTests[s.Op]; ok {
		v, err := b.node(ctx, s.Target.Name)
		if err != nil {
			return actions.Reading{}, classify(err)
		}
		return test(&v), nil
	}
	test, ok := jobTests[s.Op]
	if !ok {
		return actions.Reading{}, fmt.Errorf("%w: step %q is not known to this version of gpuctl", actions.ErrRefused, s.Op)
	}
	jobs, err := b.job(ctx, s.Args["id"])
	if errors.Is(err, slurm.ErrNotFound) && s.Op == opCancel {
		return actions.Reading{Holds: true, State: "gone from slurmctld"}, nil
	}
	if err != nil {
		return actions.Reading{}, classify(err)
	}
	return allJobs(jobs, s, test), nil
}

var nodeTests = map[string]func(v *fleet.View) actions.Reading{
	opDrain: func(v *fleet.View) actions.Reading {
		return actions.Reading{Holds: v.Has(fleet.FlagDrain), State: nodeState(v)}
	},
	opDrained: func(v *fleet.View) actions.Reading {
		r := actions.Reading{Holds: v.Drained(), State: nodeState(v)}
		if !v.Has(fleet.FlagDrain) {
			r.State = "somebody lifted the drain: " + r.State
			r.Never = true
		}
		return r
	},
	opResumeNode: func(v *fleet.View) actions.Reading {
		ok := !v.Has(fleet.FlagDrain) && !v.Has(fleet.FlagFail) && !v.Faulty()
		return actions.Reading{Holds: ok, State: nodeState(v)}
	},
}

// jobTests say whether one job record shows what the step expects.
var jobTests = map[string]func(j *fleet.Job, s actions.Step) bool{
	opHold:      func(j *fleet.Job, _ actions.Step) bool { _, ok := held(j); return ok },
	opRelease:   func(j *fleet.Job, _ actions.Step) bool { _, ok := held(j); return !ok },
	opExclude:   excludes,
	opRequeue:   requeued,
	opStartNow:  startable,
	opCancel:    func(j *fleet.Job, _ actions.Step) bool { return j.Done() },
	opSignal:    func(*fleet.Job, actions.Step) bool { return true },
	opGrace:     left,
	opStarted:   func(j *fleet.Job, _ actions.Step) bool { return j.Base == fleet.JobRunning },
	opSuspend:   func(j *fleet.Job, _ actions.Step) bool { return j.Base == fleet.JobSuspended },
	opResume:    func(j *fleet.Job, _ actions.Step) bool { return j.Base == fleet.JobRunning },
	opPriority:  func(j *fleet.Job, s actions.Step) bool { return strconv.FormatInt(j.Priority, 10) == s.Args["value"] },
	opTimeLimit: func(j *fleet.Job, s actions.Step) bool { return limitWord(j.Limit) == s.Args["want"] },
	opPartition: func(j *fleet.Job, s actions.Step) bool { return j.Queue == s.Args["value"] },
}

// running are the operations that make sense only while the job has not ended.
var running = map[string]bool{
	opHold: true, opRelease: true, opExclude: true, opStartNow: true, opStarted: true,
	opSuspend: true, opResume: true, opPriority: true, opTimeLimit: true, opPartition: true,
}

// allJobs holds when every record does, and can never hold once one has ended that
// must not have.
func allJobs(jobs []slurm.JobDetail, s actions.Step, test func(*fleet.Job, actions.Step) bool) actions.Reading {
	r := actions.Reading{Holds: len(jobs) > 0}
	states := make([]string, 0, len(jobs))
	for i := range jobs {
		j := &jobs[i].Job
		holds := test(j, s)
		r.Holds = r.Holds && holds
		r.Never = r.Never || !holds && running[s.Op] && j.Done()
		states = append(states, jobState(j))
	}
	r.State = strings.Join(states, "; ")
	return r
}

// requeued is true once the job has gone back and its processes have left.
func requeued(j *fleet.Job, s actions.Step) bool {
	before, _ := strconv.Atoi(s.Args["restarts"])
	if j.Restarts <= before || j.Has(fleet.JobFlagCompleting) {
		return false
	}
	if s.Args["hold"] == "true" {
		_, ok := held(j)
		return ok
	}
	return j.Base == fleet.JobPending || j.Base == fleet.JobRunning
}

// left is true once the run that was asked to save is no longer there.
func left(j *fleet.Job, s actions.Step) bool {
	before, _ := strconv.Atoi(s.Args["restarts"])
	return !j.Active() || j.Restarts > before
}

func startable(j *fleet.Job, _ actions.Step) bool {
	return j.Base == fleet.JobRunning || j.Waiting() && j.Reason.Code != "BeginTime"
}

// excludes compares the lists as sets: Slurm folds them in its own way.
func excludes(j *fleet.Job, s actions.Step) bool {
	have, err1 := fleet.ExpandHosts(j.ExcNodes, fleet.MaxHosts)
	want, err2 := fleet.ExpandHosts(s.Args["nodes"], fleet.MaxHosts)
	if err1 != nil || err2 != nil {
		return false
	}
	set := make(map[string]bool, len(have))
	for _, n := range have {
		set[n] = true
	}
	for _, n := range want {
		if !set[n] {
			return false
		}
	}
	return true
}
