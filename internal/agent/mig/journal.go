package mig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// entry is what is written down before the first change of a device.
type entry struct {
	UUID   string       `json:"uuid"`
	BootID string       `json:"bootId"`
	At     time.Time    `json:"at"`
	Plan   wire.MIGPlan `json:"plan"` // with the state before
}

const (
	entryPrefix = "mig-"
	entrySuffix = ".json"
	lockSuffix  = ".lock"
	maxEntry    = 1 << 20
)

func (e *Engine) path(uuid, suffix string) string {
	return filepath.Join(e.opts.Dir, entryPrefix+uuid+suffix)
}

// deviceLock keeps other engines, of other processes too, from the device. It ends
// with its process.
type deviceLock struct{ file *os.File }

func (l *deviceLock) release() { _ = l.file.Close() }

// lock takes the device, or fails with CodeBusy.
func (e *Engine) lock(uuid string) (*deviceLock, error) {
	if !uuidForm.MatchString(uuid) {
		return nil, refusal(fmt.Sprintf("%q is no UUID of a GPU", uuid), nil)
	}
	if e.opts.Dir == "" {
		return nil, refusal("what cannot be written down is not done: the agent has no state folder", nil)
	}
	if err := os.MkdirAll(e.opts.Dir, 0o700); err != nil {
		return nil, refusal("what cannot be written down is not done: "+err.Error(), err)
	}
	f, err := os.OpenFile(e.path(uuid, lockSuffix), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, refusal("what cannot be written down is not done: "+err.Error(), err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, &Failure{Code: wire.CodeBusy, Text: "another change of this GPU is under way", Err: err}
	}
	return &deviceLock{f}, nil
}

// write puts the entry down so that it survives a kill and a power cut.
func (e *Engine) write(en *entry) error {
	data, err := json.Marshal(en)
	if err != nil {
		return err
	}
	path := e.path(en.UUID, entrySuffix)
	tmp := path + ".new"
	if err := writeSynced(tmp, data); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return e.syncDir()
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (e *Engine) syncDir() error {
	d, err := os.Open(e.opts.Dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (e *Engine) remove(uuid string) error {
	return errors.Join(os.Remove(e.path(uuid, entrySuffix)), e.syncDir())
}

// entries lists the UUIDs of changes that were written down and not ended.
func (e *Engine) entries() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(e.opts.Dir, entryPrefix+"*"+entrySuffix))
	var uuids []string
	for _, p := range paths {
		uuids = append(uuids, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p), entryPrefix), entrySuffix))
	}
	return uuids, err
}

func (e *Engine) load(uuid string) (*entry, error) {
	f, err := os.Open(e.path(uuid, entrySuffix))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEntry))
	if err != nil {
		return nil, err
	}
	var en entry
	if err := json.Unmarshal(data, &en); err != nil {
		return nil, fmt.Errorf("journal of %s: %w", uuid, err)
	}
	if en.UUID != uuid {
		return nil, fmt.Errorf("journal of %s speaks of %q", uuid, en.UUID)
	}
	return &en, nil
}
