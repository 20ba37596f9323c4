package nvml

import (
	"bytes"
	"context"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// Reset resets one device with nvidia-smi, as the library has no such call for users.
// All handles of ours are let go of first; the next sample opens the driver anew.
func (s *Supervised) Reset(ctx context.Context, uuid string) error {
	s.sampling.Lock() // a sample would open the device again
	defer s.sampling.Unlock()
	if err := s.letGo(ctx); err != nil {
		return fmt.Errorf("reset GPU %s: %w", uuid, err)
	}
	out, err := s.o.Run(ctx, "nvidia-smi", "--gpu-reset", "-i", uuid)
	if err == nil {
		s.forgive(uuid)
		return nil
	}
	said := string(bytes.TrimSpace(out))
	if bytes.Contains(bytes.ToLower(out), []byte("in use")) {
		err = fmt.Errorf("%w (%w)", agent.ErrInUse, err)
	}
	return fmt.Errorf("reset GPU %s: nvidia-smi: %w: %s", uuid, err, said)
}

// forgive has the next sample ask a device that was put aside.
func (s *Supervised) forgive(uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.seen.indexOf(uuid); ok {
		delete(s.aside, i)
	}
}
