package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/dialog"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// form is what a verb asks for before it can be planned.
type form struct {
	intro  string
	fields []dialog.FormField
	// fill puts the values into the options.
	fill func(*actions.Options, dialog.Values) error
}

// formFor is the form of a request; nil when nothing more is needed.
func (m *Model) formFor(req actions.Request) dialog.Dialog {
	f, ok := m.form(req)
	if !ok {
		return nil
	}
	title := fmt.Sprintf("%s %s", req.Verb, targetNames(req.Targets))
	return dialog.NewForm(m.th, title, f.intro, f.fields, func(v dialog.Values) tea.Cmd {
		if err := f.fill(&req.Options, v); err != nil {
			return m.complain(title, err)
		}
		return m.plan(req)
	})
}

// targetNames folds the names for a title.
func targetNames(targets []actions.Target) string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
	}
	if len(targets) > 3 {
		return words.Plural(len(targets), string(targets[0].Kind))
	}
	return strings.Join(slices.Compact(names), " ")
}

func (m *Model) form(req actions.Request) (form, bool) {
	switch req.Verb {
	case actions.Drain:
		return drainForm(req.Options), true
	case actions.Requeue:
		return requeueForm(req.Options), true
	case actions.Preempt:
		return m.preemptForm(req), true
	case actions.Release:
		return m.releaseForm(req), true
	case actions.Cancel:
		return cancelForm(), true
	case actions.Update:
		return updateForm(), true
	}
	return form{}, false
}

func drainForm(o actions.Options) form {
	return form{
		intro: "No new work starts there; what runs may end. Others read the reason.",
		fields: []dialog.FormField{
			{ID: "reason", Label: "reason", Required: true, Value: o.Reason, Help: "what is wrong, in one line"},
			{ID: "ticket", Label: "ticket", Value: o.Ticket, Help: "may be empty"},
		},
		fill: func(o *actions.Options, v dialog.Values) error {
			o.Reason, o.Ticket = v["reason"], v["ticket"]
			return nil
		},
	}
}

func requeueForm(o actions.Options) form {
	return form{
		intro: "The job stops and goes back to the queue; it runs on from what it saved itself.",
		fields: []dialog.FormField{
			{ID: "now", Label: "start at once", Bool: true, Value: "true", Help: "else Slurm waits about two minutes"},
			{ID: "hold", Label: "leave it held", Bool: true, Value: strconv.FormatBool(o.Hold), Help: "until someone releases it"},
			excludeField(o.Exclude),
		},
		fill: func(o *actions.Options, v dialog.Values) error {
			o.Hold, o.Now = v.Bool("hold"), v.Bool("now") && !v.Bool("hold")
			return fillHosts(o, v)
		},
	}
}

func excludeField(names []string) dialog.FormField {
	return dialog.FormField{
		ID: "exclude", Label: "exclude nodes", Value: fleet.FoldHosts(names), Check: checkHosts,
		Help: "a host list such as gpu-node[003-004]; may be empty",
	}
}

func checkHosts(s string) error {
	_, err := fleet.ExpandHosts(s, fleet.MaxHosts)
	return err
}

func fillHosts(o *actions.Options, v dialog.Values) error {
	names, err := fleet.ExpandHosts(v["exclude"], fleet.MaxHosts)
	o.Exclude = names
	return err
}

// noSignal stands for leaving the scheduler's own way.
const noSignal = "none"

func (m *Model) preemptForm(req actions.Request) form {
	return form{
		intro: "Whether the job saves on the signal is up to the job: gpuctl does not know.",
		fields: []dialog.FormField{
			{ID: "signal", Label: "signal first", Choices: []string{noSignal, "USR1", "USR2", "TERM", "INT"}, Value: cmp.Or(req.Options.Signal, noSignal), Help: "sent before it is stopped, so that it can save"},
			{ID: "grace", Label: "then wait", Value: "60s", Check: checkSpan, Help: "after the signal: 90s, 5m"},
			{ID: "for", Label: "for job", Complete: m.completeWaiting, Help: "the job that is to get the room; may be empty"},
		},
		fill: func(o *actions.Options, v dialog.Values) error {
			o.Signal, o.For = strings.TrimPrefix(v["signal"], noSignal), v["for"]
			if o.Signal == "" {
				return nil
			}
			grace, err := time.ParseDuration(v["grace"])
			o.Grace = grace
			return err
		},
	}
}

var errSpan = errors.New("is a time such as 90s or 5m")

func checkSpan(s string) error {
	if d, err := time.ParseDuration(s); err != nil || d < 0 {
		return errSpan
	}
	return nil
}

// mostOffered keeps completions readable.
const mostOffered = 20

func (m *Model) completeWaiting(prefix string) []string {
	var ids []string
	for _, j := range m.snap.Jobs {
		if j.Waiting() && strings.HasPrefix(j.ID, prefix) && len(ids) < mostOffered {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// releaseForm proposes to leave out the nodes where launching failed.
func (m *Model) releaseForm(req actions.Request) form {
	var failed []string
	for _, t := range req.Targets {
		j := m.snap.Job(t.Job)
		if j != nil && j.BatchHost != "" && j.Restarts > 0 && !slices.Contains(failed, j.BatchHost) {
			failed = append(failed, j.BatchHost)
		}
	}
	intro := "The job may start again."
	if len(failed) > 0 {
		intro += " It last failed on " + fleet.FoldHosts(failed) + ": leave that out unless it was repaired."
	}
	return form{intro: intro, fields: []dialog.FormField{excludeField(failed)}, fill: fillHosts}
}

func cancelForm() form {
	return form{
		intro: "The job ends for good.",
		fields: []dialog.FormField{
			{ID: "signal", Label: "signal", Choices: []string{noSignal, "INT", "TERM", "USR1", "KILL"}, Help: "none: Slurm sends TERM, then KILL"},
			{ID: "reason", Label: "reason", Help: "for the audit log; may be empty"},
		},
		fill: func(o *actions.Options, v dialog.Values) error {
			o.Signal, o.Reason = strings.TrimPrefix(v["signal"], noSignal), v["reason"]
			return nil
		},
	}
}

var (
	errNumber = errors.New("is a whole number")
	errNoEdit = errors.New("nothing is to be changed: fill in at least one field")
)

func checkNumber(s string) error {
	if s == "" {
		return nil
	}
	if _, err := strconv.ParseInt(s, 10, 64); err != nil {
		return errNumber
	}
	return nil
}

func updateForm() form {
	return form{
		intro: "Empty fields stay as they are.",
		fields: []dialog.FormField{
			{ID: "priority", Label: "priority", Check: checkNumber, Help: "a whole number"},
			{ID: "limit", Label: "time limit", Help: "Slurm's way: 1-00:00:00, +60 (minutes), UNLIMITED"},
			{ID: "partition", Label: "partition", Help: "one or several, with commas"},
			excludeField(nil),
		},
		fill: fillUpdate,
	}
}

func fillUpdate(o *actions.Options, v dialog.Values) error {
	if v["priority"] != "" {
		n, err := strconv.ParseInt(v["priority"], 10, 64)
		if err != nil {
			return err
		}
		o.Priority = &n
	}
	o.TimeLimit, o.Partition = v["limit"], v["partition"]
	if err := fillHosts(o, v); err != nil {
		return err
	}
	if o.Priority == nil && o.TimeLimit == "" && o.Partition == "" && len(o.Exclude) == 0 {
		return errNoEdit
	}
	return nil
}
