package audit

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Who is the person at the keyboard, as far as the operating system tells.
type Who struct {
	User string `json:"user"`
	Sudo string `json:"sudo,omitempty"` // who called sudo to become User
	Host string `json:"host,omitempty"`
	TTY  string `json:"tty,omitempty"`
	From string `json:"from,omitempty"` // where the SSH session comes from
}

// String is the person in a few words: "alice@login1 pts/3 from 10.0.0.5".
func (w Who) String() string {
	s := w.User
	if w.Sudo != "" {
		s += " (sudo by " + w.Sudo + ")"
	}
	if w.Host != "" {
		s += "@" + w.Host
	}
	if w.TTY != "" {
		s += " " + w.TTY
	}
	if w.From != "" {
		s += " from " + w.From
	}
	return s
}

// Whoami asks the operating system, and the environment for what only it knows.
func Whoami(getenv func(string) string) Who {
	w := Who{User: userName(getenv), Sudo: getenv("SUDO_USER"), TTY: terminal()}
	w.Host, _ = os.Hostname() // empty: not told
	w.From, _, _ = strings.Cut(getenv("SSH_CONNECTION"), " ")
	return w
}

// userName falls back to the environment where the user data base (LDAP, say) is
// out of reach, and to the number where nothing has a name.
func userName(getenv func(string) string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := getenv("USER"); name != "" {
		return name
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// terminal is the name of the terminal that keys come from; empty when there is
// none, or where the system has no /proc.
func terminal() string {
	path, err := os.Readlink("/proc/self/fd/0")
	name, isDevice := strings.CutPrefix(path, "/dev/")
	if err == nil && isDevice && (strings.HasPrefix(name, "pts/") || strings.HasPrefix(name, "tty")) {
		return name
	}
	return ""
}
