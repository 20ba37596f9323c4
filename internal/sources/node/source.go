package node

import (
	"context"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/sources"
)

// DefaultConcurrency is how many nodes are connected to at the same time: an SSH
// handshake costs both sides, and the login node in between.
const DefaultConcurrency = 32

// How often things happen.
const (
	flushEvery = 200 * time.Millisecond // 5 Hz
	lookEvery  = 2 * time.Second        // at which nodes there are
	beat       = 5 * time.Second        // an update is sent at least this often
	interval   = 2 * beat               // what the source is judged by
	settling   = 3 * time.Second        // the first update waits so long for all to answer
	loneliness = 10 * time.Second       // without any node for so long, that is the answer
)

// Options of a Source.
type Options struct {
	Name string // of the source: "agents"
	Way  client.Way
	// Hosts lists the nodes whose agents are wanted now, by their names in the fleet.
	Hosts func() []string
	// Concurrency bounds how many nodes are connected to at the same time;
	// DefaultConcurrency unless set.
	Concurrency int
}

// runner is a Way that can also run a command on a node.
type runner interface {
	Run(ctx context.Context, host string, argv []string) (client.Output, error)
}

// forgetter is a Way that holds something for each node.
type forgetter interface{ Forget(host string) }

// Source is the source of many nodes' agents.
type Source struct {
	opts  Options
	slots chan struct{} // one for each node that is being connected to

	mu      sync.Mutex // guards the rest
	clients map[string]*client.Client
	hurry   chan struct{} // closed when nobody shall wait any longer
}

var _ interface {
	sources.Source
	sources.Refresher
} = (*Source)(nil)

// New returns a source; Run connects it.
func New(o Options) *Source {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	return &Source{
		opts: o, slots: make(chan struct{}, o.Concurrency), clients: map[string]*client.Client{}, hurry: make(chan struct{}),
	}
}

// Name implements sources.Source.
func (s *Source) Name() string { return s.opts.Name }

// Info implements sources.Source.
func (s *Source) Info() sources.Info {
	return sources.Info{Kind: "agent", Via: s.opts.Way.Via(""), Server: "no node agent"}
}

// Client returns the client of a node's agent, or nil when none is wanted there. It may
// not be connected.
func (s *Source) Client(host string) *client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[host]
}

// Refresh makes every node that waits to be connected to again try now.
func (s *Source) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.hurry)
	s.hurry = make(chan struct{})
}

func (s *Source) hurried() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hurry
}

// Run implements sources.Source. It ends with ctx only: nodes fail one by one.
func (s *Source) Run(ctx context.Context, sink sources.Sink) error {
	r := &run{source: s, board: newBoard(), watches: map[string]*watch{}}
	defer r.stop()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var looked time.Time
	for {
		if now := time.Now(); now.Sub(looked) >= lookEvery {
			looked = now
			r.look(ctx)
		}
		if u, ok := r.board.take(time.Now()); ok {
			u.Source = s.opts.Name
			sink.Update(u)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// run is one Run of a Source.
type run struct {
	source  *Source
	board   *board
	watches map[string]*watch
}

// look starts a watch for each new node and ends those of nodes that are not wanted
// any more.
func (r *run) look(ctx context.Context) {
	wanted := map[string]bool{}
	for _, host := range r.source.opts.Hosts() {
		wanted[host] = true
		if r.watches[host] == nil {
			r.watches[host] = r.source.watch(ctx, host, r.board)
		}
	}
	for host, w := range r.watches {
		if !wanted[host] {
			delete(r.watches, host)
			w.cancel()
			<-w.done
			r.source.forget(host)
			r.board.drop(host)
		}
	}
}

// stop ends all watches.
func (r *run) stop() {
	for _, w := range r.watches {
		w.cancel()
	}
	for host, w := range r.watches {
		<-w.done
		r.source.forget(host)
	}
}

// forget lets go of everything that is held for a node. It does not wait for a
// connection that does not end.
func (s *Source) forget(host string) {
	s.mu.Lock()
	delete(s.clients, host)
	s.mu.Unlock()
	if f, ok := s.opts.Way.(forgetter); ok {
		f.Forget(host)
	}
}

// report is what a node's agent says, as the fleet sees it.
func (s *Source) report(st *client.State, host string) fleet.HostReport {
	r := fleet.HostReport{Host: host, Agent: st.Node, GPUs: st.GPUs}
	r.Agent.At = st.Heard // our clock, so that ages are right
	r.Agent.Via = s.opts.Way.Via(host)
	r.Agent.Status = fleet.SourceLive
	return r
}
