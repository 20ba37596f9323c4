package tuitest

import (
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// What pictures look like where the program leaves it to the terminal.
var (
	defaultForeground = color.RGBA{0xd7, 0xdc, 0xe5, 0xff}
	defaultBackground = color.RGBA{0x15, 0x18, 0x1e, 0xff}
)

// basic are the 16 colours of the terminal in pictures.
var basic = [16]string{
	"#2a2f38", "#f47067", "#6bc46d", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#c5ccd6",
	"#768390", "#ff938a", "#8ddb8c", "#eac55f", "#96d0ff", "#eed3ff", "#76e3ea", "#ffffff",
}

// Cells in pictures, in units of the SVG.
const (
	cellW    = 8.4
	cellH    = 17
	fontSize = 14
	edge     = 12
	baseline = 13
)

// svgRun is neighbouring cells of one style.
type svgRun struct {
	x, cells int
	text     string
	style    uv.Style
}

// picture writes a screen as SVG.
type picture struct {
	strings.Builder
	fg, bg  string
	classes map[string]string // declarations -> class
	order   []string
}

// WriteSVG writes the screen as a picture with text that can be selected.
func (s *Screen) WriteSVG(w io.Writer, title string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &picture{classes: map[string]string{}, fg: hex(s.term.ForegroundColor()), bg: hex(s.term.BackgroundColor())}
	for y := range s.term.Height() {
		for _, r := range runs(s.term, y) {
			p.run(r, y)
		}
	}
	_, err := io.WriteString(w, p.document(s.term.Width(), s.term.Height(), title))
	return err
}

// grid is what runs reads: a terminal.
type grid interface {
	Width() int
	CellAt(x, y int) *uv.Cell
}

func runs(g grid, y int) []svgRun {
	var all []svgRun
	for x := range g.Width() {
		c := g.CellAt(x, y)
		var style uv.Style
		if c != nil {
			style = c.Style
		}
		if n := len(all) - 1; n >= 0 && all[n].style.Equal(&style) {
			all[n].text += content(c)
			all[n].cells++
			continue
		}
		all = append(all, svgRun{x: x, cells: 1, text: content(c), style: style})
	}
	return all
}

func (p *picture) run(r svgRun, y int) {
	fg, bg := p.colour(r.style.Fg, p.fg), p.colour(r.style.Bg, p.bg)
	if r.style.Attrs&uv.AttrReverse != 0 {
		fg, bg = bg, fg
	}
	x := edge + float64(r.x)*cellW
	if bg != p.bg {
		fmt.Fprintf(&p.Builder, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, edge+y*cellH, float64(r.cells)*cellW, cellH, bg)
	}
	// Viewers fold spaces, so each stretch between wide gaps is placed by itself.
	for text := range strings.SplitSeq(r.text, "  ") {
		p.text(text, x, edge+y*cellH+baseline, p.class(fg, r.style))
		x += float64(ansi.StringWidth(text)+2) * cellW
	}
}

func (p *picture) text(text string, x float64, y int, class string) {
	trimmed := strings.TrimLeft(text, " ")
	x += float64(len(text)-len(trimmed)) * cellW
	trimmed = strings.TrimRight(trimmed, " ")
	if trimmed == "" {
		return
	}
	fmt.Fprintf(&p.Builder, `<text x="%.1f" y="%d" textLength="%.1f" class="%s">`,
		x, y, float64(ansi.StringWidth(trimmed))*cellW, class)
	_ = xml.EscapeText(p, []byte(trimmed)) // a strings.Builder takes everything
	p.WriteString("</text>\n")
}

// class names a style once, which keeps the picture small.
func (p *picture) class(fg string, s uv.Style) string {
	css := "fill:" + fg
	if s.Attrs&uv.AttrBold != 0 {
		css += ";font-weight:bold"
	}
	if s.Attrs&uv.AttrFaint != 0 {
		css += ";opacity:.65"
	}
	if s.Underline != uv.UnderlineNone {
		css += ";text-decoration:underline"
	}
	if p.classes[css] == "" {
		p.classes[css] = fmt.Sprintf("s%d", len(p.classes))
		p.order = append(p.order, css)
	}
	return p.classes[css]
}

func (p *picture) document(width, height int, title string) string {
	var b strings.Builder
	w, h := 2*edge+float64(width)*cellW, 2*edge+height*cellH
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">`+"\n<title>", w, h, w, h)
	_ = xml.EscapeText(&b, []byte(title))
	fmt.Fprintf(&b, "</title>\n<style>text{font:%dpx ui-monospace,Menlo,'DejaVu Sans Mono',Consolas,monospace}", fontSize)
	for _, css := range p.order {
		fmt.Fprintf(&b, ".%s{%s}", p.classes[css], css)
	}
	fmt.Fprintf(&b, "</style>\n"+`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n%s</svg>\n", p.bg, p.String())
	return b.String()
}

func (p *picture) colour(c color.Color, otherwise string) string {
	switch c := c.(type) {
	case nil:
		return otherwise
	case ansi.BasicColor:
		return basic[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return basic[c]
		}
	}
	return hex(c)
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
