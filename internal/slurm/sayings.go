package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// saying is a text of Slurm (slurm_errno.c, or a command's own) and its class.
type saying struct {
	words string
	class error
}

// sayings are looked for in order; the first that occurs decides. The words are
// the same from 22.05 to 26.05 unless two lines say otherwise.
var sayings = []saying{
	{"Socket timed out on send/recv operation", ErrBusy},
	{"Resource temporarily unavailable", ErrBusy},
	{"Operation now in progress", ErrBusy},
	{"Rate limit", ErrBusy},
	{"Unable to create job record, try again", ErrBusy},
	{"Job update not available right now", ErrBusy},

	{"Slurm accounting storage is disabled", ErrNoAccounting},
	{"not running a supported accounting_storage plugin", ErrNoAccounting},
	{"Association database is not enabled", ErrNoAccounting},

	{"Protocol authentication error", ErrAuth},
	{"Invalid authentication credential", ErrAuth},
	{"Authentication credential invalid", ErrAuth},
	{"error: Unauthorized", ErrAuth},
	{"Failed to connect to authentication agent", ErrAuth},
	{"Munge encode failed", ErrAuth},
	{"Munge decode failed", ErrAuth},

	{"Unable to contact slurm controller", ErrUnreachable},
	{"Unable to connect to database", ErrUnreachable},
	{"Unable to establish controller machine", ErrUnreachable},
	{"Could not establish a configuration source", ErrUnreachable},
	{"Unable to process configuration file", ErrUnreachable},
	{"Communication connection failure", ErrUnreachable},
	{"Communication shutdown failure", ErrUnreachable},
	{"Slurm backup controller in standby mode", ErrUnreachable},
	{"Controller is in standby mode", ErrUnreachable},
	{"Zero Bytes were transmitted or received", ErrUnreachable},
	{"Can't find an address, check slurm.conf", ErrUnreachable},
	{"Connection refused", ErrUnreachable},
	{"Connection timed out", ErrUnreachable},
	{"No route to host", ErrUnreachable},
	{"Incompatible versions of client and server code", ErrUnsupported},

	{"Access/permission denied", ErrDenied},
	{"Invalid user id", ErrDenied},
	{"Access denied to requested reservation", ErrDenied},
	{"Only cluster administrators", ErrDenied},
	{"not have permission to", ErrDenied},

	{"Invalid job id specified", ErrNotFound},
	{"Invalid node name specified", ErrNotFound},
	{"Invalid partition name specified", ErrNotFound},
	{"Requested reservation is invalid", ErrNotFound},
	{" not found", ErrNotFound},

	{"Job can not be altered now, try again later", ErrState}, // a signal to a waiting job
	{"Job has already finished", ErrState},
	{"Job has already started", ErrState},
	{"Job is pending execution", ErrState},
	{"Job is no longer pending execution", ErrState},
	{"Job is not pending nor running", ErrState},
	{"Job is not running", ErrState},
	{"Job is not suspended", ErrState},
	{"Job is not finished", ErrState},
	{"Job is current suspended", ErrState},
	{"Job is in held state", ErrState},
	{"Job/step already completing or completed", ErrState},
	{"Requested operation is presently disabled", ErrState},
	{"Operation not permitted on individual component", ErrState},
	{"Invalid node state specified", ErrState},
	{"Invalid node state transition", ErrState},
	{"Reboot already in progress", ErrState},
	{"Partition in DOWN state", ErrState},
	{"Required partition not available", ErrState},
	{"Requested node configuration is not available", ErrState},
	{"Job violates accounting/QOS policy", ErrState},
	{"Requested time limit is invalid", ErrState},
	{"More processors requested than permitted", ErrState},

	{"Requested operation not supported on this system", ErrUnsupported},
	{"Cannot modify scrontab jobs", ErrUnsupported},
	{"unrecognized option", ErrUnsupported},
	{"Invalid field requested", ErrUnsupported},
	{"Invalid job format specification", ErrUnsupported},

	{"You must specify a reason", ErrInput},
	{"Invalid input", ErrInput},
	{"Invalid TimeLimit value", ErrInput},
	{"Unknown job signal", ErrInput},
	{"Invalid job id", ErrInput}, // scancel on a malformed one; after "specified" above
	{"Invalid account or account/partition combination", ErrInput},
	{"Invalid feature specification", ErrInput},
	{"Invalid qos specification", ErrInput},
}

// classOf finds the class of what Slurm said; nil when it is none that is known.
func classOf(text string) error {
	for _, s := range sayings {
		if strings.Contains(text, s.words) {
			return s.class
		}
	}
	return nil
}

// verdict is what came of a command: nil, or an error in Slurm's own words with its
// class. An exit code of 0 is not believed when the command also complained and
// answered nothing, or complained of something known.
func verdict(argv []string, out Output) error {
	slurms, said := complaints(string(out.Stderr))
	class := classOf(slurms)
	if out.Exit == 0 {
		if slurms == "" || class == nil && len(out.Stdout) > 0 {
			return nil
		}
		said = slurms
	}
	if said == "" && !strings.Contains(string(out.Stdout), fieldSep) {
		said = strings.TrimSpace(string(out.Stdout))
	}
	if class == nil {
		class = classOf(said)
	}
	if said == "" {
		said = exitWords(out.Exit)
	}
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > 500 {
		said = strings.ToValidUTF8(said[:500], "") + "…"
	}
	if class == nil {
		return fmt.Errorf("%s: %s", spoken(argv), said)
	}
	return fmt.Errorf("%s: %w: %s", spoken(argv), class, said)
}

// exitWords says how a command that said nothing ended.
func exitWords(code int) string {
	if sig := syscall.Signal(code - 128); code > 128 && code < 128+65 {
		return fmt.Sprintf("it was killed by signal %d (%s)", code-128, sig)
	}
	return fmt.Sprintf("exit status %d", code)
}

// logged begins a line that Slurm's commands write to their log.
var logged = regexp.MustCompile(`^((scontrol|squeue|sacct|sacctmgr|sdiag|sprio|scancel): |slurm_\w+ )?(error|fatal): `)

// configNoise are words of the remarks about slurm.conf that every command makes,
// and goes on.
var configNoise = []string{"Ignoring obsolete", "is defunct", "deprecated"}

// complaints takes standard error apart: the lines that Slurm wrote, and all of
// them. A login shell writes its own there: banners, "module: command not found".
func complaints(stderr string) (slurms, all string) {
	var own, said []string
	for line := range strings.SplitSeq(stderr, "\n") {
		line = strings.TrimSpace(line)
		noise := slices.ContainsFunc(configNoise, func(w string) bool { return strings.Contains(line, w) })
		if line == "" || noise {
			continue
		}
		said = append(said, line)
		if logged.MatchString(line) || isRefusal(line) {
			own = append(own, line)
		}
	}
	return strings.Join(own, "\n"), strings.Join(said, "\n")
}

// isRefusal reports a line that ends in a refusal, as "job script retrieval failed:
// Invalid user id" does, which comes with an exit code of 0.
func isRefusal(line string) bool {
	return slices.ContainsFunc(sayings, func(s saying) bool {
		return errors.Is(s.class, ErrDenied) && strings.HasSuffix(line, s.words)
	})
}

// spoken is the command in a few words: "scontrol show job 4711".
func spoken(argv []string) string {
	words := argv[:1:1]
	for _, a := range argv[1:] {
		if argv[0] == "scontrol" && len(words) < 4 && !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	if s := strings.Join(words, " "); len(s) < 100 {
		return s
	}
	return strings.Join(words[:2], " ")
}
