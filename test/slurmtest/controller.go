package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StartController starts slurmctld and waits until it answers.
func (c *Cluster) StartController(ctx context.Context) error {
	if err := c.launch(ctx, daemon{name: "slurmctld", user: "slurm", argv: []string{"/usr/sbin/slurmctld", "-D"}}); err != nil {
		return err
	}
	return c.waitUp(ctx, "slurmctld", func() bool {
		if !c.accepts(portController) {
			return false
		}
		out, err := c.As(ctx, "root", "scontrol", "ping")
		return err == nil && strings.Contains(out, "is UP")
	})
}

// StopController stops slurmctld in an orderly way: its state is saved. Jobs run on.
func (c *Cluster) StopController() { end(20*time.Second, c.running("slurmctld")) }

// ControllerLog returns what slurmctld logged so far.
func (c *Cluster) ControllerLog() (string, error) { return c.readLog("slurmctld.log") }

// startNodes starts all slurmd; waitNodes waits for them.
func (c *Cluster) startNodes(ctx context.Context) error {
	var errs []error
	for _, n := range c.Nodes() {
		errs = append(errs, c.launchNode(ctx, n))
	}
	return errors.Join(errs...)
}

func (c *Cluster) launchNode(ctx context.Context, node string) error {
	root, err := lookup("root")
	if err != nil {
		return err
	}
	if err := ownedDir(c.path("spool", node), root); err != nil {
		return err
	}
	return c.launch(ctx, daemon{name: slurmd(node), env: []string{nodeMark(node)}, argv: []string{"/usr/sbin/slurmd", "-D", "-N", node}})
}

// nodeMark is the environment entry of what runs on a node, slurmstepd too.
func nodeMark(node string) string { return "GPUCTL_SLURMTEST_NODE=" + node }

func slurmd(node string) string { return "slurmd." + node }

// waitNodes waits until each node is there to run jobs.
func (c *Cluster) waitNodes(ctx context.Context) error {
	var last string
	err := c.Wait(ctx, "the nodes to register", func() bool {
		out, err := c.As(ctx, "root", "sinfo", "-hN", "-p", "low", "-o", "%N %T")
		if err != nil {
			out = err.Error()
		}
		last = out
		return strings.Count(out, " idle\n") == c.opts.Nodes
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, last)
	}
	return nil
}

// StopNode kills the slurmd of a node, as if the host had died; its jobs' processes
// are killed too.
func (c *Cluster) StopNode(node string) {
	end(0, append(withDescendants([]process{c.running(slurmd(node))}), withEnv(c.mark(), nodeMark(node))...)...)
}

// StartNode starts the slurmd of a node and waits until it listens and the
// controller does not call it silent.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	port := portNodes + slices.Index(c.Nodes(), node)
	if err := c.launchNode(ctx, node); err != nil {
		return err
	}
	return c.waitUp(ctx, slurmd(node), func() bool {
		if !c.accepts(port) {
			return false
		}
		out, err := c.As(ctx, "root", "sinfo", "-hN", "-n", node, "-o", "%T")
		return err == nil && !strings.Contains(out, "*")
	})
}
