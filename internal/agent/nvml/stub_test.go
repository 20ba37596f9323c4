//go:build !cgo

package nvml

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/agent"
)

func TestBuildWithoutCgoSaysSo(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, sampled := s.Sample(t.Context())
	_, subscribed := s.Events(t.Context())
	_, state := s.MIG("GPU-x").State(t.Context())
	for _, err := range []error{sampled, subscribed, state, Serve("", nil, nil)} {
		if !errors.Is(err, agent.ErrNoDriver) || !strings.Contains(err.Error(), "without cgo") {
			t.Errorf("%v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
