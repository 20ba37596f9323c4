package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/sources"
	slurmsource "github.com/gpuctl/gpuctl/internal/sources/slurm"
	"github.com/gpuctl/gpuctl/test/slurmtest"
)

// loadWindow is how long each way of watching is measured.
const loadWindow = 60 * time.Second

// The load of one console on slurmctld, beside the usual ways to watch it.
func BenchmarkControllerLoad(b *testing.B) {
	c := bed.Cluster(b)
	for range b.N {
		for _, row := range controllerLoad(b, c) {
			fmt.Println(row)
		}
	}
}

// controllerLoad measures the RPCs a minute that slurmctld counts (sdiag) while
// something watches the cluster as the user bob, whom nothing else acts as.
func controllerLoad(b *testing.B, c *slurmtest.Cluster) []string {
	b.Helper()
	rows := []string{fmt.Sprintf("%-44s %12s", "what watches the cluster", "RPCs/minute")}
	measure := func(what string, watch func(ctx context.Context)) {
		before := rpcsOf(b, c, "bob")
		ctx, cancel := context.WithTimeout(b.Context(), loadWindow)
		watch(ctx)
		cancel()
		n := rpcsOf(b, c, "bob") - before
		rows = append(rows, fmt.Sprintf("%-44s %12.1f", what, float64(n)/loadWindow.Minutes()))
	}
	measure("gpuctl, one console (nodes, jobs and more)", func(ctx context.Context) { watchAs(ctx, b, c) })
	measure("watch -n 2 squeue (jobs only)", func(ctx context.Context) { loop(ctx, b, c, 2*time.Second, "squeue") })
	measure("squeue --json and sinfo --json every 2 s", func(ctx context.Context) {
		loop(ctx, b, c, 2*time.Second, "sh", "-c", "squeue --json >/dev/null; sinfo --json >/dev/null")
	})
	return rows
}

// watchAs runs one source over SSH as bob.
func watchAs(ctx context.Context, b *testing.B, c *slurmtest.Cluster) {
	store := fleet.NewStore(fleet.StoreOptions{})
	src := slurmsource.New(slurmsource.Options{Cluster: "lab", Client: slurm.New(transports(b, c, "bob")["ssh"])})
	done := make(chan struct{})
	go func() { defer close(done); _ = store.Run(ctx) }()
	_ = sources.NewSupervisor(store, sources.Options{}, src).Run(ctx)
	<-done
}

func loop(ctx context.Context, b *testing.B, c *slurmtest.Cluster, every time.Duration, argv ...string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		cmd, err := c.Command(ctx, "bob", argv...)
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			if _, exited := err.(*exec.ExitError); !exited { //nolint:errorlint // the command itself
				b.Fatal(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// rpcsOf is how many RPCs slurmctld counted from the user.
func rpcsOf(b *testing.B, c *slurmtest.Cluster, user string) int {
	b.Helper()
	out, err := c.As(context.Background(), "root", "sdiag")
	if err != nil {
		b.Fatal(err)
	}
	_, users, _ := strings.Cut(out, "statistics by user")
	for line := range strings.SplitSeq(users, "\n") {
		f := strings.Fields(line)
		_, count, ok := strings.Cut(line, "count:")
		if !ok || f[0] != user {
			continue
		}
		n, err := strconv.Atoi(strings.Fields(count)[0])
		if err != nil {
			b.Fatalf("sdiag: %q: %v", line, err)
		}
		return n
	}
	return 0
}
