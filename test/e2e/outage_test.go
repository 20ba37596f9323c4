package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/sources"
	slurmsource "github.com/gpuctl/gpuctl/internal/sources/slurm"
)

// interval between polls in these tests: the least there is.
const interval = slurmsource.MinInterval

// live runs one source and its store until the test ends.
func live(t *testing.T, way slurm.Transport) *fleet.Store {
	t.Helper()
	store := fleet.NewStore(fleet.StoreOptions{})
	src := slurmsource.New(slurmsource.Options{Cluster: "lab", Client: slurm.New(way), Interval: interval})
	keeper := sources.NewSupervisor(store, sources.Options{}, src)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = store.Run(ctx); done <- struct{}{} }()
	go func() { _ = keeper.Run(ctx); done <- struct{}{} }()
	t.Cleanup(func() { cancel(); <-done; <-done })
	return store
}

// becomes waits until the source has the status, and returns the snapshot that says so.
func becomes(t *testing.T, store *fleet.Store, want fleet.SourceStatus, within time.Duration) *fleet.Snapshot {
	t.Helper()
	changes, stop := store.Subscribe()
	defer stop()
	late := time.After(within)
	var last fleet.SourceState
	for {
		select {
		case snap := <-changes:
			if s := snap.SourceOf("lab"); s != nil {
				if last = *s; s.Status == want {
					return snap
				}
			}
		case <-late:
			t.Fatalf("not %s within %s: %+v", want, within, last)
		}
	}
}

// outage breaks a live source, and checks what an operator sees from then on: stale,
// then down within two polls with the reason, the data still there with their age,
// and a recovery by itself.
func outage(t *testing.T, way slurm.Transport, cut, mend func(), reason string) {
	t.Helper()
	store := live(t, way)
	before := becomes(t, store, fleet.SourceLive, 30*time.Second)
	cut()
	began := time.Now()
	becomes(t, store, fleet.SourceStale, 30*time.Second)
	down := becomes(t, store, fleet.SourceDown, 30*time.Second)
	t.Logf("down after %s: %s", time.Since(began).Round(100*time.Millisecond), down.SourceOf("lab").LastError)
	src := down.SourceOf("lab")
	if !strings.Contains(src.LastError, reason) || strings.Contains(src.LastError, "\n") {
		t.Errorf("the reason %q must be one line that names %q", src.LastError, reason)
	}
	if len(down.Nodes) != len(before.Nodes) || src.Age(time.Now()) < interval {
		t.Errorf("%d nodes, age %s: the old data must stay, with their age", len(down.Nodes), src.Age(time.Now()))
	}
	mend()
	becomes(t, store, fleet.SourceLive, 60*time.Second)
}

func TestOutages(t *testing.T) {
	c := bed.Cluster(t)
	idle(t, c)
	start := func(f func(context.Context) error) func() {
		return func() {
			if err := f(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("slurmctld stopped", func(t *testing.T) {
		outage(t, transports(t, c, "gpuadm")["exec"], c.StopController, start(c.StartController), "slurmctld")
	})
	t.Run("token expired", func(t *testing.T) {
		old, expires := token(t, c, "gpuadm", 2*time.Second), time.Now().Add(2*time.Second)
		source := &switched{token: token(t, c, "gpuadm", time.Hour)}
		rest, err := slurm.NewREST(slurm.RESTOptions{URL: c.RESTURL(), User: "gpuadm", Token: source})
		if err != nil {
			t.Fatal(err)
		}
		expire := func() { time.Sleep(time.Until(expires)); source.set(old) }
		outage(t, rest, expire, func() { source.set(token(t, c, "gpuadm", time.Hour)) }, "expired")
	})
	t.Run("side by side", func(t *testing.T) {
		t.Run("sshd cut", func(t *testing.T) {
			t.Parallel()
			outage(t, transports(t, c, "gpuadm")["ssh"], c.StopSSHD, start(c.StartSSHD), c.SSH("gpuadm").Host)
		})
		t.Run("slurmrestd killed", func(t *testing.T) {
			t.Parallel()
			outage(t, transports(t, c, "gpuadm")["rest"], c.StopREST, start(c.StartREST), "refused")
		})
	})
}

// Actions are off on a cluster that is not live, with its age and reason.
func TestActionsAreOffWhileTheSourceIsDown(t *testing.T) {
	c := bed.Cluster(t)
	c.StopController()
	defer func() {
		if err := c.StartController(context.Background()); err != nil {
			t.Fatal(err)
		}
	}()
	t.Run("both wait for scontrol to give up", func(t *testing.T) {
		t.Run("act", func(t *testing.T) {
			t.Parallel()
			a := newRig(t, "gpuadm", local).want(5, "drain", "gpu-node001", "--reason", "x", "--yes")
			if !strings.Contains(a.stderr, "Unable to contact slurm controller") || !strings.Contains(a.stderr, "nothing was done") {
				t.Errorf("%s", a.stderr)
			}
		})
		t.Run("get", func(t *testing.T) {
			t.Parallel()
			a := newRig(t, "gpuadm", local).want(5, "get", "nodes", "-o", "json")
			if !strings.Contains(a.stdout, `"status": "`) || !strings.Contains(a.stderr, "lab is ") {
				t.Errorf("%s%s", a.stdout, a.stderr)
			}
		})
	})
}
