package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	c, ok := NewCommandTransport(NewExecRunner(ExecOptions{})).(Tailer)
	if !ok {
		t.Fatal("the command transport reads files")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "it's $(x) a log")
	text := strings.Repeat("step 1 loss 0.5\n", 20_000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := c.Tail(t.Context(), file)
	if err != nil || len(got) > tailBytes || !strings.HasPrefix(got, "step 1") || !strings.HasSuffix(text, got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := c.Tail(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("missing file: %v", err)
	}
	for _, bad := range []string{"relative", "-f", "/a\nb", "/a\x00b", ""} {
		if _, err := c.Tail(t.Context(), bad); !errors.Is(err, ErrInput) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
