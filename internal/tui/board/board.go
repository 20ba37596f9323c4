// Package board draws the actions that run: a dock at the bottom of the screen,
// one board a plan, one line a step with its verdict, what was last read back, and
// its age.
//
//	actions.Event (every one arrives) -> Feed -> View(width, height)
//
// A board that ended well leaves by itself; any other stays until it was read and
// dismissed. The time is given, never read.
package board

import (
	"slices"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// linger is how long a board that ended well stays.
const linger = 10 * time.Second

// Dock holds the boards. Make one with New.
type Dock struct {
	th       *theme.Theme
	runs     []*Board // oldest first
	selected string   // plan id
	focused  bool
	now      time.Time
}

// Board is one run of a plan.
type Board struct {
	Plan *actions.Plan
	// Result is nil while it runs.
	Result *actions.Result

	began, ended time.Time
	steps        map[int]*progress
}

// progress is what is known of one step.
type progress struct {
	began, read time.Time
	state       string // the last read-back, in words
	result      *actions.StepResult
}

// New makes an empty dock.
func New(th *theme.Theme) *Dock { return &Dock{th: th} }

// Start adds the board of a plan that begins to run.
func (d *Dock) Start(plan *actions.Plan, now time.Time) {
	d.now = now
	d.runs = append(d.runs, &Board{Plan: plan, began: now, steps: map[int]*progress{}})
	d.selected = plan.ID
}

// Feed takes what happened in a run that was started.
func (d *Dock) Feed(e actions.Event, now time.Time) {
	d.now = now
	b := d.find(e.Plan)
	if b == nil {
		return
	}
	switch {
	case e.Started != nil:
		b.step(e.Started.N).began = now
	case e.Waiting != nil:
		s := b.step(e.Waiting.N)
		s.state, s.read = e.Waiting.State, now
	case e.Finished != nil:
		b.step(e.Finished.N).result = e.Finished
	case e.Done != nil:
		b.end(e.Done, now)
	}
}

// Tick sets the time that ages count to, and lets boards that ended well leave.
func (d *Dock) Tick(now time.Time) {
	d.now = now
	d.runs = slices.DeleteFunc(d.runs, func(b *Board) bool {
		return b.Good() && now.Sub(b.ended) >= linger
	})
}

func (b *Board) step(n int) *progress {
	if b.steps[n] == nil {
		b.steps[n] = &progress{}
	}
	return b.steps[n]
}

func (b *Board) end(r *actions.Result, now time.Time) {
	b.Result, b.ended = r, now
	for i := range r.Steps {
		b.step(r.Steps[i].N).result = &r.Steps[i]
	}
}

// Good tells whether it ended with everything read back.
func (b *Board) Good() bool { return b.Result != nil && b.Result.Result == actions.Verified }

// Finished counts the steps that have a verdict.
func (b *Board) Finished() int {
	n := 0
	for _, s := range b.Plan.Steps {
		if p := b.steps[s.N]; p != nil && p.result != nil {
			n++
		}
	}
	return n
}

// Len is the number of boards.
func (d *Dock) Len() int { return len(d.runs) }

// Running counts the boards that have not ended.
func (d *Dock) Running() int {
	n := 0
	for _, b := range d.runs {
		if b.Result == nil {
			n++
		}
	}
	return n
}

// Focus tells whether the dock has the keyboard, so that its cursor shows.
func (d *Dock) Focus(on bool) { d.focused = on }

// Selected is the board under the cursor; nil when there is none.
func (d *Dock) Selected() *Board {
	return d.find(d.selected)
}

func (d *Dock) find(plan string) *Board {
	i := d.index(plan)
	if i < 0 {
		return nil
	}
	return d.runs[i]
}

func (d *Dock) index(plan string) int {
	return slices.IndexFunc(d.runs, func(b *Board) bool { return b.Plan.ID == plan })
}

// Move moves the cursor n boards down, or up when n is negative. When the board
// under it has left, the last one is taken up.
func (d *Dock) Move(n int) {
	if len(d.runs) == 0 {
		return
	}
	i := d.index(d.selected)
	if i < 0 {
		i, n = len(d.runs)-1, 0
	}
	d.selected = d.runs[max(0, min(i+n, len(d.runs)-1))].Plan.ID
}

// Dismiss removes the board of a plan that has ended; one that runs stays.
func (d *Dock) Dismiss(plan string) {
	if b := d.find(plan); b == nil || b.Result == nil {
		return
	}
	i := d.index(plan)
	d.runs = slices.Delete(d.runs, i, i+1)
	if len(d.runs) > 0 {
		d.selected = d.runs[min(i, len(d.runs)-1)].Plan.ID
	}
}
