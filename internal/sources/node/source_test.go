package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// farm is a Way to agents that live in the test.
type farm struct {
	mu      sync.Mutex
	hosts   []string
	refuse  map[string]error // hosts that cannot be dialled, and why
	hang    map[string]bool  // hosts whose dial never ends
	slow    time.Duration    // from a dial to the greeting
	live    map[string]net.Conn
	dials   map[string]int
	dialing int
	peak    int
	forgot  []string
	work    sync.WaitGroup
}

func newFarm(hosts ...string) *farm {
	return &farm{hosts: hosts, refuse: map[string]error{}, hang: map[string]bool{}, live: map[string]net.Conn{}, dials: map[string]int{}}
}

func (f *farm) set(do func()) { f.mu.Lock(); defer f.mu.Unlock(); do() }

func (f *farm) names() []string { f.mu.Lock(); defer f.mu.Unlock(); return slices.Clone(f.hosts) }

func (f *farm) Via(host string) string { return strings.TrimSpace("test " + host) }

func (f *farm) Forget(host string) { f.set(func() { f.forgot = append(f.forgot, host) }) }

func (f *farm) Dial(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	var err error
	var hang bool
	f.set(func() {
		f.dials[host]++
		f.dialing++
		f.peak = max(f.peak, f.dialing)
		err, hang = f.refuse[host], f.hang[host]
		f.live[host] = far
	})
	if hang {
		<-ctx.Done()
		err = ctx.Err()
	}
	if err != nil {
		f.set(func() { f.dialing-- })
		near.Close()
		return nil, err
	}
	f.work.Go(func() { f.agent(host, far) })
	return near, nil
}

// agent speaks as the agent of a host, once a second, until it is cut.
func (f *farm) agent(host string, conn net.Conn) {
	defer conn.Close()
	time.Sleep(f.slow)
	f.set(func() { f.dialing-- })
	go io.Copy(io.Discard, conn)
	err := wire.Write(conn, wire.Frame{Hello: &wire.Hello{Version: 1, Agent: "1.0", Host: host, Interval: 2 * time.Second}})
	for seq := uint64(1); err == nil; seq++ {
		s := &wire.Sample{Seq: seq, Full: seq == 1, At: time.Now(), GPUs: []fleet.GPU{{UUID: "GPU-" + host, Temp: fleet.Read(float64(seq))}}}
		err = wire.Write(conn, wire.Frame{Sample: s})
		time.Sleep(time.Second)
	}
}

func (f *farm) cut(host string) { f.set(func() { f.live[host].Close() }) }

// memory is a sink that remembers.
type memory struct {
	mu      sync.Mutex
	updates []fleet.Update
	hosts   map[string]fleet.HostReport
}

func (m *memory) Update(u fleet.Update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates = append(m.updates, u)
	if u.Full || m.hosts == nil {
		m.hosts = map[string]fleet.HostReport{}
	}
	for _, h := range u.Hosts {
		m.hosts[h.Host] = h
	}
}

func (m *memory) last() fleet.Update {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.updates[len(m.updates)-1]
}

func (m *memory) count() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.updates) }

func (m *memory) host(name string) fleet.HostReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hosts[name]
}

// running runs f beside a source of the way's hosts.
func running(t *testing.T, way client.Way, fm *farm, concurrency int, f func(t *testing.T, s *Source, m *memory)) {
	t.Helper()
	s := New(Options{Name: "agents", Way: way, Hosts: fm.names, Concurrency: concurrency})
	m := &memory{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, m) }()
	f(t, s, m)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	fm.work.Wait()
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAllAgentsOnOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm()
		for i := range 100 {
			fm.hosts = append(fm.hosts, fmt.Sprintf("n%d", i))
		}
		fm.slow = 100 * time.Millisecond
		running(t, fm, fm, 10, func(t *testing.T, s *Source, m *memory) {
			after(1500 * time.Millisecond)
			first := m.updates[0]
			if !first.Full || !first.NoJobs || !first.NoViews || first.Reached != 100 || first.Wanted != 100 || len(first.Hosts) != 100 || first.Source != "agents" {
				t.Errorf("%d hosts: %+v", len(first.Hosts), first)
			}
			if fm.peak > 10 {
				t.Errorf("%d nodes were connected to at the same time", fm.peak)
			}
			n := m.count()
			after(10 * time.Second)
			if got := m.count() - n; got < 10 || got > 50 {
				t.Errorf("%d updates in 10 s, of 100 agents that speak each second", got)
			}
			h := m.host("n42")
			if h.Agent.Status != fleet.SourceLive || h.Agent.Via != "test n42" || h.GPUs[0].UUID != "GPU-n42" || h.GPUs[0].Temp.Value < 10 || time.Since(h.Agent.At) > 2*time.Second {
				t.Errorf("%+v", h)
			}
			if c := s.Client("n42"); c == nil || c.State() == nil || s.Client("other") != nil {
				t.Error("clients are found by host")
			}
		})
	})
}

func TestOneNodeHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm("dead", "hangs", "good")
		fm.refuse["dead"], fm.hang["hangs"] = errors.New("no route to dead"), true
		running(t, fm, fm, 2, func(t *testing.T, _ *Source, m *memory) {
			after(3500 * time.Millisecond)
			u := m.last()
			if u.Reached != 1 || u.Wanted != 3 || m.host("good").Gone != "" {
				t.Errorf("%+v", u)
			}
			if h := m.host("dead"); h.Gone != "no route to dead" || h.Agent.Status != fleet.SourceDown {
				t.Errorf("never reached is down: %+v", h)
			}
			after(time.Minute)
			if h := m.host("hangs"); !strings.Contains(h.Gone, "no connection within 30s") {
				t.Errorf("%+v", h)
			}
			if n := fm.dials["dead"]; n < 4 || n > 8 {
				t.Errorf("dialled %d times in a minute: its back-off is its own", n)
			}
			if fm.dials["good"] != 1 {
				t.Errorf("the good one was dialled %d times", fm.dials["good"])
			}
		})
	})
}

func TestLostIsStaleThenDownThenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm("n1", "n2")
		running(t, fm, fm, 0, func(t *testing.T, s *Source, m *memory) {
			after(5 * time.Second)
			fm.set(func() { fm.refuse["n1"] = errors.New("connection refused") })
			fm.cut("n1")
			after(time.Second)
			h := m.host("n1")
			if h.Agent.Status != fleet.SourceStale || !strings.Contains(h.Gone, "ended the connection") || !h.Agent.At.IsZero() {
				t.Errorf("%+v", h)
			}
			if u := m.last(); u.Reached != 1 || u.Wanted != 2 {
				t.Errorf("%+v", u)
			}
			after(10 * time.Second)
			if h = m.host("n1"); h.Agent.Status != fleet.SourceStale || h.Gone != "connection refused" {
				t.Errorf("%+v", h)
			}
			after(10 * time.Second)
			if h = m.host("n1"); h.Agent.Status != fleet.SourceDown {
				t.Errorf("%+v", h)
			}
			after(10 * time.Minute)
			fm.set(func() { delete(fm.refuse, "n1") })
			s.Refresh()
			after(5 * time.Second)
			if h = m.host("n1"); h.Gone != "" || h.Agent.Status != fleet.SourceLive {
				t.Errorf("a wish makes it try at once: %+v", h)
			}
		})
	})
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm("n1", "n2", "n3")
		for _, h := range fm.hosts {
			fm.refuse[h] = errors.New("connection refused")
		}
		fm.refuse["n2"] = errors.New("n2: connection refused")
		fm.refuse["n3"] = errors.New("no route")
		running(t, fm, fm, 0, func(t *testing.T, _ *Source, m *memory) {
			after(time.Second)
			if u := m.last(); u.Reached != 0 || u.Wanted != 3 || u.Problem != "no node agent answers; of 3 nodes 2: connection refused (and 1 other reasons; see the nodes)" {
				t.Errorf("%+v", u)
			}
		})
	})
}

func TestNodesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm()
		running(t, fm, fm, 0, func(t *testing.T, s *Source, m *memory) {
			after(8 * time.Second)
			if m.count() != 0 {
				t.Error("before the fleet is known there is nothing to say")
			}
			after(3 * time.Second)
			if u := m.last(); !u.Full || u.Wanted != 0 {
				t.Errorf("%+v", u)
			}
			fm.set(func() { fm.hosts = []string{"n1", "n2"} })
			after(4 * time.Second)
			if u := m.last(); u.Reached != 2 {
				t.Errorf("%+v", u)
			}
			fm.set(func() { fm.hosts = []string{"n2"} })
			after(4 * time.Second)
			if m.host("n1").Host != "" || m.host("n2").Host == "" || s.Client("n1") != nil || !slices.Contains(fm.forgot, "n1") {
				t.Errorf("%+v", m.hosts)
			}
		})
	})
}

// bare is a farm whose nodes have no agent, and perhaps nvidia-smi.
type bare struct {
	*farm
	out   client.Output
	err   error
	asked int
	agent bool
}

func (b *bare) Dial(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	var agent bool
	b.set(func() { agent = b.agent })
	if agent {
		return b.farm.Dial(ctx, host)
	}
	return nil, fmt.Errorf("%w: gpuctl cannot be run: not found", client.ErrNoAgent)
}

func (b *bare) Run(_ context.Context, _ string, argv []string) (client.Output, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if !slices.Equal(argv, smiCommand()) {
		return client.Output{}, fmt.Errorf("asked for %q", argv)
	}
	return b.out, b.err
}

func TestWithoutAgentNvidiaSMIAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bare{farm: newFarm("n1"), out: client.Output{Stdout: []byte(smiGood)}}
		running(t, b, b.farm, 0, func(t *testing.T, _ *Source, m *memory) {
			after(61 * time.Second)
			h := m.host("n1")
			if h.Gone != "" || h.Agent.Via != fleet.ViaSMI || len(h.GPUs) != 1 || len(h.Agent.Problems) != 1 || !strings.Contains(h.Agent.Problems[0], "no gpuctl agent there") {
				t.Errorf("%+v", h)
			}
			if b.asked < 4 || b.asked > 6 {
				t.Errorf("asked %d times in a minute", b.asked)
			}
			b.set(func() { b.out = client.Output{Exit: 127} })
			after(20 * time.Second)
			if h = m.host("n1"); !strings.Contains(h.Gone, "no gpuctl agent there") || !strings.Contains(h.Gone, "nvidia-smi is not there either") {
				t.Errorf("%+v", h)
			}
			b.set(func() { b.out = client.Output{Stdout: []byte(smiGood)} })
			after(2 * time.Minute)
			b.set(func() { b.agent = true })
			after(6 * time.Minute)
			if h = m.host("n1"); h.Agent.Via != "test n1" {
				t.Errorf("an agent that came later is found: %+v", h)
			}
		})
	})
}

// An agent that dies after each first word is not started every two seconds.
func TestShortLivedAgentIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fm := newFarm("n1")
		running(t, fm, fm, 0, func(t *testing.T, _ *Source, _ *memory) {
			for range 300 {
				after(time.Second)
				fm.cut("n1")
			}
			if n := fm.dials["n1"]; n > 15 {
				t.Errorf("started %d times in five minutes", n)
			}
		})
	})
}
