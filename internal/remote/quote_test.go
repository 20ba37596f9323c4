package remote

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// FuzzQuote checks against a real shell that a word reaches the command unchanged.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "'", "''", `"`, `\`, "$(id)", "`id`", "a\nb", "!x", "*", "~", "-n", "=x", "A=b", "#", "%i %T", "é", "\xff", "\t", "&|;<>(){}[]?"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		line, err := Quote([]string{"printf", `%s\1%s\1`, a, b})
		if strings.Contains(a+b, "\x00") || len(a)+len(b) > maxCommand/4 {
			if err == nil && strings.Contains(a+b, "\x00") {
				t.Errorf("NUL went through: %q %q", a, b)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", line).Output()
		if want := a + "\x01" + b + "\x01"; err != nil || string(out) != want {
			t.Errorf("%s gave %q, %v; want %q", line, out, err, want)
		}
	})
}

// The words are the same under every shell that is installed here. Words with line
// feeds (csh) are left out, as documented. The path of a job's output is a word that
// its user chose.
func TestQuoteUnderOtherShells(t *testing.T) {
	words := []string{
		"a b", "it's", "$HOME", "*", "~", "=ls", "A=b", "a;b", "%i|%T", "", "#x", "{a,b}", "^a", "[x]", "bang!",
		`\`, `end\`, `\\`, `x\'y`, `\'; echo pwned; '`, `/home/bob/\'$(echo pwned)\'`, `a\nb`, "`id`", `"q"`,
	}
	line, err := Quote(append([]string{"/usr/bin/printf", "%s,"}, words...))
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		args := []string{"-c", line}
		if shell == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		out, err := exec.Command(path, args...).Output()
		if err != nil || !bytes.Equal(out, []byte(strings.Join(words, ",")+",")) {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
}

func TestQuoteNeverAssigns(t *testing.T) {
	if line, _ := Quote([]string{"A=b", "C=d"}); line != "'A=b' C=d" {
		t.Errorf("got %s", line)
	}
}

func TestCommandName(t *testing.T) {
	for want, argv := range map[string][]string{
		"squeue": {"env", "-u", "SQUEUE_FORMAT", "LC_ALL=C", "squeue", "-o", "a=b"},
		"sinfo":  {"sinfo", "env"},
		"env":    {"env", "-u"},
	} {
		if got := commandName(argv); got != want {
			t.Errorf("%q is called %s", argv, got)
		}
	}
}
