package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// peer is the agent's end of a stream, driven by a test.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *wire.Reader
}

func (p *peer) say(frames ...wire.Frame) {
	p.t.Helper()
	for _, f := range frames {
		if err := wire.Write(p.conn, f); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *peer) request() *wire.Request {
	p.t.Helper()
	f, err := p.in.Next()
	if err != nil || f.Request == nil {
		p.t.Fatalf("wanted a request, got %+v, %v", f, err)
	}
	return f.Request
}

func hello() wire.Frame {
	return wire.Frame{Hello: &wire.Hello{Version: 1, Agent: "1.0", Host: "n1", Interval: 10 * time.Second, Ops: []wire.Op{wire.OpMIGApply}}}
}

func gpu(index int, temp float64) fleet.GPU {
	return fleet.GPU{UUID: "GPU-" + string(rune('a'+index)), Node: "elsewhere", Index: index, Minor: index, Temp: fleet.Read(temp)}
}

func sample(seq uint64, full bool, gpus ...fleet.GPU) wire.Frame {
	s := &wire.Sample{Seq: seq, Full: full, GPUs: gpus, At: time.Now()}
	if full {
		s.Node = &fleet.AgentInfo{Driver: "570.86.15", Gone: "a lie", Via: "another"}
	}
	return wire.Frame{Sample: s}
}

// connected runs f in a bubble, with a client that is connected to a peer. Run's
// error is sent on ended.
func connected(t *testing.T, f func(t *testing.T, p *peer, c *Client, ended <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		near, far := net.Pipe()
		c := New("n1", nil)
		done := make(chan error, 1)
		var work sync.WaitGroup
		work.Go(func() { done <- c.Run(ctx, near) })
		f(t, &peer{t, far, wire.NewReader(far, 0)}, c, done)
		cancel()
		work.Wait()
		far.Close()
	})
}

func TestDeltasAreMergedIntoTheState(t *testing.T) {
	connected(t, func(t *testing.T, p *peer, c *Client, _ <-chan error) {
		lost := fleet.GPU{Index: 2, Node: "elsewhere", Health: fleet.GPUHealth{State: fleet.GPULost}}
		p.say(hello(), sample(7, true, gpu(0, 40), gpu(1, 41), lost))
		synctest.Wait()
		first := c.State()
		if len(first.GPUs) != 3 || first.Node.Driver == "" || first.Node.Gone != "" || first.Node.Via != "" || first.Node.Version != "1.0" {
			t.Fatalf("%+v", first)
		}
		next := sample(8, false, gpu(1, 50), gpu(3, 43))
		next.Sample.Gone = []string{"elsewhere:2"}
		p.say(next)
		synctest.Wait()
		s := c.State()
		if len(s.GPUs) != 3 || s.GPUs[0].Temp.Value != 40 || s.GPUs[1].Temp.Value != 50 || s.GPUs[2].Index != 3 || s.GPUs[2].Node != "n1" || s.Node.Driver == "" {
			t.Errorf("%+v", s)
		}
		if first.GPUs[1].Temp.Value != 41 || len(first.GPUs) != 3 {
			t.Error("a state that was given away must not change")
		}
	})
}

func TestMissedSampleIsAskedFor(t *testing.T) {
	connected(t, func(t *testing.T, p *peer, c *Client, ended <-chan error) {
		p.say(hello(), sample(1, true, gpu(0, 40)), sample(3, false, gpu(0, 60)))
		if r := p.request(); r.Op != wire.OpSample || r.Version != 1 {
			t.Errorf("%+v", r)
		}
		p.say(sample(4, false, gpu(0, 61)))
		synctest.Wait()
		if s := c.State(); s.Seq != 1 || s.GPUs[0].Temp.Value != 40 {
			t.Errorf("deltas upon a gap are not believed: %+v", s)
		}
		p.say(sample(5, true, gpu(0, 62)), sample(6, false, gpu(0, 63)))
		synctest.Wait()
		if s := c.State(); s.Seq != 6 || s.GPUs[0].Temp.Value != 63 {
			t.Errorf("%+v", s)
		}
		p.say(sample(9, false)) // and now it only goes on
		p.request()
		for i := uint64(10); i < 13; i++ {
			time.Sleep(6 * time.Second)
			p.say(sample(i, false))
		}
		if err := <-ended; !errors.Is(err, ErrSilent) {
			t.Errorf("an agent that does not help: %v", err)
		}
	})
}

