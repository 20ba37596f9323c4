package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

const (
	// maxRequest bounds a frame of a client, in bytes.
	maxRequest = 64 << 10
	// atOnce bounds the requests of one client that are under way.
	atOnce = 16
)

// Server talks to clients. It is safe for concurrent use.
type Server struct {
	sampler *Sampler
	desk    *Desk
}

// NewServer returns the server of an agent.
func NewServer(s *Sampler, d *Desk) *Server { return &Server{sampler: s, desk: d} }

// Session talks to one client until it leaves, sends something that is no request, or
// ctx ends; then it closes conn. A client that reads slowly misses states; what is kept
// for it is bounded.
func (v *Server) Session(ctx context.Context, peer Peer, conn io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{server: v, peer: peer, conn: conn, out: make(chan wire.Frame, 2*atOnce), full: make(chan struct{}, 1), slots: make(chan struct{}, atOnce)}
	var work sync.WaitGroup
	work.Go(func() { cancel(s.read(ctx)) })
	work.Go(func() {
		<-ctx.Done()
		conn.Close()
	})
	err := s.write(ctx)
	cancel(err)
	s.requests.Wait()
	work.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, io.EOF) {
		return cause
	}
	return nil
}

type session struct {
	server   *Server
	peer     Peer
	conn     io.ReadWriteCloser
	out      chan wire.Frame
	full     chan struct{} // the client asks for everything again
	slots    chan struct{}
	requests sync.WaitGroup
}

// read takes requests until there is something else.
func (s *session) read(ctx context.Context) error {
	frames := wire.NewReader(s.conn, maxRequest)
	for {
		f, err := frames.Next()
		if err != nil {
			return err
		}
		if f.Request == nil {
			return fmt.Errorf("%w: not a request", wire.ErrGarbage)
		}
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.requests.Go(func() {
			defer func() { <-s.slots }()
			s.answer(ctx, f.Request)
		})
	}
}

func (s *session) answer(ctx context.Context, r *wire.Request) {
	if r.Op == wire.OpSample {
		select {
		case s.full <- struct{}{}:
		default: // one is on its way
		}
		s.send(ctx, wire.Frame{Reply: &wire.Reply{ID: r.ID}})
		return
	}
	reply := s.server.desk.Do(ctx, s.peer, r, func(text string) {
		select {
		case s.out <- wire.Frame{Progress: &wire.Progress{ID: r.ID, Text: text}}:
		default: // the reply is what counts
		}
	})
	s.send(ctx, wire.Frame{Reply: &reply})
}

func (s *session) send(ctx context.Context, f wire.Frame) {
	select {
	case s.out <- f:
	case <-ctx.Done():
	}
}

// write greets, and then sends states and replies as they come. While the client is
// slow, the states between the last that was sent and the latest are lost.
func (s *session) write(ctx context.Context) error {
	sampler := s.server.sampler
	hello := &wire.Hello{
		Version: wire.Version, Agent: sampler.opts.Version, Host: sampler.name,
		Interval: 2 * sampler.opts.Interval, Ops: s.server.desk.ops(s.peer),
	}
	if err := wire.Write(s.conn, wire.Frame{Hello: hello}); err != nil {
		return err
	}
	var seen *State
	var seq uint64
	sample := func(state, since *State) wire.Frame {
		seq++
		out := state.frame(since)
		out.Seq = seq
		return wire.Frame{Sample: out}
	}
	for {
		state, changed := sampler.newer(seen)
		var frame wire.Frame
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case frame = <-s.out:
		case <-s.full:
			if seen == nil {
				continue // everything comes anyway
			}
			frame = sample(seen, nil)
		case <-changed:
			if state == nil {
				continue
			}
			frame = sample(state, seen)
			seen = state
		}
		if err := wire.Write(s.conn, frame); err != nil {
			return err
		}
	}
}
