package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

// Bubble Tea goes on without a word when its input ends; a console must not.
func TestC105_LostTerminalEndsTheConsole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, lose := context.WithCancelCause(t.Context())
	in := &watchedInput{r, lose}
	if _, err := w.WriteString("j"); err != nil {
		t.Fatal(err)
	}
	if n, err := in.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	if ctx.Err() != nil {
		t.Fatal("a key ended the console")
	}
	w.Close()
	if _, err := in.Read(make([]byte, 8)); !errors.Is(err, io.EOF) {
		t.Fatalf("read after the end: %v", err)
	}
	if !errors.Is(context.Cause(ctx), ErrLostTerminal) {
		t.Errorf("cause = %v", context.Cause(ctx))
	}
}
