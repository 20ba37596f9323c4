package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gpuctl/gpuctl/internal/tui/line"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
)

// Message shows a text until it is closed.
type Message struct {
	box
	text func(width int) []string
}

// NewMessage shows lines that text lays out, already styled, for a given width.
func NewMessage(th *theme.Theme, title string, text func(width int) []string) *Message {
	return &Message{box: box{th: th, title: title}, text: text}
}

// Plain is a text for NewMessage without styles, its line breaks kept.
func Plain(text string) func(width int) []string {
	return func(width int) []string {
		var lines []string
		for l := range strings.SplitSeq(text, "\n") {
			lines = append(lines, line.Wrap(line.Clean(l), width)...)
		}
		return lines
	}
}

// Early takes the keys that scroll.
func (m *Message) Early(k tea.KeyPressMsg) bool {
	name := k.String()
	return name != "esc" && name != "q" && name != "enter"
}

// Paste is refused: there is no field.
func (m *Message) Paste(string) bool { return false }

// Press takes a key.
func (m *Message) Press(k tea.KeyPressMsg) (bool, Answer) {
	if m.scroll(k, true) {
		return false, nil
	}
	return !m.Early(k), nil
}

// View draws the text.
func (m *Message) View(width, height int) string {
	foot := m.th.Paint(theme.Key, "Esc") + " close"
	return m.view(m.text(inner(width)), []string{foot}, width, height)
}
