package actions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxJournal bounds what is read of one run's file.
const maxJournal = 64 << 20

// OpenRun is a run that a gpuctl left behind when it was killed.
type OpenRun struct {
	ID   string // of the plan
	Path string
	Plan *Plan // nil: its line cannot be read
	Last time.Time
	// Done are the steps whose end was written down, in that order.
	Done []StepResult
	// InFlight are the steps that were about to be sent: nobody knows whether they
	// arrived. Look before doing them again.
	InFlight []Step
	NotBegun []Step
	// NotUnderstood counts lines that could not be read.
	NotUnderstood int

	ended bool
}

// OpenRuns lists the runs that a killed gpuctl left in dir, oldest first. Those
// of a gpuctl that still lives are not among them. A missing folder has none.
func OpenRuns(dir string) ([]OpenRun, error) {
	paths, err := filepath.Glob(filepath.Join(dir, runPrefix+"*"+runSuffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var runs []OpenRun
	var problems []error
	for _, path := range paths {
		data, held, err := readUnlocked(path)
		if err != nil {
			problems = append(problems, err)
		}
		if err != nil || held {
			continue
		}
		run := parseRun(data)
		run.Path = path
		run.ID = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), runPrefix), runSuffix)
		if !run.ended {
			runs = append(runs, run)
		}
	}
	return runs, errors.Join(problems...)
}

// readUnlocked returns the file's content; held is true when a living gpuctl has
// it locked, or has just removed it.
func readUnlocked(path string) (data []byte, held bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxJournal))
	return data, false, err
}

// parseRun reads a run's file. A line that makes no sense, or a last line torn by
// a kill, harms itself only.
func parseRun(data []byte) OpenRun {
	var run OpenRun
	begun := map[int]bool{}
	ended := map[int]bool{}
	for raw := range bytes.SplitSeq(data, []byte("\n")) {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		var line journalLine
		if err := json.Unmarshal(raw, &line); err != nil || !run.take(line, begun, ended) {
			run.NotUnderstood++
			continue
		}
		run.Last = line.At
	}
	run.sortSteps(begun, ended)
	return run
}

// take adds what the line says; false when it says nothing.
func (o *OpenRun) take(line journalLine, begun, ended map[int]bool) bool {
	switch {
	case line.Plan != nil:
		o.Plan = line.Plan
	case line.Intent != 0:
		begun[line.Intent] = true
	case line.Result != nil:
		res := *line.Result
		res.Took = time.Duration(res.TookMS) * time.Millisecond
		ended[res.N] = true
		o.Done = append(o.Done, res)
	case line.End != "":
		o.ended = true
	default:
		return false
	}
	return true
}

// sortSteps tells the steps in flight from those never begun.
func (o *OpenRun) sortSteps(begun, ended map[int]bool) {
	if o.Plan == nil {
		return
	}
	for _, s := range o.Plan.Steps {
		switch {
		case ended[s.N]:
		case begun[s.N]:
			o.InFlight = append(o.InFlight, s)
		default:
			o.NotBegun = append(o.NotBegun, s)
		}
	}
}

// Close marks the run as read: it is not listed again. The audit log keeps what
// was done.
func (o *OpenRun) Close() error { return os.Remove(o.Path) }

// Summary says in one sentence what was done, what was in flight, and what was
// not begun.
func (o *OpenRun) Summary() string {
	if o.Plan == nil {
		return fmt.Sprintf("run %s was killed; its plan cannot be read: see the audit log", o.ID)
	}
	parts := []string{fmt.Sprintf("%s was killed at %s", o.Plan.Title(), o.Last.UTC().Format(time.RFC3339))}
	done := make([]string, len(o.Done))
	for i, r := range o.Done {
		done[i] = fmt.Sprintf("%s (%s)", r.Name, r.Result.Words())
	}
	parts = appendNames(parts, "ended", done)
	parts = appendNames(parts, "begun, and perhaps sent", stepNames(o.InFlight))
	parts = appendNames(parts, "not begun", stepNames(o.NotBegun))
	return strings.Join(parts, "; ")
}

func appendNames(parts []string, what string, names []string) []string {
	if len(names) == 0 {
		return parts
	}
	return append(parts, what+": "+listWords(names, 5))
}

func stepNames(steps []Step) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Name
	}
	return names
}
