package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gpuctl/gpuctl/internal/remote"
)

// The exit statuses with which a shell says that there is no such command, that it
// cannot be run, or that gpuctl has no use there.
const (
	exitNotFound      = 127
	exitNotExecutable = 126
	exitRefused       = 3 // of gpuctl itself: it cannot work here
)

// SSHWay starts an agent on the node itself, over SSH.
type SSHWay struct {
	Pool *remote.Pool
	// Host is how a node is reached: the name is put in for each.
	Host remote.Host
	// Command is the argv of the agent; `gpuctl agent --stdio` unless set.
	Command []string
	Name    string // of the way, for people; "ssh" unless set
}

// Dial implements Way. The agent lives until the stream is closed or ctx ends.
func (w *SSHWay) Dial(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	argv := w.Command
	if len(argv) == 0 {
		argv = []string{"gpuctl", "agent", "--stdio"}
	}
	p, err := w.conn(host).Start(ctx, argv)
	if err != nil {
		return nil, err
	}
	return detach(&processReader{p: p, command: argv[0]}, p.Stdin, p.Close), nil
}

// Output is what a command left.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// Run runs a command on the node. One that ran and failed is no error.
func (w *SSHWay) Run(ctx context.Context, host string, argv []string) (Output, error) {
	r, err := w.conn(host).Run(ctx, argv)
	return Output(r), err
}

// Forget ends the connection to a node that is not wanted any more.
func (w *SSHWay) Forget(host string) { _ = w.conn(host).Close() }

func (w *SSHWay) conn(host string) *remote.Conn {
	h := w.Host
	h.Alias = host
	return w.Pool.Conn(h)
}

// Via implements Way.
func (w *SSHWay) Via(host string) string {
	name := w.Name
	if name == "" {
		name = "ssh"
	}
	if host == "" {
		return name
	}
	return name + " " + host
}

// processReader reads what a process writes, and at its end says why it ended.
type processReader struct {
	p       *remote.Process
	command string
}

// Read implements io.Reader.
func (r *processReader) Read(b []byte) (int, error) {
	n, err := r.p.Stdout.Read(b)
	if errors.Is(err, io.EOF) {
		err = r.end()
	}
	return n, err
}

func (r *processReader) end() error {
	exit, err := r.p.Wait()
	if err != nil {
		return err
	}
	said := lastLine(r.p.Stderr())
	switch {
	case exit == exitNotFound, exit == exitNotExecutable:
		return fmt.Errorf("%w: %s cannot be run: %s", ErrNoAgent, r.command, said)
	case exit == exitRefused:
		return fmt.Errorf("%w of use: %s", ErrNoAgent, said)
	case exit != 0:
		return fmt.Errorf("the agent ended with exit status %d: %s", exit, said)
	}
	return io.EOF
}

// lastLine is the last line that says something, not too long.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) == 0 {
		return "it said nothing"
	}
	return string(bytes.ToValidUTF8(text[:min(len(text), 200)], []byte("?")))
}
