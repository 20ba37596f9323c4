package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The users of every cluster.
const (
	Alice  = "alice"  // owns jobs
	Bob    = "bob"    // owns jobs
	GPUOp  = "gpuop"  // AdminLevel=Operator: anyone's job, no node
	GPUAdm = "gpuadm" // AdminLevel=Administrator

	restUser = "slurmrest" // runs slurmrestd with tokens
)

// homeRoot holds the homes of the users the test bed creates: they outlive a cluster.
const homeRoot = "/var/tmp/gpuctl-slurmtest"

// firstUID is the id of the first user: fixed, so that a name is the same user in
// every chroot of this machine.
const firstUID = 64201

func people() []string { return []string{Alice, Bob, GPUOp, GPUAdm} }

// account is a user of this machine.
type account struct {
	name     string
	uid, gid uint32
	home     string
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("user %s: %w", name, err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return account{name, uint32(uid), uint32(gid), u.HomeDir}, errors.Join(err1, err2)
}

// credential makes a process run as the user, with its own group only.
func (a account) credential() *syscall.Credential {
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: []uint32{a.gid}}
}

// ensureUsers creates the users that this machine lacks.
func ensureUsers(ctx context.Context) error {
	unlock, err := lock(ctx, "users")
	if err != nil {
		return err
	}
	defer unlock()
	for i, name := range append(people(), restUser) {
		if err := ensureUser(ctx, name, firstUID+i); err != nil {
			return err
		}
	}
	return nil
}

func ensureUser(ctx context.Context, name string, uid int) error {
	if _, err := user.Lookup(name); err != nil {
		// The password field is '*' and not the '!' of useradd: sshd without PAM takes
		// '!' for a locked account and refuses even keys.
		out, err := exec.CommandContext(ctx, "useradd", "-M", "-u", strconv.Itoa(uid), "-p", "*",
			"-d", filepath.Join(homeRoot, name), "-s", "/bin/bash", name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("create user %s: %w: %s", name, err, out)
		}
	}
	if err := unlockPassword(ctx, name); err != nil {
		return err
	}
	a, err := lookup(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(a.home); errors.Is(err, fs.ErrNotExist) {
		return ownedDir(a.home, a)
	}
	return nil
}

func unlockPassword(ctx context.Context, name string) error {
	line, err := exec.CommandContext(ctx, "getent", "shadow", name).Output()
	if err != nil {
		return fmt.Errorf("password entry of %s: %w", name, err)
	}
	if f := strings.Split(string(line), ":"); len(f) < 2 || !strings.HasPrefix(f[1], "!") {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "usermod", "-p", "*", name).CombinedOutput(); err != nil {
		return fmt.Errorf("unlock %s: %w: %s", name, err, out)
	}
	return nil
}

// ownedDir makes a folder that belongs to a user and that all may look into.
func ownedDir(path string, a account) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return errors.Join(os.Chown(path, int(a.uid), int(a.gid)), os.Chmod(path, 0o755))
}
