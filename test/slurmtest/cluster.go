package slurmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stateFile names a running cluster, for other processes and for the next sweep.
const stateFile = "cluster.json"

// dirPrefix is what the folders of clusters start with.
const dirPrefix = "gpuctl-slurm-"

// Cluster is a running Slurm cluster. Its methods are safe for concurrent use.
type Cluster struct {
	opts     Options
	addr     string // the loopback address of everything
	portBase int    // first of its block of ports
	number   int    // 2205
	version  string
	dbPass   string // slurmdbd's, during the bring-up

	unlocks []func()
	reapers sync.WaitGroup // one goroutine for each daemon, until it ends
}

// state is what stateFile holds.
type state struct {
	Options    Options
	Addr       string
	PortBase   int
	Number     int
	Version    string
	Owner      int // pid; 0 when detached
	OwnerStart uint64
}

// Start brings a cluster up. ctx bounds the bring-up; the cluster runs until Stop.
// Clusters of test processes that were killed are cleared away first.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if entries, _ := os.ReadDir(o.Dir); o.Dir != "" && len(entries) > 0 {
		return nil, fmt.Errorf("start slurm cluster: %s is not empty", o.Dir) // Stop will remove it
	}
	if err := sweep(ctx); err != nil {
		return nil, fmt.Errorf("clear away old clusters: %w", err)
	}
	c := &Cluster{opts: o}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start slurm cluster: %w", err), c.Stop())
	}
	return c, nil
}

// Open returns the cluster of a folder that another process brought up.
func Open(dir string) (*Cluster, error) {
	s, err := readState(dir)
	if err != nil {
		return nil, err
	}
	return &Cluster{opts: s.Options, addr: s.Addr, portBase: s.PortBase, number: s.Number, version: s.Version}, nil
}

func readState(dir string) (state, error) {
	var s state
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return s, fmt.Errorf("slurm cluster at %s: %w", dir, err)
	}
	// Anybody may make a folder in /tmp; what it says decides what root ends and removes.
	var info unix.Stat_t
	if err := unix.Lstat(dir, &info); err != nil || info.Uid != 0 {
		return s, fmt.Errorf("slurm cluster at %s: the folder is not root's: %w", dir, os.ErrPermission)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("slurm cluster at %s: %w", dir, err)
	}
	return s, nil
}

func (c *Cluster) start(ctx context.Context) error {
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"reserve", c.reserve},
		{"users", ensureUsers},
		{"folders", c.layOut},
		{"munged", c.startMunge},
		{"mariadb", c.startDatabase},
		{"slurmdbd", c.startAccounting},
		{"slurmctld", c.StartController},
		{"slurmd", c.startNodes},
		{"slurmrestd", c.launchREST},
		{"sshd", c.StartSSHD},
		{"qos", c.limitQOS},
		{"nodes", c.waitNodes},
		{"slurmrestd", c.waitREST},
	}
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// reserve takes what clusters must not share: ports, and the machine when it is big.
func (c *Cluster) reserve(ctx context.Context) (err error) {
	if c.number, c.version, err = version(ctx); err != nil {
		return err
	}
	if c.addr, err = hostAddr(); err != nil {
		return err
	}
	var unlock func()
	if c.opts.Nodes > bigNodes {
		if unlock, err = lock(ctx, "big"); err != nil {
			return err
		}
		c.unlocks = append(c.unlocks, unlock)
	}
	if c.portBase, unlock, err = pickPorts(c.addr); err != nil {
		return err
	}
	c.unlocks = append(c.unlocks, unlock)
	return nil
}

// layOut makes the folders and writes everything that is read at start.
func (c *Cluster) layOut(context.Context) error {
	if c.opts.Dir == "" {
		dir, err := os.MkdirTemp("/tmp", dirPrefix) // not $TMPDIR: the path of a socket is short
		if err != nil {
			return err
		}
		c.opts.Dir = dir
	}
	if err := c.makeDirs(); err != nil {
		return err
	}
	if err := c.writeState(); err != nil {
		return err
	}
	return c.writeConfig()
}

func (c *Cluster) writeState() error {
	s := state{Options: c.opts, Addr: c.addr, PortBase: c.portBase, Number: c.number, Version: c.version}
	if !c.opts.Detached {
		self, err := newProcess(os.Getpid())
		if err != nil {
			return err
		}
		s.Owner, s.OwnerStart = self.pid, self.start
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path(stateFile), raw, 0o600)
}

// Stop ends every process of the cluster, jobs too, and removes its folder.
func (c *Cluster) Stop() error {
	var err error
	if c.opts.Dir != "" {
		err = c.clear()
	}
	c.reapers.Wait()
	for _, unlock := range c.unlocks {
		unlock()
	}
	c.unlocks = nil
	return err
}

// clear ends what the pid files name and what carries the cluster's mark, until
// nothing is left: a process may have started another meanwhile.
func (c *Cluster) clear() error {
	for range 50 {
		left := withDescendants(append(c.daemons(), withEnv(c.mark())...))
		if len(left) == 0 {
			return os.RemoveAll(c.opts.Dir)
		}
		for _, p := range left {
			p.signal(syscall.SIGKILL)
		}
		allGone(time.Second, left)
	}
	return fmt.Errorf("stop slurm cluster %s: processes are left: %v", c.opts.Dir, withEnv(c.mark()))
}

// sweep clears away the clusters whose test process is gone.
func sweep(ctx context.Context) error {
	unlock, err := lock(ctx, "sweep")
	if err != nil {
		return err
	}
	defer unlock()
	dirs, _ := filepath.Glob("/tmp/" + dirPrefix + "*")
	var errs []error
	for _, dir := range dirs {
		s, err := readState(dir)
		if err != nil || s.Owner == 0 || (process{s.Owner, s.OwnerStart}).alive() {
			continue
		}
		c, err := Open(dir)
		if err == nil {
			err = c.Stop()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Wait asks cond until it holds or ctx ends; the error then says what was awaited.
func (c *Cluster) Wait(ctx context.Context, what string, cond func() bool) error {
	for !cond() {
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
	return nil
}

// path returns a path below the cluster's folder.
func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.opts.Dir}, parts...)...)
}

// mark is the environment entry that every process of the cluster carries. Not
// SLURM_CONF: the shell of somebody who looks at the cluster carries that.
func (c *Cluster) mark() string { return "GPUCTL_SLURMTEST=" + c.opts.Dir }

// Dir is the folder of the cluster.
func (c *Cluster) Dir() string { return c.opts.Dir }

// Conf is the path of slurm.conf, for SLURM_CONF.
func (c *Cluster) Conf() string { return c.path("etc", "slurm.conf") }

// Version is Slurm's, "22.05.8".
func (c *Cluster) Version() string { return c.version }

// Since says whether Slurm is of that version or newer: Since(24, 11).
func (c *Cluster) Since(major, minor int) bool { return c.number >= major*100+minor }

// Nodes returns the names of the nodes, in order.
func (c *Cluster) Nodes() []string { return c.opts.nodeNames() }
