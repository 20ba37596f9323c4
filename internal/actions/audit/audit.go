// Package audit keeps the record of what was done to the fleet, and turns it into
// the note that one shift hands to the next.
//
// A log is a folder (0700) with one file (0600) of JSON lines for each month. A
// record is on the disk before Record returns, and is never changed. Several
// gpuctl of one user may write to one log: each record is one append under a lock.
// A line that was torn by a kill, or that is not ours, harms itself only.
//
// It imports actions only.
package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
)

const (
	filePrefix = "audit-"
	fileSuffix = ".jsonl"
	monthForm  = "2006-01"
)

// Record is one line of the log: what the engine knows, and who it was.
type Record struct {
	Who Who `json:"who"`
	actions.Entry
}

// Log is the audit log in one folder. It is safe for concurrent use.
type Log struct {
	dir string
	who Who

	mu sync.Mutex
}

var _ actions.Auditor = (*Log)(nil)

// Open returns the log in dir, kept for the person at this keyboard. Nothing is
// touched before the first use.
func Open(dir string) *Log { return &Log{dir: dir, who: Whoami(os.Getenv)} }

// Ready implements actions.Auditor.
func (l *Log) Ready() error {
	f, err := l.open(time.Now())
	if err != nil {
		return err
	}
	return f.Close()
}

// Record implements actions.Auditor.
func (l *Log) Record(e actions.Entry) error {
	line, err := json.Marshal(Record{Who: l.who, Entry: e})
	if err != nil {
		return fmt.Errorf("audit log in %s: %w", l.dir, err)
	}
	l.mu.Lock() // the lock on the file is between processes only
	defer l.mu.Unlock()
	f, err := l.open(e.At)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := appendLine(f, line); err != nil {
		return fmt.Errorf("audit log in %s: %w", l.dir, err)
	}
	return nil
}

// open opens the file of the month for appending, and makes it if need be.
func (l *Log) open(at time.Time) (*os.File, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit log in %s: %w", l.dir, err)
	}
	path := filepath.Join(l.dir, filePrefix+at.UTC().Format(monthForm)+fileSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit log in %s: %w", l.dir, err)
	}
	return f, nil
}

// appendLine adds the line in one write, under the file's lock, and waits until
// it is on the disk.
func appendLine(f *os.File, line []byte) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if torn(f, info.Size()) {
		line = append([]byte("\n"), line...)
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || info.Size() > 0 {
		return err
	}
	return syncDir(filepath.Dir(f.Name())) // the file is new: its name must last too
}

// torn reports that the last line has no end: its writer was killed. What comes
// next must not be glued to it.
func torn(f *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err := f.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
