package kmsg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func xidRecord(seq int, micros int64, code int) string {
	return fmt.Sprintf("4,%d,%d,-;NVRM: Xid (PCI:0000:05:00): %d, pid='<unknown>', name=<unknown>, text\n", seq, micros, code)
}

// TestFollow appends a burst of four codes in one millisecond, a line in two parts, and
// shortens the file.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	appendTo(t, path, "6,1,1000,-;Linux version\n")
	synctest.Test(t, func(t *testing.T) {
		var codes []int
		var times []time.Time
		booted := time.Now().Add(-time.Hour)
		r := &Reader{Path: path, Booted: booted, Emit: func(e Event) { codes = append(codes, e.Code); times = append(times, e.At) }}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		step := func() { time.Sleep(2 * poll); synctest.Wait() }
		step()
		var burst strings.Builder
		for i, code := range []int{48, 63, 94, 154} {
			burst.WriteString(xidRecord(2+i, 5_000_000+int64(i*200), code))
		}
		appendTo(t, path, burst.String())
		step()
		appendTo(t, path, "4,6,6000000,-;NVRM: Xid (PCI:0000:05:00): 7")
		step()
		appendTo(t, path, "9, fallen\n")
		step()
		if err := os.WriteFile(path, []byte("NVRM: Xid (PCI:0000:05:00): 31\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		step()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if diff := cmp.Diff([]int{48, 63, 94, 154, 79, 31}, codes); diff != "" {
			t.Fatal(diff)
		}
		if want := booted.Add(5 * time.Second); !times[0].Equal(want) {
			t.Errorf("%s, want %s", times[0], want)
		}
		if times[5].Before(booted.Add(time.Hour)) {
			t.Errorf("a line without header happened at %s", times[5])
		}
	})
}

// scripted answers Read as /dev/kmsg does: a record, or an error.
type scripted []any

func (s *scripted) Read(p []byte) (int, error) {
	if len(*s) == 0 {
		return 0, io.ErrClosedPipe
	}
	next := (*s)[0]
	*s = (*s)[1:]
	if err, ok := next.(error); ok {
		return 0, err
	}
	return copy(p, next.(string)), nil
}

func TestDeviceTellsWhatWasOverwritten(t *testing.T) {
	var codes []int
	var lost uint64
	r := &Reader{Emit: func(e Event) { codes = append(codes, e.Code) }, Lost: func(n uint64) { lost += n }}
	script := scripted{xidRecord(10, 1, 48), syscall.EPIPE, xidRecord(15, 2, 63), xidRecord(16, 2, 94)}
	err := r.device(t.Context(), &script)
	if !errors.Is(err, io.ErrClosedPipe) || lost != 4 {
		t.Errorf("%v, %d lost", err, lost)
	}
	if diff := cmp.Diff([]int{48, 63, 94}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestRunSaysWhyItCannotRead(t *testing.T) {
	r := &Reader{Path: filepath.Join(t.TempDir(), "none"), Emit: func(Event) {}}
	if err := r.Run(t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "kernel log") {
		t.Error(err)
	}
}

// TestRealKernelLog ends a Read that waits on /dev/kmsg.
func TestRealKernelLog(t *testing.T) {
	if f, err := os.Open("/dev/kmsg"); err != nil {
		t.Skip(err)
	} else {
		f.Close()
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	r := &Reader{Path: "/dev/kmsg", Emit: func(Event) {}}
	if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if r.last == 0 {
		t.Error("no record was read")
	}
}
