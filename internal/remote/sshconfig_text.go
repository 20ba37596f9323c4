package remote

import (
	"errors"
	"path/filepath"
	"strings"
)

// cutKeyword cuts a line of ssh_config(5) into its lower-case keyword and the rest.
// Comments and empty lines have none.
func cutKeyword(line string) (key, rest string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", ""
	}
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return strings.ToLower(line), ""
	}
	rest = strings.TrimLeft(line[i:], " \t")
	rest = strings.TrimPrefix(rest, "=")
	return strings.ToLower(line[:i]), strings.TrimLeft(rest, " \t")
}

// splitArgs splits as ssh(1) does: blanks part, quotes keep together, a backslash
// keeps a quote, a blank or itself, "#" at the start of a word ends the line.
func splitArgs(s string) ([]string, error) {
	var args []string
	var word strings.Builder
	var quote byte
	open := false
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch {
		case b == '\\' && i+1 < len(s) && strings.IndexByte("\"'\\ ", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
			open = true
		case quote != 0 && b == quote:
			quote = 0
		case quote == 0 && (b == '"' || b == '\''):
			quote, open = b, true
		case quote == 0 && (b == ' ' || b == '\t'):
			if open {
				args = append(args, word.String())
			}
			word.Reset()
			open = false
		case quote == 0 && b == '#' && !open:
			return args, nil
		default:
			word.WriteByte(b)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if open {
		args = append(args, word.String())
	}
	return args, nil
}

// matchPatterns says whether s matches one of the patterns and none that is
// negated with "!". Case does not matter.
func matchPatterns(patterns []string, s string) bool {
	found := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if !glob(strings.ToLower(strings.TrimPrefix(p, "!")), strings.ToLower(s)) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// glob matches "*" and "?" over bytes in linear space and no more than quadratic
// time: on a mismatch only the last star is tried again.
func glob(pattern, s string) bool {
	p, i, star, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// expandHome puts home in place of a leading "~".
func expandHome(path, home string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}
