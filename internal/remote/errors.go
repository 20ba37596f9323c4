package remote

import "errors"

// The classes of failure. They are wrapped with the host and a sentence that says
// what to do next; match with errors.Is.
var (
	// ErrUnreachable: the host does not answer, or the connection broke.
	ErrUnreachable = errors.New("unreachable")
	// ErrAuth: the host accepts none of our identities.
	ErrAuth = errors.New("not authenticated")
	// ErrUnknownHost: known_hosts has no key for the host.
	ErrUnknownHost = errors.New("host key not known")
	// ErrHostKeyChanged: known_hosts has another key for the host.
	ErrHostKeyChanged = errors.New("host key changed")
	// ErrConfig: the SSH configuration asks for something that cannot be done.
	ErrConfig = errors.New("ssh configuration")
	// ErrInput: a host name or command that cannot be one; nothing was sent.
	ErrInput = errors.New("not valid")
	// ErrTooLarge: the answer is larger than allowed.
	ErrTooLarge = errors.New("answer too large")
	// ErrClosed: the connection was closed on our side.
	ErrClosed = errors.New("closed")
)
