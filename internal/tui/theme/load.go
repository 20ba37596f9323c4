package theme

import (
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/themes"
)

// Default is the theme used when none is chosen.
const Default = "terminal"

// ErrUnknown is returned for a theme that is neither the user's nor shipped.
var ErrUnknown = errors.New("unknown theme")

// spec is one style as a theme file says it.
type spec struct {
	FG        string `json:"fg,omitempty"`
	BG        string `json:"bg,omitempty"`
	Bold      bool   `json:"bold,omitempty"`
	Faint     bool   `json:"faint,omitempty"`
	Underline bool   `json:"underline,omitempty"`
	Reverse   bool   `json:"reverse,omitempty"`
}

// file is a theme file.
type file struct {
	Description string          `json:"description"`
	Base        string          `json:"base,omitempty"`
	Background  string          `json:"background,omitempty"`
	Styles      map[string]spec `json:"styles"`
}

// Choose is the theme to load: mono where the environment asks for no colours,
// else the configured one, else the default.
func Choose(configured string, getenv func(string) string) string {
	switch {
	case getenv("NO_COLOR") != "" || getenv("TERM") == "dumb":
		return "mono"
	case configured != "":
		return configured
	}
	return Default
}

// List names the themes that can be loaded, sorted. user may be nil.
func List(user fs.FS) []string {
	var found []string
	for _, dir := range []fs.FS{themes.FS, user} {
		if dir == nil {
			continue
		}
		files, _ := fs.Glob(dir, "*.yaml")
		for _, f := range files {
			found = append(found, strings.TrimSuffix(f, ".yaml"))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Load reads the theme NAME.yaml: the user's own if there is one, else the
// shipped one. user may be nil.
func Load(name string, user fs.FS) (*Theme, error) {
	return load(name, user, nil)
}

// load follows base; seen stops a theme that rests on itself.
func load(name string, user fs.FS, seen []string) (*Theme, error) {
	if slices.Contains(seen, name) && slices.Contains(List(nil), name) {
		user = nil // a user's dark may be based on the shipped dark
	} else if slices.Contains(seen, name) {
		return nil, fmt.Errorf("theme %s: rests on itself", name)
	}
	data, err := read(name, user)
	if err != nil {
		return nil, err
	}
	var f file
	if err = yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, fmt.Errorf("theme %s: %w", name, err)
	}
	t, err := base(name, f.Base, user, append(seen, name))
	if err != nil {
		return nil, err
	}
	t.Title, t.Description = name, f.Description
	if err := t.apply(f); err != nil {
		return nil, fmt.Errorf("theme %s: %w", name, err)
	}
	return t, nil
}

func base(name, parent string, user fs.FS, seen []string) (*Theme, error) {
	switch {
	case parent != "":
		return load(parent, user, seen)
	case name == Default:
		return &Theme{Glyphs: NewGlyphs(false)}, nil
	}
	return load(Default, nil, nil)
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func read(name string, user fs.FS) ([]byte, error) {
	if !goodName.MatchString(name) {
		return nil, fmt.Errorf("theme %q: %w", name, ErrUnknown)
	}
	for _, dir := range []fs.FS{user, themes.FS} {
		if dir == nil {
			continue
		}
		data, err := fs.ReadFile(dir, name+".yaml")
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("theme %s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("theme %s: %w; there are %s", name, ErrUnknown, strings.Join(List(user), ", "))
}

func (t *Theme) apply(f file) error {
	if f.Background != "" {
		c, err := parseColour(f.Background)
		if err != nil {
			return fmt.Errorf("background: %w", err)
		}
		t.Background = c
	}
	for word := range f.Styles {
		if !slices.Contains(nameWords[:], word) {
			return fmt.Errorf("style %q is none of %s", word, strings.Join(nameWords[:], ", "))
		}
	}
	// Selection first: the others are painted over it in the selected row.
	for _, n := range append([]Name{Selection}, Names()...) {
		s, given := f.Styles[n.String()]
		if !given {
			s = t.looks[n].spec
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("style %s: %w", n, err)
		}
		t.set(n, s)
	}
	return nil
}

func (s spec) check() error {
	for _, c := range []string{s.FG, s.BG} {
		if c == "" {
			continue
		}
		if _, err := parseColour(c); err != nil {
			return err
		}
	}
	return nil
}

func (s spec) style() lipgloss.Style {
	st := lipgloss.NewStyle().Bold(s.Bold).Faint(s.Faint).Underline(s.Underline).Reverse(s.Reverse)
	if c, err := parseColour(s.FG); err == nil {
		st = st.Foreground(c)
	}
	if c, err := parseColour(s.BG); err == nil {
		st = st.Background(c)
	}
	return st
}

// on is s in the row under the cursor. A selection that only sets a background
// keeps the colours of the text; one that reverses or sets a foreground makes
// the row one even bar, since nobody chose those colours to go together.
func (s spec) on(sel spec) spec {
	out := sel
	out.Bold = s.Bold || sel.Bold
	out.Underline = s.Underline || sel.Underline
	if sel.FG == "" && !sel.Reverse {
		out.FG, out.Faint = s.FG, s.Faint
		if s.BG != "" {
			out.BG = s.BG
		}
	}
	return out
}

var colourWords = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

var hexColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// parseColour reads a colour name, a number from 0 to 255, or #rrggbb.
func parseColour(s string) (color.Color, error) {
	word, bright := strings.CutPrefix(s, "bright-")
	if i := slices.Index(colourWords, word); i >= 0 {
		if bright {
			i += len(colourWords)
		}
		return lipgloss.Color(strconv.Itoa(i)), nil
	}
	if n, err := strconv.ParseUint(s, 10, 8); err == nil {
		return lipgloss.Color(strconv.FormatUint(n, 10)), nil
	}
	if hexColour.MatchString(s) {
		return lipgloss.Color(s), nil
	}
	return nil, fmt.Errorf("colour %q is none of red, bright-red, 0 to 255, #rrggbb", s)
}
