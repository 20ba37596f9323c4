// Package e2e runs the real gpuctl against a real Slurm cluster on loopback.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/test/slurmtest"
)

var bed = slurmtest.Share(slurmtest.Options{Nodes: 8})

func TestMain(m *testing.M) {
	code := bed.Main(m)
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// binary is gpuctl, built once, where every test user may run it; GPUCTL_BINARY names
// one where there is no Go.
var binary struct {
	once sync.Once
	dir  string
	err  error
}

func gpuctlBinary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("GPUCTL_BINARY"); path != "" {
		return path
	}
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "gpuctl-e2e-"); binary.err != nil {
			return
		}
		binary.err = os.Chmod(binary.dir, 0o755)
		cmd := exec.Command("go", "build", "-o", filepath.Join(binary.dir, "gpuctl"), "../../cmd/gpuctl")
		if out, err := cmd.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return filepath.Join(binary.dir, "gpuctl")
}

// rig is gpuctl as one user, reaching the cluster one way.
type rig struct {
	t       testing.TB
	cluster *slurmtest.Cluster
	bin     string
	user    string
	dir     string // config and state
}

// newRig writes a config with one cluster that is reached in the given ways and returns
// gpuctl as the user.
func newRig(t testing.TB, user string, ways ...string) *rig {
	t.Helper()
	r := &rig{t: t, cluster: bed.Cluster(t), bin: gpuctlBinary(t), user: user}
	dir, err := os.MkdirTemp("", "gpuctl-e2e-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r.dir = dir
	r.write("config.yaml", "clusters:\n- name: lab\n  interval: 2s\n  guard: confirm\n  slurm: {"+strings.Join(ways, ", ")+"}\nlimits: {nodes_per_window: 6, window: 1m, percent: 100}\n")
	cmd, err := r.cluster.Command(t.Context(), "root", "chown", "-R", user, dir)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("chown: %v\n%s", err, out)
	}
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// The ways to the cluster as the config has them: local, overSSH, overREST.
const local = "local: {}"

func overSSH(c *slurmtest.Cluster, user string) string {
	s := c.SSH(user)
	return fmt.Sprintf("ssh: {host: %s, port: %d, user: %s, identityFiles: [%s], knownHosts: [%s], configFile: none}",
		s.Host, s.Port, s.User, s.KeyFile, s.KnownHosts)
}

func overREST(t testing.TB, c *slurmtest.Cluster, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(t, c, user, time.Hour)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "rest: {url: " + c.RESTURL() + ", user: " + user + ", tokenFile: " + file + "}"
}

// answer is what one command left.
type answer struct {
	stdout, stderr string
	code           int
}

// command is gpuctl, ready to start.
func (r *rig) command(ctx context.Context, args ...string) *exec.Cmd {
	r.t.Helper()
	argv := append([]string{"env", "HOME=" + r.dir, "XDG_STATE_HOME=" + r.dir + "/state", "XDG_CONFIG_HOME=" + r.dir, r.bin, "--config", r.dir + "/config.yaml"}, args...)
	cmd, err := r.cluster.Command(ctx, r.user, argv...)
	if err != nil {
		r.t.Fatal(err)
	}
	return cmd
}

// run runs gpuctl to its end.
func (r *rig) run(args ...string) answer {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := r.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("gpuctl %v: %v", args, err)
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// want runs gpuctl and fails the test unless it ends with the code.
func (r *rig) want(code int, args ...string) answer {
	r.t.Helper()
	a := r.run(args...)
	if a.code != code {
		r.t.Fatalf("gpuctl %s: exit %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), a.code, code, a.stdout, a.stderr)
	}
	return a
}

// items runs gpuctl get ... -o json and decodes the items.
func items[T any](r *rig, args ...string) []T {
	r.t.Helper()
	a := r.want(0, append(args, "-o", "json")...)
	var l struct{ Items []T }
	if err := json.Unmarshal([]byte(a.stdout), &l); err != nil {
		r.t.Fatalf("gpuctl %v: %v\n%s", args, err, a.stdout)
	}
	return l.Items
}

// submit sends a job that lasts longer than any test, and waits until it runs.
func submit(t testing.TB, c *slurmtest.Cluster, user string, args ...string) string {
	t.Helper()
	id := submitPending(t, c, user, args...)
	if err := c.WaitJob(t.Context(), id, "RUNNING"); err != nil {
		t.Fatal(err)
	}
	return id
}

func submitPending(t testing.TB, c *slurmtest.Cluster, user string, args ...string) string {
	t.Helper()
	id, err := c.Submit(t.Context(), user, "#!/bin/sh\nsleep 900\n", args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.As(context.Background(), "root", "scancel", id) })
	return id
}

// as runs a Slurm command and returns what it said.
func as(t testing.TB, c *slurmtest.Cluster, user string, argv ...string) string {
	t.Helper()
	out, err := c.As(t.Context(), user, argv...)
	if err != nil {
		t.Fatalf("%v as %s: %v\n%s", argv, user, err, out)
	}
	return out
}

// idle resumes every node and ends every job, so that a test starts from nothing.
func idle(t testing.TB, c *slurmtest.Cluster) {
	t.Helper()
	for _, user := range []string{"alice", "bob"} {
		_, _ = c.As(t.Context(), "root", "scancel", "-Q", "-u", user)
	}
	for line := range strings.FieldsSeq(as(t, c, "root", "sinfo", "-h", "-N", "-p", "low", "-o", "%N=%T")) {
		if name, state, _ := strings.Cut(line, "="); strings.HasPrefix(state, "drain") || strings.HasPrefix(state, "down") {
			_, _ = c.As(t.Context(), "root", "scontrol", "update", "nodename="+name, "state=resume")
		}
	}
	err := c.Wait(t.Context(), "every node idle", func() bool {
		out, err := c.As(t.Context(), "root", "sinfo", "-h", "-N", "-p", "low", "-o", "%T")
		return err == nil && strings.Count(out, "idle") == len(c.Nodes()) && !strings.ContainsAny(out, "*~#")
	})
	if err != nil {
		t.Fatal(err)
	}
}
