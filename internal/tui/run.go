package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// ErrLostTerminal is returned when the terminal went away under the console.
var ErrLostTerminal = errors.New("the terminal is gone")

// Run shows the console on the terminal until the operator quits, ctx ends, the
// process is told to end (SIGTERM, SIGHUP), or the terminal goes away. In every
// case, and after a panic, the terminal is left as it was found.
func Run(ctx context.Context, opt Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGTERM)
	defer stop()
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	m, err := New(ctx, opt)
	if err != nil {
		return err
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(&watchedInput{os.Stdin, lose}))
	_, err = p.Run()
	switch {
	case errors.Is(context.Cause(ctx), ErrLostTerminal):
		return ErrLostTerminal
	case err == nil, ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return fmt.Errorf("console: %w", err)
}

// watchedInput is the terminal as input. Bubble Tea goes on without a word when its
// input ends, so a console whose terminal closed would live for ever.
type watchedInput struct {
	*os.File
	lose context.CancelCauseFunc
}

// Read reads keys, and ends the console when there will be no more.
func (w *watchedInput) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) {
		w.lose(ErrLostTerminal)
	}
	return n, err
}
