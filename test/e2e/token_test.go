package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/test/slurmtest"
)

// switched is a token that somebody renews.
type switched struct {
	mu    sync.Mutex
	token string
}

func (s *switched) Token(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, nil
}

func (s *switched) Rejected(string) {}

func (s *switched) set(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

func token(t testing.TB, c *slurmtest.Cluster, user string, life time.Duration) string {
	t.Helper()
	tok, err := c.Token(t.Context(), user, life)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
