package fleet

import (
	"fmt"
	"path"
	"strings"
)

// MatchHosts returns what tells the hosts that one of the patterns means: host lists,
// "gpu[001-016]", in which * stands for any text and ? for one character. Without
// patterns it is every host.
func MatchHosts(patterns []string) (func(host string) bool, error) {
	exact := map[string]bool{}
	var globs []string
	for _, p := range patterns {
		names, err := ExpandHosts(p, MaxHosts)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			switch {
			case !strings.ContainsAny(name, "*?"):
				exact[strings.ToLower(name)] = true
			case strings.Contains(name, `\`):
				return nil, fmt.Errorf("%w: a backslash in %q", ErrHostSyntax, name)
			default:
				globs = append(globs, strings.ToLower(name))
			}
		}
	}
	return func(host string) bool {
		host = strings.ToLower(host)
		if len(patterns) == 0 || exact[host] {
			return true
		}
		for _, g := range globs {
			if ok, _ := path.Match(g, host); ok { // without brackets and backslashes it cannot fail
				return true
			}
		}
		return false
	}, nil
}
