package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// MIGEngine plans and makes changes of MIG layouts; *mig.Engine is one.
type MIGEngine interface {
	Plan(ctx context.Context, dev mig.Device, gpu *fleet.GPU, args wire.MIGArgs) (wire.MIGPlan, error)
	Apply(ctx context.Context, dev mig.Device, plan wire.MIGPlan, progress func(string)) error
	Recover(ctx context.Context, device func(uuid string) mig.Device) []mig.Recovery
}

// Peer is who is at the other end of a connection, as far as that was proven.
type Peer struct {
	Name  string // "uid 0", "CN=gpuop"
	Write bool   // may have things changed
}

// changeLimit bounds one change. Whoever asked for it may be gone long before.
const changeLimit = 15 * time.Minute

// Desk carries requests out: each once, one at a time for each device, and none that
// cannot be written down. A change goes on when its client goes away. It is safe for
// concurrent use.
type Desk struct {
	sampler *Sampler
	engine  MIGEngine
	audit   auditLog
	kept    outcomes

	work sync.WaitGroup
	mu   sync.Mutex
	open map[string]*call // by id of the request
	busy map[string]bool  // by device
}

// call is a change under way.
type call struct {
	digest string
	reply  wire.Reply // once done is closed
	done   chan struct{}
}

// NewDesk returns the desk of a sampler. engine may be nil: then MIG requests are
// refused.
func NewDesk(s *Sampler, engine MIGEngine) *Desk {
	d := &Desk{sampler: s, engine: engine, open: map[string]*call{}, busy: map[string]bool{}}
	if dir := s.opts.StateDir; dir != "" {
		d.audit.path = filepath.Join(dir, "audit.jsonl")
		d.kept.dir = filepath.Join(dir, "requests")
	}
	return d
}

// Wait returns when every change under way has ended.
func (d *Desk) Wait() { d.work.Wait() }

// Do carries a request out and returns its reply. progress may be called from another
// goroutine until Do returns.
func (d *Desk) Do(ctx context.Context, peer Peer, r *wire.Request, progress func(string)) wire.Reply {
	device, err := d.check(r)
	if err != nil {
		return refuse(r, err)
	}
	switch r.Op {
	case wire.OpHealth:
		return d.health(ctx, r, device)
	case wire.OpMIGPlan:
		return d.migPlan(ctx, r)
	}
	if !peer.Write {
		err := fmt.Errorf("%s may look at this node, and change nothing", peer.Name)
		d.note(peer, r, phaseRefused, refuse(r, err)) //nolint:errcheck // it is refused anyway
		return refuse(r, err)
	}
	return d.change(ctx, peer, r, device, progress)
}

// change starts a change, or joins it when it is under way already.
func (d *Desk) change(ctx context.Context, peer Peer, r *wire.Request, device string, progress func(string)) wire.Reply {
	d.mu.Lock()
	c := d.open[r.ID]
	switch {
	case c != nil && c.digest != digest(r):
		d.mu.Unlock()
		return refuse(r, errReused)
	case c == nil && d.busy[device]:
		d.mu.Unlock()
		return busyReply(r, device)
	case c == nil:
		c = &call{digest: digest(r), done: make(chan struct{})}
		d.open[r.ID], d.busy[device] = c, true
		d.work.Go(func() { d.run(context.WithoutCancel(ctx), c, peer, r, device, mute(ctx, progress)) })
	}
	d.mu.Unlock()
	select {
	case <-c.done:
		return c.reply
	case <-ctx.Done():
		return wire.Reply{ID: r.ID, Code: wire.CodeBusy, Error: "it goes on; nobody waits for it"}
	}
}

// mute drops progress once nobody listens.
func mute(ctx context.Context, progress func(string)) func(string) {
	return func(text string) {
		if ctx.Err() == nil && progress != nil {
			progress(text)
		}
	}
}

func (d *Desk) run(ctx context.Context, c *call, peer Peer, r *wire.Request, device string, progress func(string)) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	reply := d.once(ctx, peer, r, device, progress)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, r.ID)
	delete(d.busy, device)
	c.reply = reply
	close(c.done)
}

var (
	errReused = fmt.Errorf("%w: its id belongs to another request", errMalformed)
	errKilled = errors.New("the agent was killed while it did this; what came of it must be looked at")
)

// once carries a change out unless it was before, and writes down that it begins and
// how it ended.
func (d *Desk) once(ctx context.Context, peer Peer, r *wire.Request, device string, progress func(string)) wire.Reply {
	if d.kept.dir == "" {
		return refuse(r, errors.New("what cannot be written down is not done: the agent has no state folder"))
	}
	lock, err := d.kept.lock(device)
	if err != nil {
		return refuse(r, fmt.Errorf("what cannot be written down is not done: %w", err))
	}
	if lock == nil {
		return busyReply(r, device)
	}
	defer lock.Close()
	before, err := d.kept.find(r.ID)
	switch {
	case err != nil:
		return refuse(r, err)
	case before != nil && before.Digest != digest(r):
		return refuse(r, errReused)
	case before != nil && before.Reply == nil:
		return wire.Reply{ID: r.ID, Code: wire.CodeLeft, Error: errKilled.Error()}
	case before != nil:
		return *before.Reply
	}
	if err = d.begin(peer, r); err != nil {
		return refuse(r, fmt.Errorf("what cannot be written down is not done: %w", err))
	}
	reply := d.act(ctx, peer, r, progress)
	err = errors.Join(
		d.kept.keep(outcome{ID: r.ID, Digest: digest(r), At: time.Now(), Reply: &reply}),
		d.note(peer, r, phaseEnded, reply),
	)
	d.sampler.note("keeping the record", err)
	return reply
}

func (d *Desk) begin(peer Peer, r *wire.Request) error {
	if err := d.note(peer, r, phaseBegun, wire.Reply{}); err != nil {
		return err
	}
	return d.kept.keep(outcome{ID: r.ID, Digest: digest(r), At: time.Now()})
}

func (d *Desk) note(peer Peer, r *wire.Request, phase string, reply wire.Reply) error {
	return d.audit.append(record{
		At: time.Now(), Host: d.sampler.name, Phase: phase, ID: r.ID, Op: r.Op, Peer: peer.Name, Who: r.Who, Reason: r.Reason,
		Args: r.Args, Code: reply.Code, Error: reply.Error,
	})
}

// act does what is asked.
func (d *Desk) act(ctx context.Context, peer Peer, r *wire.Request, progress func(string)) wire.Reply {
	switch r.Op {
	case wire.OpClearFault:
		return d.clearFault(peer, r)
	case wire.OpGPUReset:
		return d.reset(ctx, r, progress)
	}
	return d.migApply(ctx, r, progress)
}

func busyReply(r *wire.Request, device string) wire.Reply {
	return wire.Reply{ID: r.ID, Code: wire.CodeBusy, Error: "another request for " + device + " is under way"}
}

// refuse is the reply to what is not done at all.
func refuse(r *wire.Request, err error) wire.Reply {
	code := wire.CodeRefused
	if errors.Is(err, errMalformed) {
		code = wire.CodeMalformed
	}
	return wire.Reply{ID: r.ID, Code: code, Error: err.Error()}
}

// done is the reply to what was done, and read back.
func done(r *wire.Request, result any) wire.Reply {
	data, err := json.Marshal(result)
	if err != nil {
		return wire.Reply{ID: r.ID, Code: wire.CodeFailed, Error: err.Error()}
	}
	return wire.Reply{ID: r.ID, Result: data}
}
