package tuitest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// echo shows its size, the last key or paste, and a counter of seconds.
type echo struct {
	width, height, seconds int
	last                   string
}

type second struct{}

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return second{} }) }

func (e *echo) Init() tea.Cmd { return tick() }

func (e *echo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		e.width, e.height = msg.Width, msg.Height
	case second:
		e.seconds++
		return e, tick()
	case tea.PasteMsg:
		e.last = "paste " + msg.Content
	case tea.KeyPressMsg:
		e.last = "key " + msg.String()
		if msg.String() == "q" {
			return e, tea.Quit
		}
	}
	return e, nil
}

func (e *echo) View() tea.View {
	v := tea.NewView(fmt.Sprintf("size %dx%d\nseconds %d\n\x1b[1;31m%s\x1b[m\nwide 漢字 end\n\x1b[7m reversed \x1b[m",
		e.width, e.height, e.seconds, e.last))
	v.AltScreen = true
	return v
}

func newEcho(*testing.T) tea.Model { return &echo{} }

func TestKeysArriveAsATerminalSendsThem(t *testing.T) {
	Run(t, 40, 6, newEcho, func(s *Screen) {
		s.Require("size 40x6")
		for _, key := range []string{"x", "G", "down", "pgup", "home", "esc", "enter", "space", "tab", "shift+tab", "ctrl+c", "backspace", "é"} {
			s.Press(key)
			s.Require("key " + key)
		}
		s.Paste("two words")
		s.Require("paste two words")
	})
}

func TestTimePassesAtOnce(t *testing.T) {
	Run(t, 40, 6, newEcho, func(s *Screen) {
		s.Advance(90 * time.Second)
		s.Settle()
		s.Require("seconds 90")
	})
}

func TestResizeAndStyles(t *testing.T) {
	Run(t, 40, 6, newEcho, func(s *Screen) {
		s.Resize(60, 8)
		s.Press("x")
		s.Require("size 60x8", "wide 漢字 end")
		s.Forbid("size 40x6")
		x, y, ok := s.Find("key x")
		if !ok || s.Cell(x, y).Style.Attrs&uv.AttrBold == 0 {
			t.Errorf("cell %+v is not bold", s.Cell(x, y))
		}
		if x, _, _ := s.Find("end"); x != len("wide ")+4+1 {
			t.Errorf("text after wide characters is found at %d", x)
		}
		s.Golden("after")
	})
}

func TestQuitLeavesTheTerminalAsItWas(t *testing.T) {
	Run(t, 40, 6, newEcho, func(s *Screen) {
		if !s.AltScreen() {
			t.Error("not on the alternate screen")
		}
		s.Press("q")
		if _, err, ended := s.Ended(); !ended || err != nil {
			t.Errorf("ended %v, %v", ended, err)
		}
		if s.AltScreen() || s.CursorHidden() {
			t.Error("the terminal is not as it was")
		}
		s.Press("x") // nobody reads; must not hang
	})
}

func TestBytesCountWhatChanged(t *testing.T) {
	Run(t, 40, 6, newEcho, func(s *Screen) {
		if s.Bytes() == 0 {
			t.Error("the first frame cost nothing")
		}
		s.Settle()
		if n := s.Bytes(); n != 0 {
			t.Errorf("an idle screen costs %d bytes", n)
		}
		s.Advance(time.Second)
		s.Settle()
		if n := s.Bytes(); n == 0 || n > 60 {
			t.Errorf("one changed digit costs %d bytes", n)
		}
	})
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	Run(t, 40, 6, newEcho, func(s *Screen) {
		s.Press("<")
		if err := s.WriteSVG(&b, "a <title>"); err != nil {
			t.Fatal(err)
		}
	})
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"key &lt;", "fill:#f47067;font-weight:bold", "漢字", "<rect x="} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
