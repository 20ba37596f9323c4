package slurmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The ports of a cluster, from the first of its block.
const (
	portController = iota
	portAccounting
	portDatabase
	portREST
	portSSH
	portNodes = 16 // and on: one for each slurmd
)

// daemon is one long-running process of the cluster.
type daemon struct {
	name string // of its pid file and its log
	user string // empty: root
	argv []string
	env  []string
}

func (c *Cluster) port(offset int) int { return c.portBase + offset }

// hostPort returns the address of a port of the cluster.
func (c *Cluster) hostPort(offset int) string {
	return net.JoinHostPort(c.addr, strconv.Itoa(c.port(offset)))
}

// environ is the whole environment of a process of the cluster.
func (c *Cluster) environ() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"SLURM_CONF=" + c.Conf(),
		c.mark(),
	}
}

// launch starts a daemon and writes its pid file. Its output goes to a file, so
// that it can outlive this process.
func (c *Cluster) launch(ctx context.Context, d daemon) error {
	out, err := os.OpenFile(c.path("log", d.name+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	// The daemon is not bound to ctx: it runs until Stop.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), d.argv[0], d.argv[1:]...)
	cmd.Dir = c.opts.Dir
	cmd.Env = append(c.environ(), d.env...)
	cmd.Stdout, cmd.Stderr = out, out
	a, err := lookup(cmp.Or(d.user, "root"))
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: a.credential()}
	if err = cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	p, err := newProcess(cmd.Process.Pid)
	c.reapers.Go(func() { _ = cmd.Wait() })
	return errors.Join(err, os.WriteFile(c.pidFile(d.name), fmt.Appendf(nil, "%d %d\n", p.pid, p.start), 0o600))
}

func (c *Cluster) pidFile(name string) string { return c.path("run", name+".gpuctl-pid") }

// running returns the process of a daemon; not alive when there is none.
func (c *Cluster) running(name string) process {
	var p process
	raw, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return p
	}
	if _, err := fmt.Sscan(string(raw), &p.pid, &p.start); err != nil {
		return process{}
	}
	return p
}

// daemons returns those that are alive.
func (c *Cluster) daemons() []process {
	files, _ := filepath.Glob(c.pidFile("*"))
	var list []process
	for _, f := range files {
		name := filepath.Base(f)
		if p := c.running(name[:len(name)-len(".gpuctl-pid")]); p.alive() {
			list = append(list, p)
		}
	}
	return list
}

// waitUp waits until a daemon is ready; it gives up when the daemon has ended.
func (c *Cluster) waitUp(ctx context.Context, name string, ready func() bool) error {
	for !ready() {
		if !c.running(name).alive() {
			return fmt.Errorf("%s ended: %s", name, c.logTail(name))
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w: %s", name, err, c.logTail(name))
		}
	}
	return nil
}

// logTail returns the end of what a daemon wrote.
func (c *Cluster) logTail(name string) string {
	out, _ := os.ReadFile(c.path("log", name+".out"))
	log, _ := os.ReadFile(c.path("log", name+".log"))
	return strings.TrimSpace(lastLines(string(out), 6) + "\n" + lastLines(string(log), 6))
}

// accepts says whether something listens on a port of the cluster.
func (c *Cluster) accepts(offset int) bool {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.Dial("tcp", c.hostPort(offset))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
