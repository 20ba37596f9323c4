// Command gpuctl is a terminal operations console for GPU fleets that are run by
// Slurm and Kubernetes.
//
// This package holds flags and wiring only, one file for each command.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings as arguments. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	root := newRoot(&app{stdout: out, stderr: stderr})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if out.err != nil { // what was not printed was not done
		err = fail(exitFailed, out.err)
	}
	if err == nil {
		return exitDone
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitUsage, err: err}
	}
	if e.err != nil {
		for text := range strings.SplitSeq(e.err.Error(), "\n") { // joined errors have a line each
			say(stderr, "gpuctl: %s", text)
		}
	}
	return e.code
}

// output remembers that something could not be printed: on a full disk a list is not
// a short list.
type output struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}
