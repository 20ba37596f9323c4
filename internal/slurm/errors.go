package slurm

import "errors"

// The classes of failure. They are wrapped with what was asked and with Slurm's own
// words; match with errors.Is.
var (
	// ErrUnreachable: slurmctld, slurmrestd or the login node does not answer.
	ErrUnreachable = errors.New("unreachable")
	// ErrBusy: slurmctld answers too slowly ("Socket timed out on send/recv
	// operation"). Never retried at once.
	ErrBusy = errors.New("slurmctld is slow")
	// ErrAuth: the identity or token is not accepted (expired, wrong user, wrong key).
	ErrAuth = errors.New("not authenticated")
	// ErrDenied: the identity is known and may not ("Invalid user id",
	// "Access/permission denied").
	ErrDenied = errors.New("permission denied")
	// ErrNotFound: no such node or job.
	ErrNotFound = errors.New("not found")
	// ErrState: the target is in a state in which this cannot be done.
	ErrState = errors.New("not possible in this state")
	// ErrUnsupported: this version or transport cannot do it.
	ErrUnsupported = errors.New("not supported")
	// ErrUnbelievable: an answer that cannot be right, such as a fleet of no nodes
	// where there were some.
	ErrUnbelievable = errors.New("answer not believable")
	// ErrDecode: the answer as a whole could not be read.
	ErrDecode = errors.New("answer not understood")
	// ErrNoAccounting: the cluster keeps no accounting.
	ErrNoAccounting = errors.New("no accounting")
	// ErrInput: a name or id that cannot be one; nothing was sent.
	ErrInput = errors.New("not valid")
)
