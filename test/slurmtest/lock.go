package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lockDir holds the locks between test processes of this machine.
const lockDir = "/run/lock/gpuctl-slurmtest"

// Ports come in blocks below the range that outgoing connections use.
const (
	firstPort  = 10_000
	blockPorts = 128
	blocks     = 170
)

// errLocked says that another process holds a lock.
var errLocked = errors.New("held by another process")

// tryLock takes the lock of that name, which the end of the process frees too.
func tryLock(name string) (unlock func(), err error) {
	if err = os.MkdirAll(lockDir, 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	f, err := os.OpenFile(filepath.Join(lockDir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}

// lock waits for the lock of that name.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		unlock, err := tryLock(name)
		if err == nil || !errors.Is(err, errLocked) {
			return unlock, err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}

// pickPorts returns the first port of a block that nobody uses, kept until unlock.
func pickPorts(addr string) (base int, unlock func(), err error) {
	for _, block := range rand.Perm(blocks) {
		base := firstPort + block*blockPorts
		unlock, err := tryLock("ports-" + strconv.Itoa(base))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		if portsFree(addr, base) {
			return base, unlock, nil
		}
		unlock()
	}
	return 0, nil, errors.New("no block of free ports")
}

func portsFree(addr string, base int) bool {
	for p := base; p < base+blockPorts; p++ {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(addr), Port: p})
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
