package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// What is checked here goes into a command or a URL. Every error wraps ErrInput,
// and nothing was sent when one is returned.

// checkNode accepts one plain node name: no host list, no option.
func checkNode(name string) error { return checkName("node", name, "") }

// checkPartition accepts partition names separated by commas.
func checkPartition(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if err := checkName("partition", name, "+"); err != nil {
			return err
		}
	}
	return nil
}

// checkUser accepts one user name.
func checkUser(name string) error { return checkName("user", name, "@+$") }

// checkName accepts letters, digits, '.', '_', '-' and what extra holds.
func checkName(what, name, extra string) error {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-"+extra, r) {
			return fmt.Errorf("%s name %q: %w", what, name, ErrInput)
		}
	}
	if name == "" || name[0] == '-' || len(name) > 255 {
		return fmt.Errorf("%s name %q: %w", what, name, ErrInput)
	}
	return nil
}

// checkSignal accepts a signal by name or number: "USR1", "SIGTERM", "10".
func checkSignal(signal string) error {
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
		return nil
	}
	switch name {
	case "HUP", "INT", "QUIT", "KILL", "TERM", "USR1", "USR2", "CONT", "STOP", "TSTP", "URG",
		"ABRT", "ALRM", "TTIN", "TTOU", "PIPE", "SEGV", "BUS", "FPE", "ILL", "TRAP", "XCPU", "XFSZ":
		return nil
	}
	return fmt.Errorf("signal %q: %w", signal, ErrInput)
}

// checkTimeLimit accepts a time limit as scontrol(1) takes it: a duration,
// UNLIMITED, or +N and -N to change it.
func checkTimeLimit(limit string) error {
	if strings.EqualFold(limit, "UNLIMITED") {
		return nil
	}
	d := limit
	if strings.HasPrefix(d, "+") || strings.HasPrefix(d, "-") {
		d = d[1:]
	}
	if _, err := ParseDuration(d); err != nil {
		return fmt.Errorf("time limit %q: %w", limit, ErrInput)
	}
	return nil
}

// checkText accepts a reason or comment: one line that a terminal shows as it is.
func checkText(text string) error {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("text %q: %w", text, ErrInput)
		}
	}
	return nil
}
