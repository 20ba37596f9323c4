package tuitest

import (
	"io"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func cellWidth(s string) int { return ansi.StringWidth(s) }

// sequences are the bytes that a terminal sends for keys that are no characters.
var sequences = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdown": "\x1b[6~", "delete": "\x1b[3~",
}

// bytesOf is what a terminal sends for a key named as in tea.KeyPressMsg.String.
func bytesOf(key string) (string, bool) {
	if seq, ok := sequences[key]; ok {
		return seq, true
	}
	if letter, ok := cutCtrl(key); ok {
		return string(letter & 0x1f), true
	}
	return key, utf8.RuneCountInString(key) == 1
}

func cutCtrl(key string) (rune, bool) {
	const ctrl = "ctrl+"
	if len(key) == len(ctrl)+1 && key[:len(ctrl)] == ctrl {
		return rune(key[len(ctrl)]), true
	}
	return 0, false
}

// Press types keys one after the other, as an operator does, and settles after
// each: "d", "enter", "ctrl+c", "pgdown".
func (s *Screen) Press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		seq, ok := bytesOf(k)
		if !ok {
			s.t.Fatalf("no such key: %q", k)
		}
		s.write(seq)
		s.Settle()
	}
}

// Type types text all at once, as keys that had queued up, and settles.
func (s *Screen) Type(text string) {
	s.write(text)
	s.Settle()
}

// Paste pastes text with the brackets that tell a paste from typing, and settles.
func (s *Screen) Paste(text string) {
	s.write(ansi.BracketedPasteStart + text + ansi.BracketedPasteEnd)
	s.Settle()
}

// write gives up when the program has quit: nobody reads keys any more.
func (s *Screen) write(seq string) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(s.keys, seq)
	}()
	select {
	case <-sent:
	case <-s.done:
	}
}

// Hold sends a key n times, one every that often, as a key held down does.
func (s *Screen) Hold(key string, n int, every time.Duration) {
	s.t.Helper()
	seq, ok := bytesOf(key)
	if !ok {
		s.t.Fatalf("no such key: %q", key)
	}
	for range n {
		s.write(seq)
		s.Advance(every)
	}
}
