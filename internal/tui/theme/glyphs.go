package theme

// Glyphs are the symbols that the console draws with. Each is one cell wide.
type Glyphs struct {
	ASCII bool

	Full, Half, Empty     string // live, partly, down: ● ◐ ○
	Crit, Warn, Info      string // ✖ ▲ •
	Done, Failed, Waiting string // verdicts of steps: ✔ ✘ ◌
	Running, Skipped      string // ▶ –
	Stale, Prod           string // ◌ ◆
	Cursor, Mark          string // the row under the cursor, a marked row
	Up, Down              string // sorted; more above or below
	More, Less            string // columns hidden to the right, to the left
	Ellipsis              string // text was cut here
	Arrow                 string // from -> to

	Horizontal, Vertical                        string
	TopLeft, TopRight, BottomLeft, BottomRight  string
	TeeLeft, TeeRight, TeeDown, TeeUp, Crossing string
	Block, Shade                                string // full and empty cell of a bar
	Steps                                       []string
}

// NewGlyphs is the set to draw with; ascii for terminals without UTF-8.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{
			ASCII: true,
			Full:  "*", Half: "~", Empty: "o",
			Crit: "X", Warn: "!", Info: "i",
			Done: "+", Failed: "x", Waiting: ".",
			Running: ">", Skipped: "-",
			Stale: "?", Prod: "#",
			Cursor: ">", Mark: "*",
			Up: "^", Down: "v",
			More: ">", Less: "<",
			Ellipsis: "~", Arrow: ">",
			Horizontal: "-", Vertical: "|",
			TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
			TeeLeft: "+", TeeRight: "+", TeeDown: "+", TeeUp: "+", Crossing: "+",
			Block: "#", Shade: ".",
			Steps: []string{"_", ".", "-", "=", "+", "*", "#"},
		}
	}
	return Glyphs{
		Full: "●", Half: "◐", Empty: "○",
		Crit: "✖", Warn: "▲", Info: "•",
		Done: "✔", Failed: "✘", Waiting: "◌",
		Running: "▶", Skipped: "–",
		Stale: "◌", Prod: "◆",
		Cursor: "❯", Mark: "✓",
		Up: "▲", Down: "▼",
		More: "›", Less: "‹",
		Ellipsis: "…", Arrow: "→",
		Horizontal: "─", Vertical: "│",
		TopLeft: "┌", TopRight: "┐", BottomLeft: "└", BottomRight: "┘",
		TeeLeft: "├", TeeRight: "┤", TeeDown: "┬", TeeUp: "┴", Crossing: "┼",
		Block: "▇", Shade: "░",
		Steps: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	}
}

// Of is the symbol of a state; a space for names that are no states.
func (g Glyphs) Of(n Name) string {
	switch n {
	case Free:
		return g.Empty
	case OK, Busy:
		return g.Full
	case Draining:
		return g.Half
	case Warn:
		return g.Warn
	case Crit, Faulty:
		return g.Crit
	case Info:
		return g.Info
	case Stale:
		return g.Stale
	case Prod:
		return g.Prod
	case Mark:
		return g.Mark
	default:
		return " "
	}
}
