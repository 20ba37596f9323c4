package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// call is one request under way.
type call struct {
	progress chan string // the latest texts; older ones give way
	reply    chan *wire.Reply
}

func (c *call) tell(text string) {
	select {
	case c.progress <- text:
	default: // whoever waits is slow; the reply is what counts
	}
}

func (c *call) finish(r *wire.Reply) {
	select {
	case c.reply <- r:
	default: // a second reply to one request means nothing
	}
}

// call returns the request under way with that id, or nil.
func (l *link) call(id string) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// register makes id a request under way; false when it already is.
func (l *link) register(id string) (*call, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[id] != nil {
		return nil, false
	}
	c := &call{progress: make(chan string, 64), reply: make(chan *wire.Reply, 1)}
	l.calls[id] = c
	return c, true
}

func (l *link) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// Request asks the agent to do something and waits for its reply, whose result it
// returns. progress, which may be nil, is called from the same goroutine. A request
// without an id gets one. When the agent refuses or fails, the error is a *ReplyError.
//
// When ctx ends Request returns; the agent goes on.
func (c *Client) Request(ctx context.Context, r wire.Request, progress func(string)) (json.RawMessage, error) {
	c.mu.Lock()
	l, state := c.link, c.state
	c.mu.Unlock()
	if l == nil || state == nil {
		return nil, fmt.Errorf("%s: %w", c.host, ErrNotConnected)
	}
	if !slices.Contains(state.Hello.Ops, r.Op) && r.Op != wire.OpSample {
		return nil, &ReplyError{Host: c.host, Code: wire.CodeRefused, Text: fmt.Sprintf("this agent does not take %s from us", r.Op)}
	}
	if r.ID == "" {
		r.ID = rand.Text()
	}
	r.Version = min(state.Hello.Version, wire.Version)
	call, ok := l.register(r.ID)
	if !ok {
		return nil, &ReplyError{Host: c.host, Code: wire.CodeBusy, Text: "request " + r.ID + " is under way"}
	}
	defer l.forget(r.ID)
	select {
	case l.out <- wire.Frame{Request: &r}:
		return l.await(ctx, call, progress)
	case <-l.done:
		return nil, fmt.Errorf("%s: %w", c.host, ErrNotConnected)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %s was not sent: %w", c.host, r.Op, ctx.Err())
	}
}

// await passes progress on until the reply comes.
func (l *link) await(ctx context.Context, call *call, progress func(string)) (json.RawMessage, error) {
	tell := func(text string) {
		if progress != nil {
			progress(text)
		}
	}
	for {
		select {
		case text := <-call.progress:
			tell(text)
		case r := <-call.reply:
			for len(call.progress) > 0 {
				tell(<-call.progress)
			}
			if r.Error != "" {
				return nil, &ReplyError{Host: l.c.host, Code: r.Code, Text: r.Error}
			}
			return r.Result, nil
		case <-l.done:
			if len(call.reply) > 0 {
				continue
			}
			return nil, fmt.Errorf("%s: the connection broke: %w", l.c.host, ErrOutcomeUnknown)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w: %w", l.c.host, ErrOutcomeUnknown, ctx.Err())
		}
	}
}
