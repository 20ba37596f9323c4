package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// file is the book as it is kept.
type file struct {
	Boot    string              `json:"boot"`
	Seq     uint64              `json:"seq"`
	Entries []*entry            `json:"entries"`
	Known   map[string]Identity `json:"known"`
}

// stamp tells whether a file was written since.
type stamp struct {
	at   time.Time
	size int64
}

const maxFile = 4 << 20

// Open reads the book in a file, for the boot with that id. A path of "" keeps it in
// memory. A book that cannot be read is an error, and the Book that is returned is
// empty: the caller goes on with it and says so.
func Open(path, boot string) (*Book, error) {
	b := &Book{path: path, boot: boot, known: map[string]Identity{}}
	if path == "" {
		return b, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return b, fmt.Errorf("faults: %w", err)
	}
	kept, err := b.load()
	if errors.Is(err, os.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	b.merge(kept)
	b.skip = b.seq
	return b, nil
}

func (b *Book) load() (*file, error) {
	f, err := os.Open(b.path)
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	var kept file
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("faults in %s: %w", b.path, err)
	}
	if info, err := f.Stat(); err == nil {
		b.stamp = stamp{info.ModTime(), info.Size()}
	}
	return &kept, nil
}

// Save writes the book if it changed, and takes in what another agent of this host has
// written meanwhile.
func (b *Book) Save() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == "" || !b.dirty && !b.touched() {
		return nil
	}
	lock, err := os.OpenFile(b.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	defer lock.Close() // which lets go of the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil // another agent writes just now; the next round will do
	}
	if b.touched() {
		if kept, err := b.load(); err == nil {
			b.merge(kept)
		}
	}
	return b.write()
}

// touched reports that somebody else wrote the file.
func (b *Book) touched() bool {
	info, err := os.Stat(b.path)
	return err == nil && b.stamp != stamp{info.ModTime(), info.Size()}
}

func (b *Book) write() error {
	data, err := json.Marshal(file{Boot: b.boot, Seq: b.seq, Entries: b.entries, Known: b.known})
	if err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(b.path), ".faults-") // 0600
	if err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("faults: %w", err)
	}
	if err := os.Rename(tmp.Name(), b.path); err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("faults: %w", err)
	}
	if info, err := os.Stat(b.path); err == nil {
		b.stamp = stamp{info.ModTime(), info.Size()}
	}
	b.dirty = false
	return nil
}

// merge takes in what is kept: another agent may have seen more, and what it saw
// cleared is cleared.
func (b *Book) merge(kept *file) {
	if kept.Boot == b.boot {
		b.seq = max(b.seq, kept.Seq)
	}
	for id, k := range kept.Known {
		if _, ok := b.known[id]; !ok {
			b.known[id] = k
		}
	}
	for _, theirs := range kept.Entries {
		if theirs != nil {
			b.mergeEntry(theirs)
		}
	}
}

func (b *Book) mergeEntry(theirs *entry) {
	mine := b.find(theirs.PCI, theirs.Kind, theirs.Code)
	switch {
	case mine == nil:
		if !b.hasCleared(theirs) {
			b.entries = append(b.entries, theirs)
			b.bound()
		}
	case !theirs.open():
		if !mine.Last.After(theirs.Cleared) {
			mine.clear(theirs.Cleared, theirs.By)
		}
	default:
		mine.Kernel, mine.Event = max(mine.Kernel, theirs.Kernel), max(mine.Event, theirs.Event)
		if theirs.First.Before(mine.First) {
			mine.First = theirs.First
		}
		if theirs.Last.After(mine.Last) {
			mine.Last = theirs.Last
		}
		if theirs.Reset.After(mine.Reset) {
			mine.Reset = theirs.Reset
		}
	}
}

// hasCleared reports that the fault is in the book, cleared after it happened last.
func (b *Book) hasCleared(theirs *entry) bool {
	for _, e := range b.entries {
		if !e.open() && e.PCI == theirs.PCI && e.Kind == theirs.Kind && e.Code == theirs.Code && !theirs.Last.After(e.Cleared) {
			return true
		}
	}
	return false
}
