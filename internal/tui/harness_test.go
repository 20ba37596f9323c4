package tui

import (
	"context"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

// engine is an Engine that plans one step a target and runs what the test feeds.
type engine struct {
	mu      sync.Mutex
	asked   []actions.Request
	ran     []actions.Confirmation
	events  chan actions.Event
	guard   actions.Guard
	blocked string
	err     error
}

func (e *engine) Plan(_ context.Context, req actions.Request) (*actions.Plan, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, req)
	if e.err != nil {
		return nil, e.err
	}
	p := &actions.Plan{ID: "plan-1", Verb: req.Verb, Request: req, Guard: e.guard, Word: req.Targets[0].Name}
	for i, t := range req.Targets {
		p.Targets = append(p.Targets, actions.TargetPlan{Target: t, Fate: actions.FateAct, Before: "MIXED"})
		p.Steps = append(p.Steps, actions.Step{N: i + 1, Name: string(req.Verb) + " " + t.Name, Target: t, Command: "scontrol update nodename=" + t.Name, Expect: "DRAIN"})
	}
	p.Inverse = &actions.Request{Verb: actions.Undrain, Targets: req.Targets}
	p.Clusters = []actions.Acting{{Cluster: fixture.Main, User: "gpuadm", Role: fleet.RoleAdministrator, Via: "ssh login1"}}
	if e.blocked != "" {
		p.Blockers = []actions.Blocker{{Code: actions.BlockTarget, Text: e.blocked}}
	}
	return p, nil
}

func (e *engine) Run(_ context.Context, _ *actions.Plan, c actions.Confirmation) (<-chan actions.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ran = append(e.ran, c)
	return e.events, nil
}

func (e *engine) requests() []actions.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]actions.Request(nil), e.asked...)
}

func (e *engine) confirmations() []actions.Confirmation {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]actions.Confirmation(nil), e.ran...)
}

// console is what a test has in its hands beside the screen.
type console struct {
	engine *engine
	snaps  chan *fleet.Snapshot
	model  *Model
}

// opt are the options of a console in a test: its clock starts at the fixture's
// moment and moves with the time of the bubble.
func opt(e *engine, snaps <-chan *fleet.Snapshot) Options {
	start := time.Now()
	return Options{
		Snapshots: snaps, Engine: e, Refresh: func() {},
		Guards: map[string]actions.Guard{fixture.Main: actions.GuardTyped, fixture.Lab: actions.GuardConfirm},
		Clock:  func() time.Time { return fixture.Now().Add(time.Since(start)) },
	}
}

// onScreen runs script on a console that shows s. edit may change its options.
func onScreen(t *testing.T, width, height int, s *fleet.Snapshot, edit func(*Options), script func(*tuitest.Screen, *console)) {
	t.Helper()
	c := &console{}
	tuitest.Run(t, width, height, func(t *testing.T) tea.Model {
		c.engine = &engine{guard: actions.GuardConfirm, events: make(chan actions.Event, 8)}
		c.snaps = make(chan *fleet.Snapshot, 4)
		t.Cleanup(func() { close(c.snaps) })
		o := opt(c.engine, c.snaps)
		if edit != nil {
			edit(&o)
		}
		m, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c.model = m
		if s != nil {
			c.snaps <- s
		}
		return m
	}, func(screen *tuitest.Screen) { script(screen, c) })
}
