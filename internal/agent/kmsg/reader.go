package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Reader follows a kernel log: /dev/kmsg, or a plain file that grows.
type Reader struct {
	Path string
	// Booted is when the machine started; the log counts from there.
	Booted time.Time
	// Emit is called for every event, in order, from Run's goroutine.
	Emit func(Event)
	// Lost is called when the kernel dropped records before they were read.
	Lost func(records uint64)

	parser Parser
	last   uint64 // sequence number of the last record of /dev/kmsg
	offset int64  // how far a plain file was read
}

// poll is how often a plain file is looked at for more. /dev/kmsg is waited on.
const poll = 100 * time.Millisecond

// maxRecord is more than the kernel puts into one record.
const maxRecord = 16 << 10

// Run reads what the log holds and then what is added, until ctx ends. Any other end is
// an error; Run may then be called again and goes on where it was.
func (r *Reader) Run(ctx context.Context) error {
	f, err := os.OpenFile(r.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("kernel log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("kernel log: %w", err)
	}
	if info.Mode().IsRegular() {
		return r.follow(ctx, f)
	}
	// Closing ends a Read that waits.
	defer context.AfterFunc(ctx, func() { f.Close() })()
	return r.device(ctx, f)
}

// device reads /dev/kmsg, where one Read is one record.
func (r *Reader) device(ctx context.Context, f io.Reader) error {
	buf := make([]byte, maxRecord)
	read := r.last
	for {
		n, err := f.Read(buf)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, syscall.EPIPE): // overwritten: the next Read goes on behind the gap
			continue
		case err != nil:
			return fmt.Errorf("kernel log: %w", err)
		}
		rec := parseRecord(string(buf[:n]))
		if rec.bare || rec.seq <= read {
			continue
		}
		if r.last > 0 && rec.seq > r.last+1 && r.Lost != nil {
			r.Lost(rec.seq - r.last - 1)
		}
		r.last = rec.seq
		r.emit(rec)
	}
}

// follow reads a plain file, a line at a time. A file that became shorter is read
// from its start.
func (r *Reader) follow(ctx context.Context, f *os.File) error {
	var line []byte
	buf := make([]byte, maxRecord)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		n, err := f.ReadAt(buf, r.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("kernel log: %w", err)
		}
		for rest := buf[:n]; len(rest) > 0; {
			part, after, ended := bytes.Cut(rest, []byte("\n"))
			r.offset += int64(len(rest) - len(after))
			line = append(line, part[:min(len(part), maxRecord-len(line))]...)
			if rest = after; ended {
				rec := parseRecord(string(line))
				rec.seq = uint64(r.offset)
				r.emit(rec)
				line = line[:0]
			}
		}
		if n > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if info, err := f.Stat(); err == nil && info.Size() < r.offset {
			r.offset, line = 0, line[:0]
		}
	}
}

// emit tells what a record says. A line without header happened now, and nothing
// happens in the future: the kernel's clock is not quite ours.
func (r *Reader) emit(rec record) {
	at, now := r.Booted.Add(rec.since), time.Now()
	if rec.bare || at.After(now) {
		at = now
	}
	for _, e := range r.parser.Parse(rec.text) {
		e.At, e.Seq = at, rec.seq
		r.Emit(e)
	}
}
