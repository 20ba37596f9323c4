package actionstest

import (
	"slices"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
)

// Auditor is an audit log in memory.
type Auditor struct {
	mu      sync.Mutex
	entries []actions.Entry
	err     error
	touched []string
}

var _ actions.Auditor = (*Auditor)(nil)

// Fail makes everything return err; nil mends it.
func (a *Auditor) Fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// SetTouched says which nodes Touched returns for every cluster and window.
func (a *Auditor) SetTouched(nodes ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.touched = nodes
}

// Entries lists what was recorded, in order.
func (a *Auditor) Entries() []actions.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.entries)
}

// Ready implements actions.Auditor.
func (a *Auditor) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Record implements actions.Auditor.
func (a *Auditor) Record(e actions.Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.entries = append(a.entries, e)
	return nil
}

// Touched implements actions.Auditor.
func (a *Auditor) Touched(string, time.Time) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.touched), a.err
}
