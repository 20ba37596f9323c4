// Command slurm-testbed keeps a real Slurm cluster on loopback for trying gpuctl by
// hand: a cluster of package slurmtest that outlives the command.
//
//	slurm-testbed install            install the packages it needs, starting no service
//	slurm-testbed up [-nodes N] [-jobs]   bring the cluster up, or say that it is
//	slurm-testbed env                say how to use it
//	slurm-testbed config             the path of a gpuctl config file for it
//	slurm-testbed status             the nodes and jobs, exit code 1 when it is down
//	slurm-testbed down               end it and everything it runs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpuctl/gpuctl/test/slurmtest"
)

// upTimeout bounds the bring-up.
const upTimeout = 2 * time.Minute

var errDown = errors.New("the cluster is down: bring it up with make slurm-up")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurm-testbed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("slurm-testbed", flag.ContinueOnError)
	dir := flags.String("dir", filepath.Join(os.TempDir(), "gpuctl-slurm-testbed"), "folder of the cluster")
	nodes := flags.Int("nodes", 8, "number of nodes")
	jobs := flags.Bool("jobs", false, "submit some jobs")
	if len(args) == 0 {
		return errors.New("usage: slurm-testbed install|up|env|config|status|down [flags]")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "install":
		return slurmtest.Install(ctx, os.Stdout)
	case "up":
		return up(ctx, *dir, *nodes, *jobs)
	}
	c, err := slurmtest.Open(*dir)
	if errors.Is(err, os.ErrNotExist) {
		return errDown
	}
	if err != nil {
		return err
	}
	switch args[0] {
	case "env":
		printUse(c)
	case "config":
		fmt.Println(configPath(c))
	case "status":
		return status(ctx, c)
	case "down":
		return c.Stop()
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
	return nil
}

// up brings the cluster up unless it runs already.
func up(ctx context.Context, dir string, nodes int, jobs bool) error {
	if err := slurmtest.Install(ctx, os.Stderr); err != nil {
		return err
	}
	if ok, why := slurmtest.Available(); !ok {
		return errors.New(why)
	}
	if c, err := slurmtest.Open(dir); err == nil {
		if answers(ctx, c) {
			printUse(c)
			return nil
		}
		// What is left of a cluster after a restart of the machine.
		if err := c.Stop(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	began := time.Now()
	c, err := slurmtest.Start(ctx, slurmtest.Options{Dir: dir, Nodes: nodes, Detached: true})
	if err != nil {
		return err
	}
	fmt.Printf("Slurm %s with %d nodes is up after %.1f s\n\n", c.Version(), nodes, time.Since(began).Seconds())
	if err := writeConfig(c); err != nil {
		return err
	}
	if jobs {
		if err := submitJobs(ctx, c); err != nil {
			return err
		}
	}
	printUse(c)
	return nil
}

func answers(ctx context.Context, c *slurmtest.Cluster) bool {
	_, err := c.As(ctx, "root", "sinfo")
	return err == nil
}

func status(ctx context.Context, c *slurmtest.Cluster) error {
	if !answers(ctx, c) {
		return errDown
	}
	nodes, err1 := c.As(ctx, "root", "sinfo")
	jobs, err2 := c.As(ctx, "root", "squeue")
	fmt.Print(nodes, jobs)
	return errors.Join(err1, err2)
}
