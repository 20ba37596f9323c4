package nvml

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// child is one process that makes NVML calls.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
	event  func(agent.DriverEvent)
	gone   chan struct{} // closed when the process has ended

	out     sync.Mutex
	buffer  *bufio.Writer
	encoder *gob.Encoder

	mu      sync.Mutex
	waiting map[uint64]chan<- *reply
	last    uint64
	ended   error // set when no further reply can come
}

// startChild starts a process, which ends with life at the latest, and hands it the
// deadline of a call.
func startChild(life context.Context, o *Options, event func(agent.DriverEvent)) (*child, error) {
	c := &child{
		cmd:    exec.CommandContext(life, o.Command[0], append(o.Command[1:len(o.Command):len(o.Command)], o.Library)...),
		stderr: &tail{}, event: event, gone: make(chan struct{}), waiting: map[uint64]chan<- *reply{},
	}
	c.cmd.Env = append(os.Environ(), o.Env...)
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is for the parent
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, stdoutIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout = stdoutIn
	err = c.cmd.Start()
	stdoutIn.Close()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("start the process that reads the driver: %w", err)
	}
	c.stdin, c.buffer = stdin, bufio.NewWriter(stdin)
	c.encoder = gob.NewEncoder(c.buffer)
	go c.read(stdout)
	return c, c.write(o.Deadline)
}

// read hands out replies until the process ends.
func (c *child) read(stdout *os.File) {
	defer stdout.Close()
	replies := gob.NewDecoder(bufio.NewReader(stdout))
	for {
		r := &reply{}
		if err := replies.Decode(r); err != nil {
			break
		}
		if r.Event != nil {
			c.event(*r.Event)
			continue
		}
		c.mu.Lock()
		ch := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
	_ = c.cmd.Process.Kill() // garbage on the pipe counts as its end
	err := c.cmd.Wait()
	c.mu.Lock()
	c.ended = c.obituary(err)
	for id, ch := range c.waiting {
		delete(c.waiting, id)
		close(ch)
	}
	c.mu.Unlock()
	close(c.gone)
}

// obituary is why there are no more replies.
func (c *child) obituary(err error) error {
	if err == nil {
		err = io.EOF
	}
	if words := c.stderr.String(); words != "" {
		return fmt.Errorf("%w: %w: %s", errEnded, err, words)
	}
	return fmt.Errorf("%w: %w", errEnded, err)
}

func (c *child) write(v any) error {
	c.out.Lock()
	defer c.out.Unlock()
	if err := c.encoder.Encode(v); err != nil {
		return err
	}
	return c.buffer.Flush()
}

// ask sends a request and waits for its reply.
func (c *child) ask(ctx context.Context, req request) (*reply, error) {
	ch := make(chan *reply, 1)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return nil, c.ended
	}
	c.last++
	req.ID = c.last
	c.waiting[req.ID] = ch
	c.mu.Unlock()
	if err := c.write(req); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, err // with a broken pipe, read tells more
	}
	select {
	case r, ok := <-ch:
		if !ok {
			return nil, c.why()
		}
		return r, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, req.ID)
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

func (c *child) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// dead reports whether the process has ended.
func (c *child) dead() bool { return c.why() != nil }

func (c *child) kill() { _ = c.cmd.Process.Kill() }

// end has the process let go of everything: it is told to, then made to. A process that
// the kernel does not let go of is an error.
func (c *child) end(ctx context.Context) error {
	c.stdin.Close()
	for _, grace := range []time.Duration{time.Second, 5 * time.Second} {
		select {
		case <-c.gone:
			return nil
		case <-ctx.Done():
			c.kill()
			return ctx.Err()
		case <-time.After(grace):
			c.kill()
		}
	}
	return fmt.Errorf("%w: by our own process %d, which the kernel does not end", agent.ErrInUse, c.cmd.Process.Pid)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - 2000; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

// String is the last line that says something, or several when they are short.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return strings.TrimSpace(string(lines[0]))
}
