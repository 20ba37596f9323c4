package remote

import (
	"bytes"
	"io"
	"net"
	"sync"
)

// stream is one direction of an in-memory connection with a buffer: both sides of
// SSH begin by writing, on which net.Pipe would block for ever.
type stream struct {
	mu   sync.Mutex
	more *sync.Cond
	buf  bytes.Buffer
	end  bool
	deaf bool // what is written is lost
}

func newStream() *stream {
	s := &stream{}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.buf.Len() == 0 && !s.end {
		s.more.Wait()
	}
	if s.buf.Len() == 0 {
		return 0, io.EOF
	}
	return s.buf.Read(p)
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	switch {
	case s.end:
		return 0, io.ErrClosedPipe
	case s.deaf:
		return len(p), nil
	}
	return s.buf.Write(p)
}

func (s *stream) set(f func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
	s.more.Broadcast()
}

// pipeEnd is one end of an in-memory connection.
type pipeEnd struct {
	net.Conn // for the methods that are not used
	in, out  *stream
}

func newPipe() (a, b *pipeEnd) {
	x, y := newStream(), newStream()
	return &pipeEnd{in: x, out: y}, &pipeEnd{in: y, out: x}
}

func (e *pipeEnd) Read(p []byte) (int, error)  { return e.in.Read(p) }
func (e *pipeEnd) Write(p []byte) (int, error) { return e.out.Write(p) }
func (e *pipeEnd) LocalAddr() net.Addr         { return &net.TCPAddr{} }
func (e *pipeEnd) RemoteAddr() net.Addr        { return &net.TCPAddr{} }

func (e *pipeEnd) Close() error {
	for _, s := range []*stream{e.in, e.out} {
		s.set(func(s *stream) { s.end = true })
	}
	return nil
}

// vanish makes the peer vanish without a word: what is written is lost, in both
// directions, and nothing ends.
func (e *pipeEnd) vanish() {
	for _, s := range []*stream{e.in, e.out} {
		s.set(func(s *stream) { s.deaf = true })
	}
}
