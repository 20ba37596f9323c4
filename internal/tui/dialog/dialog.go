// Package dialog holds the boxes that ask: confirm a plan, fill in a form, choose
// from a menu, read a text; and the stack that they lie on.
//
//	key -> Stack.Press -> top dialog -> closed? removed, then its answer is called
//
// Keys typed before a dialog was drawn never answer it: until it has been drawn
// and no key has come for Quiet, keys that would answer are swallowed and counted.
// The caller gives the time of each key; nothing here reads a clock.
package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
)

// Quiet is how long no key must have come before a new dialog takes an answer.
const Quiet = 300 * time.Millisecond

// Answer is what to do once a dialog has closed; nil is nothing. It runs on the
// goroutine of Press and may open another dialog.
type Answer func() tea.Cmd

// Dialog is one box.
type Dialog interface {
	// Press takes a key. When done, the dialog is removed, and then answer is called.
	Press(k tea.KeyPressMsg) (done bool, answer Answer)
	// Paste takes pasted text; false when the dialog has no field for it.
	Paste(text string) bool
	// Early tells whether a key may be taken before the dialog was seen, because it
	// answers nothing.
	Early(k tea.KeyPressMsg) bool
	// View draws the box, at most width x height cells.
	View(width, height int) string
}

// Stack is the dialogs that are open; only the top one is drawn and gets keys.
type Stack struct {
	open      []*entry
	swallowed int
}

type entry struct {
	Dialog
	drawn bool
	quiet time.Time // no answer was wanted since
}

// Open puts a dialog on top.
func (s *Stack) Open(d Dialog, now time.Time) {
	s.open = append(s.open, &entry{Dialog: d, quiet: now})
	s.swallowed = 0
}

// Close removes the top dialog without an answer.
func (s *Stack) Close() {
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
}

// Top is the dialog on top; nil when none is open.
func (s *Stack) Top() Dialog {
	if len(s.open) == 0 {
		return nil
	}
	return s.open[len(s.open)-1].Dialog
}

// Press gives a key to the top dialog. now is when the key arrived.
func (s *Stack) Press(k tea.KeyPressMsg, now time.Time) tea.Cmd {
	if len(s.open) == 0 {
		return nil
	}
	top := s.open[len(s.open)-1]
	if early := !top.drawn || now.Sub(top.quiet) < Quiet; early && !top.Early(k) {
		top.quiet = now
		s.swallowed++
		return nil
	}
	done, answer := top.Press(k)
	if !done {
		return nil
	}
	s.Close()
	if answer == nil {
		return nil
	}
	return answer()
}

// Paste gives pasted text to the top dialog; false when nothing takes it.
func (s *Stack) Paste(text string) bool {
	return len(s.open) > 0 && s.open[len(s.open)-1].Paste(text)
}

// Notice says how many keys were swallowed because they came too early.
func (s *Stack) Notice() string {
	switch s.swallowed {
	case 0:
		return ""
	case 1:
		return "a key typed before the dialog was drawn is ignored; press it again"
	}
	return fmt.Sprintf("%d keys typed before the dialog was drawn are ignored", s.swallowed)
}

// View draws the top dialog over the screen behind it, which is width x height.
func (s *Stack) View(behind string, width, height int) string {
	if len(s.open) == 0 || width <= 0 || height <= 0 {
		return behind
	}
	top := s.open[len(s.open)-1]
	top.drawn = true
	box := top.View(width, height)
	first, _, _ := strings.Cut(box, "\n")
	x := (width - line.Width(first)) / 2
	y := (height - strings.Count(box, "\n") - 1) / 2
	return line.Over(behind, box, max(x, 0), max(y, 0))
}
