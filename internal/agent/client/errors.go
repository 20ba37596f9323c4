package client

import (
	"errors"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// The classes of failure, wrapped with the host; match with errors.Is.
var (
	// ErrNoAgent: the node answers, and no gpuctl is there to start or to reach.
	ErrNoAgent = errors.New("no gpuctl agent there")
	// ErrVersion: the agent speaks a newer protocol than this gpuctl.
	ErrVersion = errors.New("the agent is newer than this gpuctl")
	// ErrSilent: the agent has said nothing for too long.
	ErrSilent = errors.New("the agent is silent")
	// ErrGarbage: what came is not what an agent says. The connection was cut.
	ErrGarbage = errors.New("not what an agent says")
	// ErrNotConnected: there is no connection to the agent now; nothing was sent.
	ErrNotConnected = errors.New("agent not connected")
	// ErrOutcomeUnknown: the connection broke while the request was under way. The
	// same request, sent again with the same id, gets its outcome.
	ErrOutcomeUnknown = errors.New("whether it was done is not known")
)

// ReplyError is an agent's answer that it did not do what was asked.
type ReplyError struct {
	Host string
	Code wire.Code
	Text string
}

// Error is the agent's own sentence.
func (e *ReplyError) Error() string { return e.Host + ": " + e.Text }
