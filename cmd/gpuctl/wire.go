package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// slurmClient makes the client of one Slurm cluster: its transports, the cheapest
// to read over first. Nothing is connected yet.
func slurmClient(c *config.Slurm, pool *remote.Pool) (*slurm.Client, error) {
	var ways []slurm.Transport
	if c.Local != nil {
		ways = append(ways, slurm.NewCommandTransport(slurm.NewExecRunner(slurm.ExecOptions{Conf: c.Local.Conf})))
	}
	if c.SSH != nil {
		runner := slurm.NewSSHRunner(pool.Conn(sshHost(c.SSH)), slurm.SSHOptions{Conf: c.SSH.Conf})
		ways = append(ways, slurm.NewCommandTransport(runner))
	}
	if c.REST != nil {
		rest, err := restTransport(c.REST, pool)
		if err != nil {
			return nil, err
		}
		ways = append(ways, rest)
	}
	return slurm.New(ways...), nil
}

func sshHost(s *config.SSH) remote.Host {
	return remote.Host{
		Alias: s.Host, User: s.User, Port: s.Port, ConfigFile: s.ConfigFile,
		IdentityFiles: s.IdentityFiles, KnownHosts: s.KnownHosts,
	}
}

func restTransport(c *config.REST, pool *remote.Pool) (slurm.Transport, error) {
	o := slurm.RESTOptions{
		URL: c.URL, Socket: c.Socket, User: c.User, Token: tokenSource(c), APIVersion: c.APIVersion,
		CAFile: c.CAFile, Timeout: time.Duration(c.Timeout),
	}
	if c.SSH != nil {
		conn := pool.Conn(sshHost(c.SSH))
		o.Socket, o.Name = "", "rest over ssh "+c.SSH.Host
		dial, err := forwarded(c, conn)
		if err != nil {
			return nil, err
		}
		o.Dial = dial
	}
	return slurm.NewREST(o)
}

// forwarded dials slurmrestd as the SSH host sees it.
func forwarded(c *config.REST, conn *remote.Conn) (func(context.Context) (net.Conn, error), error) {
	if c.Socket != "" {
		return func(ctx context.Context) (net.Conn, error) { return conn.DialUnix(ctx, c.Socket) }, nil
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("slurmrestd url: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	return func(ctx context.Context) (net.Conn, error) { return conn.DialTCP(ctx, addr) }, nil
}

func tokenSource(c *config.REST) slurm.TokenSource {
	switch {
	case c.TokenFile != "":
		return slurm.FileToken(c.TokenFile)
	case c.TokenEnv != "":
		return slurm.EnvToken(c.TokenEnv)
	case len(c.TokenCommand) > 0:
		return slurm.CommandToken(slurm.NewExecRunner(slurm.ExecOptions{}).Run, c.TokenCommand)
	}
	return nil
}
