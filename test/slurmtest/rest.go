package slurmtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RESTURL is the address of the slurmrestd that takes tokens.
func (c *Cluster) RESTURL() string { return "http://" + c.hostPort(portREST) }

// RESTSocket is the socket of the slurmrestd without tokens. It acts as gpuop,
// whoever connects; only gpuop and root may.
func (c *Cluster) RESTSocket() string { return c.path("rest", "slurmrestd.sock") }

// Token returns a token of that user for slurmrestd.
func (c *Cluster) Token(ctx context.Context, user string, lifespan time.Duration) (string, error) {
	argv := c.tokenCommand(user, lifespan)
	out, err := c.As(ctx, "root", argv...)
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(strings.TrimSpace(out), "SLURM_JWT=")
	if !ok {
		return "", fmt.Errorf("token of %s: unexpected answer %q", user, out)
	}
	return token, nil
}

func (c *Cluster) tokenCommand(user string, lifespan time.Duration) []string {
	seconds := strconv.Itoa(int(lifespan / time.Second))
	return []string{"scontrol", "token", "username=" + user, "lifespan=" + seconds}
}

// StartREST starts both slurmrestd and waits until they answer.
func (c *Cluster) StartREST(ctx context.Context) error {
	if err := c.launchREST(ctx); err != nil {
		return err
	}
	return c.waitREST(ctx)
}

// StopREST stops both slurmrestd.
func (c *Cluster) StopREST() {
	end(0, c.running("slurmrestd"), c.running("slurmrestd-unix"))
}

// launchREST starts two: with SLURM_JWT=daemon every call goes to slurmctld with a
// token, so that the socket would not work; without it every token is refused.
func (c *Cluster) launchREST(ctx context.Context) error {
	err := c.launch(ctx, daemon{
		name: "slurmrestd", user: restUser, env: []string{"SLURM_JWT=daemon"},
		argv: []string{"/usr/sbin/slurmrestd", "-a", "rest_auth/jwt", c.hostPort(portREST)},
	})
	if err != nil {
		return err
	}
	if err := removeIfThere(c.RESTSocket()); err != nil {
		return err
	}
	return c.launch(ctx, daemon{
		name: "slurmrestd-unix", user: GPUOp,
		argv: []string{"/usr/sbin/slurmrestd", "-a", "rest_auth/local", "unix:" + c.RESTSocket()},
	})
}

func (c *Cluster) waitREST(ctx context.Context) error {
	if err := c.waitUp(ctx, "slurmrestd", func() bool { return c.accepts(portREST) }); err != nil {
		return err
	}
	return c.waitUp(ctx, "slurmrestd-unix", func() bool { return exists(c.RESTSocket()) })
}