func TestSilenceIsLoss(t *testing.T) {
	connected(t, func(t *testing.T, p *peer, c *Client, ended <-chan error) {
		p.say(hello(), sample(1, true))
		for seq := uint64(2); seq < 6; seq++ {
			time.Sleep(19 * time.Second)
			p.say(sample(seq, false))
		}
		start := time.Now()
		if err := <-ended; !errors.Is(err, ErrSilent) || time.Since(start) != 20*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if c.State() == nil {
			t.Error("what it said stays")
		}
		if _, err := c.Request(t.Context(), wire.Request{Op: wire.OpMIGApply}, nil); !errors.Is(err, ErrNotConnected) {
			t.Error(err)
		}
	})
	connected(t, func(t *testing.T, p *peer, _ *Client, ended <-chan error) {
		p.say(hello()) // and then nothing, or nothing that counts
		start := time.Now()
		if err := <-ended; !errors.Is(err, ErrSilent) || time.Since(start) != helloPatience {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestGarbageIsCut(t *testing.T) {
	for name, text := range map[string]string{
		"a banner":         "Welcome to n1\n",
		"no greeting":      `{"sample":{"seq":1,"full":true}}` + "\n",
		"two greetings":    `{"hello":{"version":1}}` + "\n" + `{"hello":{"version":1}}` + "\n",
		"a request":        `{"hello":{"version":1}}` + "\n" + `{"request":{"id":"a","op":"gpu-reset"}}` + "\n",
		"version 0":        `{"hello":{}}` + "\n",
		"too many devices": `{"hello":{"version":1}}` + "\n" + `{"sample":{"full":true,"gpus":[` + strings.Repeat("{},", maxGPUs) + "{}]}}\n",
	} {
		connected(t, func(t *testing.T, p *peer, c *Client, ended <-chan error) {
			go io.WriteString(p.conn, text)
			if err := <-ended; !errors.Is(err, ErrGarbage) || !strings.HasPrefix(err.Error(), "n1: ") {
				t.Errorf("%s: %v", name, err)
			}
			if c.State() != nil {
				t.Errorf("%s: %+v", name, c.State())
			}
		})
	}
	connected(t, func(t *testing.T, p *peer, _ *Client, ended <-chan error) {
		go io.WriteString(p.conn, `{"hello":{"version":2,"agent":"3.0"}}`+"\n")
		if err := <-ended; !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "update gpuctl here") {
			t.Error(err)
		}
	})
	connected(t, func(t *testing.T, p *peer, _ *Client, ended <-chan error) {
		p.conn.Close()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended the connection") {
			t.Error(err)
		}
	})
}

func TestRequestGetsProgressAndOneReply(t *testing.T) {
	connected(t, func(t *testing.T, p *peer, c *Client, _ <-chan error) {
		p.say(hello(), sample(1, true))
		synctest.Wait()
		var told []string
		done := make(chan error, 1)
		go func() {
			result, err := c.Request(t.Context(), wire.Request{ID: "a", Op: wire.OpMIGApply, Who: "alice"}, func(s string) { told = append(told, s) })
			if string(result) != `{"uuid":"GPU-a"}` {
				t.Errorf("result %s", result)
			}
			done <- err
		}()
		if r := p.request(); r.ID != "a" || r.Who != "alice" || r.Version != 1 {
			t.Errorf("%+v", r)
		}
		if _, err := c.Request(t.Context(), wire.Request{ID: "a", Op: wire.OpMIGApply}, nil); codeOf(err) != wire.CodeBusy {
			t.Errorf("the same id twice: %v", err)
		}
		if _, err := c.Request(t.Context(), wire.Request{Op: wire.OpGPUReset}, nil); codeOf(err) != wire.CodeRefused {
			t.Errorf("an operation it does not offer: %v", err)
		}
		reply := wire.Frame{Reply: &wire.Reply{ID: "a", Result: json.RawMessage(`{"uuid":"GPU-a"}`)}}
		p.say(wire.Frame{Progress: &wire.Progress{ID: "a", Text: "one"}}, wire.Frame{Progress: &wire.Progress{ID: "b", Text: "not ours"}},
			wire.Frame{Progress: &wire.Progress{ID: "a", Text: "two"}}, reply, reply)
		if err := <-done; err != nil || len(told) != 2 {
			t.Errorf("%v, told %q", err, told)
		}
		go func() { _, err := c.Request(t.Context(), wire.Request{Op: wire.OpMIGApply}, nil); done <- err }()
		p.say(wire.Frame{Reply: &wire.Reply{ID: p.request().ID, Code: wire.CodeLeft, Error: "two instances are left"}})
		if err := <-done; codeOf(err) != wire.CodeLeft || err.Error() != "n1: two instances are left" {
			t.Error(err)
		}
	})
}

func codeOf(err error) wire.Code {
	if r := (*ReplyError)(nil); errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestRequestWithoutReply(t *testing.T) {
	connected(t, func(t *testing.T, p *peer, c *Client, _ <-chan error) {
		if _, err := c.Request(t.Context(), wire.Request{Op: wire.OpMIGApply}, nil); !errors.Is(err, ErrNotConnected) {
			t.Errorf("before the first sample: %v", err)
		}
		p.say(hello(), sample(1, true))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _, _ = p.in.Next() }()
		if _, err := c.Request(ctx, wire.Request{Op: wire.OpMIGApply}, nil); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no reply in time: %v", err)
		}
		synctest.Wait()
		done := make(chan error, 1)
		go func() { _, err := c.Request(t.Context(), wire.Request{Op: wire.OpMIGApply}, nil); done <- err }()
		p.request()
		p.conn.Close()
		if err := <-done; !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("the connection broke: %v", err)
		}
	})
}

func TestEveryChangeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		n := 0
		c := New("n1", func() { n++ })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx, near) }()
		p := &peer{t, far, wire.NewReader(far, 0)}
		p.say(hello(), sample(1, true), sample(2, false))
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || n != 2 {
			t.Errorf("%v, %d changes", err, n)
		}
	})
}

// Whatever an agent sends, the client ends in order and believes no more than the
// bounds allow.
func FuzzAgent(f *testing.F) {
	f.Add([]byte(`{"hello":{"version":1,"interval":1000000000}}` + "\n" + `{"sample":{"seq":1,"full":true,"gpus":[{"UUID":"a"},{"Index":3}]}}` + "\n" +
		`{"sample":{"seq":2,"gone":["a",":3"],"gpus":[{"Index":-1}]}}` + "\n" + `{"reply":{"id":"sync"}}` + "\n"))
	f.Add([]byte(`{"hello":{"version":1,"interval":-1}}` + "\n" + `{"sample":{"seq":5}}` + "\n" + `{"progress":{}}` + "\n"))
	f.Add([]byte("\x00\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		go func() { far.Write(b); far.Close() }()
		c := New("n1", nil)
		if err := c.Run(t.Context(), near); err == nil {
			t.Error("ended without saying why")
		}
		if s := c.State(); s != nil {
			if len(s.GPUs) > maxGPUs || s.Hello.Interval < minInterval || s.Hello.Version != 1 {
				t.Errorf("%+v", s)
			}
			for _, g := range s.GPUs {
				if g.Node != "n1" {
					t.Errorf("speaks of %q", g.Node)
				}
			}
		}
	})
}
