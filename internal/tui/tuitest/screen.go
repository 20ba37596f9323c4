// Package tuitest runs a Bubble Tea model on a terminal inside the test: keys go in
// as the bytes a terminal sends, the screen is read back cell by cell.
//
// Everything runs in a bubble of testing/synctest: waiting is for idleness, never
// for time, and minutes of fake time pass at once. The terminal is x/vt behind a
// lock of its own; it answers no queries, like a terminal over a silent line.
package tuitest

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/charmbracelet/x/vt"
)

// settle is fake time enough for the escape key to be told from a sequence and
// for a frame to be drawn after it.
const settle = 120 * time.Millisecond

// linger is fake time for timers of the program to end after it has quit.
const linger = time.Minute

// Screen is a terminal with a program running on it.
type Screen struct {
	t       *testing.T
	program *tea.Program
	keys    *io.PipeWriter
	done    chan struct{}
	final   tea.Model
	err     error

	mu    sync.Mutex // guards term and bytes: the program draws from its own goroutine
	term  *vt.Emulator
	bytes int
}

// Run starts the model that start makes on a terminal of that size, runs script
// on it, and quits the program. start and script run in the bubble: channels that
// the model waits on must be made in start, and closed by a t.Cleanup there or by
// script, or the bubble cannot end.
func Run(t *testing.T, width, height int, start func(t *testing.T) tea.Model, script func(s *Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, width, height, start(t))
		defer s.close()
		s.Settle()
		script(s)
	})
}

func open(t *testing.T, width, height int, m tea.Model) *Screen {
	in, keys := io.Pipe()
	s := &Screen{t: t, keys: keys, done: make(chan struct{}), term: vt.NewEmulator(width, height)}
	s.term.SetDefaultForegroundColor(defaultForeground)
	s.term.SetDefaultBackgroundColor(defaultBackground)
	s.program = tea.NewProgram(m,
		tea.WithInput(in),
		tea.WithOutput(s),
		tea.WithWindowSize(width, height),
		tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}),
		tea.WithoutSignalHandler(),
	)
	go func() { _, _ = io.Copy(io.Discard, s.term) }() // its answers; ends in close
	go func() {
		defer close(s.done)
		s.final, s.err = s.program.Run()
	}()
	return s
}

func (s *Screen) close() {
	s.program.Quit()
	<-s.done
	_ = s.keys.Close()
	if pipe, ok := s.term.InputPipe().(io.Closer); ok {
		_ = pipe.Close()
	}
	time.Sleep(linger)
}

// Write is the terminal's side of what the program prints. Without a tty the
// program leaves it to the terminal to turn a line feed into a new line.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += len(p)
	if _, err := s.term.WriteString(strings.ReplaceAll(string(p), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Settle waits until the program has nothing left to do but wait, and has drawn.
func (s *Screen) Settle() { s.Advance(settle) }

// Advance lets fake time pass, then waits until the program is idle.
func (s *Screen) Advance(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

// Send gives the program a message and settles.
func (s *Screen) Send(msg tea.Msg) {
	s.program.Send(msg)
	s.Settle()
}

// Resize changes the size of the terminal and settles.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	s.term.Resize(width, height)
	s.mu.Unlock()
	s.Send(tea.WindowSizeMsg{Width: width, Height: height})
}

// Ended tells whether the program has quit by itself, and with what.
func (s *Screen) Ended() (final tea.Model, err error, ended bool) {
	select {
	case <-s.done:
		return s.final, s.err, true
	default:
		return nil, nil, false
	}
}

// Lines are the lines of the screen as text, spaces at their ends cut off.
func (s *Screen) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, s.term.Height())
	for y := range lines {
		var b strings.Builder
		for x := range s.term.Width() {
			b.WriteString(content(s.term.CellAt(x, y)))
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// content is what a cell shows; the second half of a wide character shows nothing.
func content(c *uv.Cell) string {
	switch {
	case c == nil || (c.Content == "" && c.Width > 0):
		return " "
	case c.Width == 0:
		return ""
	}
	return c.Content
}

// Text is the screen as text.
func (s *Screen) Text() string { return strings.Join(s.Lines(), "\n") }

// Has tells whether the screen shows the text on one line.
func (s *Screen) Has(text string) bool {
	_, _, ok := s.Find(text)
	return ok
}

// Find is the cell where the text first begins.
func (s *Screen) Find(text string) (x, y int, ok bool) {
	for y, l := range s.Lines() {
		if before, _, found := strings.Cut(l, text); found {
			return cellWidth(before), y, true
		}
	}
	return 0, 0, false
}

// Require fails the test unless the screen shows all these texts.
func (s *Screen) Require(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !s.Has(text) {
			s.t.Fatalf("the screen does not show %q:\n%s", text, s.Text())
		}
	}
}

// Forbid fails the test if the screen shows any of these texts.
func (s *Screen) Forbid(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if s.Has(text) {
			s.t.Fatalf("the screen shows %q:\n%s", text, s.Text())
		}
	}
}

// Cell is a copy of one cell, with its style.
func (s *Screen) Cell(x, y int) uv.Cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.term.CellAt(x, y); c != nil {
		return *c
	}
	return uv.EmptyCell
}

// AltScreen tells whether the program has the alternate screen: false after it has
// quit and left the terminal as it was.
func (s *Screen) AltScreen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.IsAltScreen()
}

// CursorHidden tells whether the terminal's cursor is hidden.
func (s *Screen) CursorHidden() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.CursorHidden()
}

// Bytes is how much the program has printed since the last call: the cost over a
// slow line.
func (s *Screen) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.bytes
	s.bytes = 0
	return n
}

// Golden compares the text of the screen with testdata/TEST/name.golden; go test
// -update rewrites it.
func (s *Screen) Golden(name string) {
	s.t.Helper()
	golden.RequireEqual(named{s.t, s.t.Name() + "/" + name}, s.Text()+"\n")
}

// named is a test under another name: a bubble cannot hold subtests.
type named struct {
	testing.TB
	name string
}

// Name is where the golden file lies.
func (n named) Name() string { return n.name }
