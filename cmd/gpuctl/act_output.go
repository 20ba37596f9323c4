package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// actOutput reports one action, as lines for people or as one object for scripts.
type actOutput struct {
	app    *app
	format string
}

// dryRun stands where an outcome would: nothing was done.
const dryRun actions.Outcome = "dry_run"

func (o *actOutput) people() bool { return o.format == "table" }

// dryRun prints the plan. A plan that would be refused exits as if it had been.
func (o *actOutput) dryRun(p *actions.Plan) error {
	if o.people() {
		printPlan(o.app.stdout, p)
	} else if err := printObject(o.app.stdout, o.format, actions.Result{Plan: p, Result: dryRun, Steps: []actions.StepResult{}}); err != nil {
		return err
	}
	if len(p.Blockers) > 0 {
		return &exitError{code: actions.BlockersExit(p.Blockers)}
	}
	return nil
}

// begin says what is about to happen.
func (o *actOutput) begin(p *actions.Plan) {
	if !o.people() {
		return
	}
	for _, t := range p.Targets {
		if t.Fate == actions.FateSkip {
			say(o.app.stdout, "%s %s: %s", t.Target.Kind, t.Target.Name, t.Why)
		}
	}
	for _, w := range p.Warnings {
		say(o.app.stderr, "warning: %s", w)
	}
	for _, u := range p.UndoneBy {
		say(o.app.stderr, "warning: %s", u)
	}
}

// refused reports a plan that was not begun.
func (o *actOutput) refused(p *actions.Plan, err error) error {
	code := actions.ErrorExit(err)
	if !o.people() {
		if perr := printObject(o.app.stdout, o.format, actions.RefusedResult(p, err)); perr != nil {
			return perr
		}
		return &exitError{code: code}
	}
	if len(p.Impact.Jobs) > 0 || p.Guard == actions.GuardTyped {
		printImpact(o.app.stderr, p)
	}
	return fail(code, err)
}

// follow prints what happens until the last event.
func (o *actOutput) follow(events <-chan actions.Event) error {
	var done *actions.Result
	last := map[int]string{}
	for e := range events {
		switch {
		case e.Done != nil:
			done = e.Done
		case !o.people():
		case e.Waiting != nil && last[e.Waiting.N] != e.Waiting.State:
			last[e.Waiting.N] = e.Waiting.State
			say(o.app.stdout, "  %d  waiting: %s", e.Waiting.N, e.Waiting.State)
		case e.Started != nil && e.Started.Command != "":
			say(o.app.stdout, "  %d  %s: %s", e.Started.N, e.Started.Name, e.Started.Command)
		case e.Started != nil:
			say(o.app.stdout, "  %d  %s", e.Started.N, e.Started.Name)
		case e.Finished != nil:
			say(o.app.stdout, "  %d  %s: %s", e.Finished.N, e.Finished.Result.Words(), e.Finished.Detail)
		}
	}
	if done == nil {
		return failf(exitFailed, "the run ended without a result")
	}
	return o.result(done)
}

func (o *actOutput) result(r *actions.Result) error {
	if !o.people() {
		if err := printObject(o.app.stdout, o.format, r); err != nil {
			return err
		}
	} else if r.Message != "" {
		say(o.app.stdout, "%s", r.Message)
	}
	if code := r.Exit(); code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// printPlan writes the whole plan for people.
func printPlan(w io.Writer, p *actions.Plan) {
	say(w, "plan to %s %s (nothing is done)", p.Verb, targetNames(p))
	for _, c := range p.Clusters {
		say(w, "as      %s (%s) on %s over %s", c.User, c.Role, c.Cluster, c.Via)
	}
	for _, t := range p.Targets {
		line := fmt.Sprintf("%-7s %s %s: now %s", t.Fate, t.Target.Kind, t.Target.Name, t.Before)
		if t.Why != "" {
			line += "; " + t.Why
		}
		say(w, "%s", line)
	}
	printImpact(w, p)
	for _, s := range p.Steps {
		say(w, "step %-2d %s", s.N, s.Name)
		if s.Command != "" {
			say(w, "        %s", s.Command)
		}
		say(w, "        then: %s", s.Expect)
	}
	printNotes(w, p)
	if len(p.Steps) > 0 {
		say(w, "confirm %s", confirmWords(p))
		say(w, "wait    at most %s for the read-back", p.Timeout.Round(time.Second))
	}
}

func printImpact(w io.Writer, p *actions.Plan) {
	i := p.Impact
	if len(i.Jobs) > 0 {
		say(w, "stops   %s (%s) of %s: %s, %.1f GPU-hours",
			words.Plural(len(i.Jobs), "job"), strings.Join(i.Jobs, ", "), strings.Join(i.Users, ", "), words.Plural(i.GPUs, "GPU"), i.GPUHours)
	}
	if i.Note != "" {
		say(w, "note    %s", i.Note)
	}
}

func printNotes(w io.Writer, p *actions.Plan) {
	for _, b := range p.Blockers {
		say(w, "refused %s", b.Text)
	}
	for _, x := range p.Warnings {
		say(w, "warning %s", x)
	}
	for _, x := range p.UndoneBy {
		say(w, "undone? %s", x)
	}
	switch {
	case p.Inverse == nil:
	case p.Inverse.Verb == actions.MIGApply:
		for _, g := range p.Inverse.Options.GPUs {
			say(w, "undo    gpuctl mig apply %s --gpu %s %s", targetNames(p), g.UUID, g.Layout)
		}
	default:
		say(w, "undo    gpuctl %s", spoken(p.Inverse))
	}
}

// spoken is a request as a person would type it.
func spoken(r *actions.Request) string {
	args := []string{string(r.Verb)}
	var names []string
	for _, t := range r.Targets {
		names = append(names, t.Name)
	}
	if len(r.Targets) > 0 && r.Targets[0].Kind == fleet.KindNode {
		names = []string{fleet.FoldHosts(names)}
	}
	args = append(args, names...)
	flag := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name, value)
		}
	}
	if r.Options.Priority != nil {
		flag("priority", strconv.FormatInt(*r.Options.Priority, 10))
	}
	flag("time-limit", r.Options.TimeLimit)
	flag("partition", r.Options.Partition)
	flag("reason", r.Options.Reason)
	for i, a := range args {
		if strings.ContainsAny(a, " \t'\"\\$`!*?[]{}()<>|&;#~") {
			args[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(args, " ")
}

func confirmWords(p *actions.Plan) string {
	switch p.Guard {
	case actions.GuardTyped:
		return "with --confirm " + p.Word
	case actions.GuardConfirm:
		return "with --yes"
	case actions.GuardNone:
	}
	return "not needed"
}

func targetNames(p *actions.Plan) string {
	var names []string
	for _, t := range p.Targets {
		names = append(names, t.Target.Name)
	}
	if len(p.Targets) > 0 && p.Targets[0].Target.Kind == fleet.KindNode {
		return fleet.FoldHosts(names)
	}
	return strings.Join(names, " ")
}
