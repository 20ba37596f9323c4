package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// agentOnce prints one reading.
func (a *app) agentOnce(ctx context.Context, f *agentFlags, s *agent.Sampler) error {
	state, err := s.Next(ctx, nil)
	if err != nil {
		return fail(exitFailed, err)
	}
	if err := s.Err(); err != nil {
		return fail(exitRefused, fmt.Errorf("the GPUs cannot be read: %w", err))
	}
	if f.output == "json" {
		return fail(exitFailed, wire.Write(a.stdout, wire.Frame{Sample: &wire.Sample{Seq: 1, At: state.At, Full: true, Node: &state.Node, GPUs: state.GPUs}}))
	}
	return a.agentTable(state, f.output == "wide")
}

func (a *app) agentTable(s *agent.State, wide bool) error {
	node := &fleet.Node{Name: s.Node.Host, GPUs: slices.Clone(s.GPUs), Agent: &s.Node}
	fmt.Fprintf(a.stdout, "%s  driver %s  CUDA %s  %d GPUs of %d\n", node.Name, s.Node.Driver, s.Node.CUDA, s.Node.Present, s.Node.Expected)
	var rows []row
	for i := range node.GPUs {
		rows = append(rows, row{cells: gpuCells(node, &node.GPUs[i], s.At)})
	}
	if err := printTable(a.stdout, wide, gpuResource().columns, rows); err != nil {
		return fail(exitFailed, err)
	}
	for i := range s.GPUs {
		for _, c := range s.GPUs[i].Checks {
			a.agentCheck(fmt.Sprintf("GPU %d", s.GPUs[i].Index), c)
		}
	}
	for _, c := range s.Node.Checks {
		a.agentCheck("node", c)
	}
	for _, p := range s.Node.Problems {
		fmt.Fprintf(a.stdout, "problem  %s\n", p)
	}
	return nil
}

// agentCheck prints a check unless it is well or does not apply.
func (a *app) agentCheck(of string, c fleet.Check) {
	if c.Result != fleet.CheckOK && c.Result != fleet.CheckNotApplicable {
		fmt.Fprintf(a.stdout, "%s  %s  %s: %s\n", c.Result, of, c.Name, c.Text)
	}
}

// stdio is standard input and output as one stream. Closing it ends a Read that waits.
type stdio struct {
	io.Reader
	io.Writer
	in *os.File
}

// newStdio takes standard input over. A pipe or socket is made non-blocking, so that
// Close can end a Read; a terminal is left alone, for its settings are shared.
func newStdio(out io.Writer) *stdio {
	in := os.Stdin
	if info, err := in.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		if err := syscall.SetNonblock(0, true); err == nil {
			in = os.NewFile(0, "stdin")
		}
	}
	return &stdio{Reader: in, Writer: out, in: in}
}

func (s *stdio) Close() error { return s.in.Close() }

// bridge passes everything on to the service of this machine, and back.
func bridge(ctx context.Context, service net.Conn, in io.Reader, out io.Writer) error {
	defer context.AfterFunc(ctx, func() { service.Close() })()
	defer service.Close()
	go func() {
		_, _ = io.Copy(service, in) // what is wrong with it shows on the other way
		service.Close()
	}()
	_, err := io.Copy(out, service)
	if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
		return nil
	}
	return fail(exitFailed, err)
}

// sudoer names who started us through sudo.
func sudoer() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return " (sudo by " + name + ")"
	}
	return ""
}

// versionNumber is the version for other machines.
func versionNumber() string {
	if version != "" {
		return version
	}
	return "development"
}
