package actions

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	runPrefix = "run-"
	runSuffix = ".jsonl"
)

// Journal is a folder with one file for each run under way: the plan, and before
// each step that it is about to be sent. A run that ends removes its file, so what
// is left over belongs to a gpuctl that lives (its file is locked) or was killed
// (see OpenRuns). The lasting record is the audit log.
type Journal struct{ dir string }

// NewJournal returns the journal in dir, which need not exist yet.
func NewJournal(dir string) *Journal { return &Journal{dir: dir} }

// Ready says why nothing can be journalled; nil when it can.
func (j *Journal) Ready() error {
	if j == nil {
		return errors.New("no folder for it")
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(j.dir, ".probe-*")
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// journalLine is one line of a run's file. Exactly one part beside At is set.
type journalLine struct {
	At     time.Time   `json:"at"`
	Plan   *Plan       `json:"plan,omitempty"`
	Intent int         `json:"intent,omitempty"` // the step about to be sent
	Result *StepResult `json:"result,omitempty"`
	End    Outcome     `json:"end,omitempty"`
}

// runJournal is the file of one run. Its first error ends the writing and is
// kept: a run goes on without its journal, because the audit log holds the same.
type runJournal struct {
	mu   sync.Mutex
	file *os.File // nil: never begun
	path string
	err  error
}

// begin makes the run's file, locks it, and writes the plan. The file gets its
// name last: whoever sees it finds it locked and with a whole plan.
func (j *Journal) begin(p *Plan, now time.Time) *runJournal {
	r := &runJournal{}
	if r.err = j.Ready(); r.err != nil {
		return r
	}
	if r.file, r.err = os.CreateTemp(j.dir, ".new-*"); r.err != nil {
		return r
	}
	r.path = r.file.Name()
	r.err = syscall.Flock(int(r.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	r.write(journalLine{At: now, Plan: p})
	if r.err == nil {
		r.rename(filepath.Join(j.dir, runPrefix+p.ID+runSuffix))
	}
	if r.err != nil {
		_ = r.file.Close()
		_ = os.Remove(r.path)
	}
	return r
}

// rename gives the file its name, durably.
func (r *runJournal) rename(path string) {
	if r.err = os.Rename(r.path, path); r.err != nil {
		return
	}
	r.path = path
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		r.err = err
		return
	}
	r.err = dir.Sync()
	_ = dir.Close()
}

func (r *runJournal) intent(step int, now time.Time) {
	r.write(journalLine{At: now, Intent: step})
}

func (r *runJournal) result(res StepResult, now time.Time) {
	r.write(journalLine{At: now, Result: &res})
}

// write appends the line and waits until it is on the disk.
func (r *runJournal) write(line journalLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	data, err := json.Marshal(line)
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err == nil {
		err = r.file.Sync()
	}
	r.err = err
}

// end says that the run is over, and removes the file. It returns what went wrong
// with the journal during the run.
func (r *runJournal) end(o Outcome, now time.Time) error {
	r.write(journalLine{At: now, End: o})
	if r.file == nil {
		return r.err
	}
	removed := os.Remove(r.path)
	_ = r.file.Close() // and with it the lock
	if r.err != nil {
		return r.err
	}
	return removed
}
