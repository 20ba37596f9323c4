package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// record is one line of the node's audit log.
type record struct {
	At     time.Time       `json:"at"`
	Host   string          `json:"host"`
	Phase  string          `json:"phase"` // "begun", "ended" or "refused"
	ID     string          `json:"id"`
	Op     wire.Op         `json:"op"`
	Peer   string          `json:"peer"` // who the connection proved to be
	Who    string          `json:"who"`  // who it says to act for
	Reason string          `json:"reason"`
	Args   json.RawMessage `json:"args,omitempty"`
	Code   wire.Code       `json:"code,omitempty"`
	Error  string          `json:"error,omitempty"`
}

const (
	phaseBegun   = "begun"
	phaseEnded   = "ended"
	phaseRefused = "refused"
)

// auditLog appends to a file that only its owner may read. Each record is one write,
// and is on the disk when append returns.
type auditLog struct{ path string }

func (l auditLog) append(r record) error {
	if l.path == "" {
		return errors.New("audit log: the agent has no folder for it")
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if err = os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}
