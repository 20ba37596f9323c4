//go:build cgo

package nvml

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// server is the child. A call that never returns keeps one goroutine of it for ever,
// which ends with the process.
type server struct {
	lib      *library
	system   *worker
	deadline time.Duration

	mu      sync.Mutex
	workers map[int]*worker
	watched bool

	out     sync.Mutex
	buffer  *bufio.Writer
	encoder *gob.Encoder
}

// worker does one thing at a time for the library or for one device.
type worker struct {
	*calls
	gpu  *gpu // nil for the library
	busy chan struct{}
}

func newWorker(c *calls, g *gpu) *worker {
	return &worker{calls: c, gpu: g, busy: make(chan struct{}, 1)}
}

// Serve is the child's side: it answers the requests that it reads until in ends. The
// first message is the deadline of a call. It returns although calls may hang: the
// process must end then.
func Serve(path string, in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1) // calls into the driver run beside it; more only cost waking up
	buffer := bufio.NewWriter(out)
	lib := newLibrary(path)
	s := &server{
		lib: lib, system: newWorker(lib.calls, nil), workers: map[int]*worker{},
		buffer: buffer, encoder: gob.NewEncoder(buffer),
	}
	requests := gob.NewDecoder(in)
	if err := requests.Decode(&s.deadline); err != nil {
		return fmt.Errorf("read the first message: %w", err)
	}
	for {
		var req request
		if err := requests.Decode(&req); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a request: %w", err)
		}
		go func() {
			r := s.answer(&req)
			r.ID = req.ID
			s.send(&r)
		}()
	}
}

// send drops what cannot be sent: without a parent the process is about to end.
func (s *server) send(r *reply) {
	s.out.Lock()
	defer s.out.Unlock()
	if s.encoder.Encode(r) == nil {
		_ = s.buffer.Flush() // the reader of requests sees the end
	}
}

func (s *server) answer(req *request) reply {
	switch req.Op {
	case opSample:
		return s.sample(req)
	case opEvents:
		return s.events()
	}
	if r := s.opened(); r.err() != nil {
		return r
	}
	w := s.worker(req.Index)
	return s.one(w, func() reply { return w.gpu.carryOut(req) })
}

// opened has the library opened by its own worker.
func (s *server) opened() reply {
	return s.one(s.system, func() reply { return reply{Err: failed(s.lib.open())} })
}

func (s *server) worker(index int) *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workers[index]
	if w == nil {
		g := newGPU(s.lib, index)
		w = newWorker(g.calls, g)
		s.workers[index] = w
	}
	return w
}

// start does the job unless the worker is busy; the channel gets its reply.
func (w *worker) start(job func() reply) (<-chan reply, bool) {
	select {
	case w.busy <- struct{}{}:
	default:
		return nil, false
	}
	done := make(chan reply, 1)
	go func() {
		r := job()
		<-w.busy
		done <- r
	}()
	return done, true
}

// one does one job, after the one before it, and gives up when a call has not returned
// in the time that such a call may take.
func (s *server) one(w *worker, job func() reply) reply {
	var done <-chan reply
	for {
		if done == nil {
			done, _ = w.start(job)
		}
		select {
		case r := <-done:
			return r
		case <-time.After(s.deadline / 20):
		}
		if u := w.underway(); u != nil && u.Age >= patience(u.Call, s.deadline) {
			return reply{Stuck: u}
		}
	}
}

// events makes events come; a second time it does nothing.
func (s *server) events() reply {
	if r := s.opened(); r.err() != nil {
		return r
	}
	return s.one(s.system, func() reply {
		err := s.lib.wantEvents()
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && !s.watched {
			s.watched = true
			go s.lib.watch(func(e agent.DriverEvent) { s.send(&reply{Event: &e}) })
		}
		return reply{Err: failed(err)}
	})
}

// sample reads the devices at the same time.
func (s *server) sample(req *request) reply {
	about, ok := s.count()
	if !ok || about.Err != nil {
		about.Calls = s.system.made()
		about.Devices = s.stuckDevices()
		return about
	}
	type pending struct {
		index int
		w     *worker
		done  <-chan reply
	}
	var all []pending
	for i := range about.System.Count {
		if slices.Contains(req.Skip, i) || req.Only >= 0 && req.Only != i {
			continue
		}
		w := s.worker(i)
		done, _ := w.start(func() reply { return w.sample() })
		all = append(all, pending{i, w, done})
	}
	for _, p := range all {
		r := s.wait(p.w, p.done)
		res := result{GPU: r.GPU, Err: r.Err, Stuck: r.Stuck, Index: p.index}
		about.Devices = append(about.Devices, res)
		about.Calls += p.w.made()
	}
	about.Calls += s.system.made()
	return about
}

// stuckDevices are those whose call has had its time: one of them may be why the library
// does not answer.
func (s *server) stuckDevices() []result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []result
	for i, w := range s.workers {
		if u := w.underway(); u != nil && u.Age >= s.deadline {
			list = append(list, result{Index: i, Stuck: u})
		}
	}
	return list
}

func (w *worker) sample() reply {
	g, err := w.gpu.sample()
	return reply{GPU: g, Err: failed(err)}
}

// count asks the library what there is. A call that does not return is told, and goes
// on.
func (s *server) count() (reply, bool) {
	done, ok := s.system.start(func() reply {
		about, err := s.lib.system()
		return reply{System: about, Err: failed(err)}
	})
	if !ok {
		return reply{Stuck: s.system.stuckIn()}, false
	}
	r := s.wait(s.system, done)
	return r, r.Stuck == nil
}

// stuckIn is the call that is under way; between two calls it is our own doing.
func (w *worker) stuckIn() *stuck {
	if u := w.underway(); u != nil {
		return u
	}
	return &stuck{Call: ourselves}
}

// wait waits for a worker until its call under way has had its time, or the whole takes
// three times as long. A worker that is busy with an earlier request is not waited for.
func (s *server) wait(w *worker, done <-chan reply) reply {
	began := time.Now()
	for done != nil {
		limit, age := s.deadline, time.Duration(0)
		if u := w.underway(); u != nil {
			limit, age = atStart(u.Call, s.deadline), u.Age
		}
		if age >= limit || time.Since(began) > 3*limit {
			break
		}
		timer := time.NewTimer(limit - age)
		select {
		case r := <-done:
			timer.Stop()
			return r
		case <-timer.C:
		}
	}
	return reply{Stuck: w.stuckIn()}
}
