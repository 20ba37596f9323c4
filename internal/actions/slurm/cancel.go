package slurm

import (
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// signals are those that scancel(1) takes by name.
var signals = []string{
	"HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU",
}

// signalName is the plain upper-case name, without SIG.
func signalName(s string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "SIG")
}

// checkSignal refuses what scancel(1) would not know.
func checkSignal(p *planner) {
	s := signalName(p.req.Options.Signal)
	if s != "" && !slices.Contains(signals, s) {
		p.block(actions.BlockInput, "no signal "+p.req.Options.Signal+"; one of "+strings.Join(signals, ", "))
	}
}

// ends reports whether a signal is meant to end a job: TERM and KILL, or none.
func ends(signal string) bool { return signal == "" || signal == "TERM" || signal == "KILL" }

// cancel ends a job, or sends it a signal of choice.
func (p *planner) cancel(t actions.Target, j *fleet.Job) {
	before, signal := jobState(j), signalName(p.req.Options.Signal)
	switch {
	case j.Done():
		p.skip(t, before, "has ended already")
		return
	case j.Waiting() && !ends(signal):
		p.refuse(actions.BlockTarget, t, before, "waits: there is no process to send "+signal+" to")
		return
	}
	p.verdict(t, actions.FateAct, before, tasksNote(j))
	if j.Active() && ends(signal) {
		p.stops(j)
	}
	id := sendID(j)
	p.step(cancelStep(t, j, id, signal))
}

func cancelStep(t actions.Target, j *fleet.Job, id, signal string) actions.Step {
	s := actions.Step{
		Name: "cancel " + j.ID, Op: opCancel, Target: t,
		Args:    map[string]string{"id": id, "signal": signal},
		Command: "scancel " + quote(id),
		Expect:  "it has ended and left its nodes",
	}
	if signal == "" {
		return s
	}
	s.Name = "send " + signal + " to " + j.ID
	s.Command = "scancel --signal=" + signal + " " + quote(id)
	if ends(signal) {
		return s
	}
	s.Op = opSignal
	s.Args["batch"] = "true"
	s.Command = "scancel --full --signal=" + signal + " " + quote(id)
	s.Expect = "Slurm took the signal (what the job makes of it leaves no trace in Slurm)"
	return s
}

// tasksNote says how many array tasks one row stands for.
func tasksNote(j *fleet.Job) string {
	if j.Array == nil || j.Array.Task >= 0 {
		return ""
	}
	return plural(j.Array.Count, "waiting task") + " (" + j.Array.Tasks + ")"
}
