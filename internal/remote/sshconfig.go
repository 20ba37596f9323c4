package remote

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settings is what ssh_config(5) files say about one host.
type settings struct {
	first map[string]setting  // by lower-case keyword; the first value obtained wins
	many  map[string][]string // keywords that add up
	notes []string            // what was read and does not apply, for error texts
}

// setting is the value of one keyword and where it stands.
type setting struct {
	args []string
	rest string // the line after the keyword, unsplit
	at   string // "/etc/ssh/ssh_config:12"
	rank int    // how many keywords were set before it
}

func (s *settings) value(key string) string {
	if v := s.first[key]; len(v.args) > 0 {
		return v.args[0]
	}
	return ""
}

// sshConfig reads ssh_config(5) files for one alias. It is its own reader because
// a widespread default (RHEL's "Match final all") and Match by user must work, and
// because "Match exec" must not.
type sshConfig struct {
	alias, user, localUser string
	home                   string
	base                   string // what relative Include patterns are relative to
	final                  bool   // the second pass, for "Match final"
	sawFinal               bool
	out                    settings
}

// maxInclude is the depth at which ssh(1) stops too.
const maxInclude = 16

// read evaluates files in order; one that does not exist says nothing.
func (c *sshConfig) read(files []string) error {
	c.out = settings{first: map[string]setting{}, many: map[string][]string{}}
	for range 2 {
		for _, f := range files {
			c.base = filepath.Dir(f)
			if err := c.file(f, 0); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("%w: %w", ErrConfig, err)
			}
		}
		if !c.sawFinal {
			break
		}
		c.final = true
	}
	return nil
}

func (c *sshConfig) file(path string, depth int) error {
	if depth > maxInclude {
		return fmt.Errorf("read %s: files include each other too deeply", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	active := true
	for i, line := range strings.Split(string(text), "\n") {
		at := fmt.Sprintf("%s:%d", path, i+1)
		key, rest := cutKeyword(line)
		if key == "" {
			continue
		}
		args, err := splitArgs(rest)
		if err != nil {
			c.note("%s: %v, the line is left out", at, err)
			continue
		}
		switch {
		case key == "host":
			active = matchPatterns(args, c.alias)
		case key == "match":
			active = c.match(args, at)
		case !active:
		case key == "include":
			if err := c.include(args, depth); err != nil {
				return err
			}
		default:
			c.set(key, setting{args: args, rest: rest, at: at})
		}
	}
	return nil
}

// note remembers something for error texts, once.
func (c *sshConfig) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(c.out.notes, text) {
		return
	}
	c.out.notes = append(c.out.notes, text)
}

func (c *sshConfig) set(key string, v setting) {
	if len(v.args) == 0 {
		return
	}
	if key == "identityfile" || key == "certificatefile" {
		if slices.Contains(c.out.many[key], v.args[0]) {
			return
		}
		c.out.many[key] = append(c.out.many[key], v.args[0])
		return
	}
	if _, ok := c.out.first[key]; !ok {
		v.rank = len(c.out.first)
		c.out.first[key] = v
	}
}

// include reads files by pattern; a relative one is relative to the folder of the
// outermost file: ~/.ssh or /etc/ssh for the files ssh(1) reads.
func (c *sshConfig) include(patterns []string, depth int) error {
	for _, p := range patterns {
		p = expandHome(p, c.home)
		if !filepath.IsAbs(p) {
			p = filepath.Join(c.base, p)
		}
		files, err := filepath.Glob(p)
		if err != nil {
			return fmt.Errorf("include %s: %w", p, err)
		}
		for _, f := range files {
			if err := c.file(f, depth+1); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// match evaluates the criteria of a Match line. All must hold; one that is not
// known here holds never, and is noted.
func (c *sshConfig) match(args []string, at string) bool {
	holds := len(args) > 0
	for i := 0; i < len(args); i++ {
		word := strings.ToLower(args[i])
		name := strings.TrimPrefix(word, "!")
		var ok bool
		switch name {
		case "all":
			ok = true
		case "final", "canonical":
			c.sawFinal = c.sawFinal || name == "final"
			ok = c.final
		default:
			i++
			if i == len(args) {
				return false
			}
			var known bool
			if ok, known = c.criterion(name, strings.Split(args[i], ",")); !known {
				c.note("%s: \"Match %s\" is not evaluated, its block is left out", at, name)
				return false
			}
		}
		holds = holds && ok != strings.HasPrefix(word, "!")
	}
	return holds
}

func (c *sshConfig) criterion(name string, patterns []string) (ok, known bool) {
	switch name {
	case "host":
		host := c.alias
		if h := c.out.value("hostname"); h != "" {
			host = strings.NewReplacer("%h", c.alias, "%%", "%").Replace(h)
		}
		return matchPatterns(patterns, host), true
	case "originalhost":
		return matchPatterns(patterns, c.alias), true
	case "user":
		return matchPatterns(patterns, cmp.Or(c.user, c.out.value("user"), c.localUser)), true
	case "localuser":
		return matchPatterns(patterns, c.localUser), true
	}
	return false, false
}
