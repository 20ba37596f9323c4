package slurm

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// tailBytes is how much of the end of a file is read.
const tailBytes = 128 << 10

// Tailer is a Transport that can read the end of a file where the cluster's
// commands run: those over commands can, slurmrestd cannot.
type Tailer interface {
	// Tail returns the end of the file, at most 128 KiB, from the start of a line.
	// ErrNotFound, ErrDenied.
	Tail(ctx context.Context, file string) (string, error)
}

var _ Tailer = (*commands)(nil)

// Tail implements Tailer.
func (c *commands) Tail(ctx context.Context, file string) (string, error) {
	if !path.IsAbs(file) || strings.ContainsAny(file, "\x00\n") {
		return "", fmt.Errorf("file %q: %w: it must be a whole path on one line", file, ErrInput)
	}
	out, err := c.runner.Run(ctx, []string{"tail", "-c", strconv.Itoa(tailBytes), "--", file})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	said := strings.TrimSpace(string(out.Stderr))
	switch {
	case out.Exit == 0:
		return fromLineStart(string(out.Stdout)), nil
	case strings.Contains(said, "Permission denied"):
		return "", fmt.Errorf("read %s over %s: %w", file, c.Via(), ErrDenied)
	case strings.Contains(said, "No such file"):
		return "", fmt.Errorf("read %s over %s: %w", file, c.Via(), ErrNotFound)
	}
	return "", fmt.Errorf("read %s over %s: %s", file, c.Via(), said)
}

// fromLineStart drops the first line of a text that was cut inside it.
func fromLineStart(text string) string {
	if len(text) < tailBytes {
		return text
	}
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
