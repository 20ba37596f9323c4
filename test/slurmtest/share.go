package slurmtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds the bring-up of a shared cluster; it includes the wait for
// another big cluster to end.
const startTimeout = 5 * time.Minute

// Shared is one cluster for all tests of a package, brought up by the first that
// needs it.
type Shared struct {
	opts    Options
	once    sync.Once
	cluster *Cluster
	err     error
}

// Share returns a cluster to share; see the package comment for its use.
func Share(o Options) *Shared { return &Shared{opts: o} }

// Main runs the tests of a package, then stops the cluster; an interrupt stops it too.
func (s *Shared) Main(m *testing.M) int {
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	done := make(chan int, 1)
	go func() { done <- m.Run() }()

	code := 1
	select {
	case code = <-done:
	case <-interrupt:
	}
	s.once.Do(func() {}) // waits for a bring-up under way
	if s.cluster == nil {
		return code
	}
	if err := s.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Cluster returns the running cluster. It skips the test where none can be brought
// up, and fails it when one should but does not come up.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	if ok, why := Available(); !ok {
		t.Skip(why)
	}
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		s.cluster, s.err = Start(ctx, s.opts)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}
