package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// outcome is what is kept of a request, so that it is never done twice, by whichever
// agent of this host.
type outcome struct {
	ID     string      `json:"id"`
	Digest string      `json:"digest"` // of what was asked
	At     time.Time   `json:"at"`
	Reply  *wire.Reply `json:"reply,omitempty"` // nil: it was begun, and never ended
}

// outcomes is a folder with a file for each of the latest requests.
type outcomes struct{ dir string }

const (
	keepOutcomes  = 200
	outcomeSuffix = ".request.json"
)

func (o outcomes) path(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(o.dir, hex.EncodeToString(sum[:16])+outcomeSuffix)
}

func digest(r *wire.Request) string {
	sum := sha256.Sum256([]byte(string(r.Op) + "\x00" + string(r.Args)))
	return hex.EncodeToString(sum[:])
}

// find returns what is kept of a request; nil when it is new.
func (o outcomes) find(id string) (*outcome, error) {
	data, err := os.ReadFile(o.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	var out outcome
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return &out, nil
}

// keep writes the outcome down; it is on the disk when keep returns.
func (o outcomes) keep(out outcome) error {
	if o.dir == "" {
		return errors.New("the agent has no state folder")
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("request %s: %w", out.ID, err)
	}
	if err = os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("request %s: %w", out.ID, err)
	}
	f, err := os.CreateTemp(o.dir, ".request-") // 0600
	if err != nil {
		return fmt.Errorf("request %s: %w", out.ID, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("request %s: %w", out.ID, err)
	}
	if err := os.Rename(f.Name(), o.path(out.ID)); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("request %s: %w", out.ID, err)
	}
	o.prune()
	return nil
}

// prune removes the oldest outcomes. A failure leaves some more than need be.
func (o outcomes) prune() {
	paths, _ := filepath.Glob(filepath.Join(o.dir, "*"+outcomeSuffix))
	if len(paths) <= keepOutcomes {
		return
	}
	age := func(path string) time.Time {
		info, err := os.Stat(path)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(paths, func(a, b string) int { return age(a).Compare(age(b)) })
	for _, path := range paths[:len(paths)-keepOutcomes] {
		os.Remove(path)
	}
}

// lock takes a device for one request among all agents of this host; nil: another has
// it. Closing the file lets go.
func (o outcomes) lock(device string) (*os.File, error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, err
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, device)
	f, err := os.OpenFile(filepath.Join(o.dir, "device-"+name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return f, nil
}
