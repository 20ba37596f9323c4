package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startMunge starts munged on a socket of the cluster's own.
func (c *Cluster) startMunge(ctx context.Context) error {
	err := c.launch(ctx, daemon{name: "munged", user: "munge", argv: []string{
		"/usr/sbin/munged", "--foreground", "--force", "--num-threads=4",
		"--key-file=" + c.path("munge", "key"), "--socket=" + c.mungeSocket(),
		"--pid-file=" + c.path("munge", "pid"), "--log-file=" + c.path("munge", "log"), "--seed-file=" + c.path("munge", "seed"),
	}})
	if err != nil {
		return err
	}
	return c.waitUp(ctx, "munged", func() bool { return exists(c.mungeSocket()) })
}

// startDatabase makes an empty MariaDB with the account of slurmdbd, and starts it.
func (c *Cluster) startDatabase(ctx context.Context) error {
	data := c.path("mysql", "data")
	_, err := c.As(ctx, "root", "mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir="+data,
		"--skip-test-db", "--auth-root-authentication-method=socket", "--innodb-log-file-size=16M")
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	sock := c.path("mysql", "sock")
	err = c.launch(ctx, daemon{name: "mariadbd", user: "mysql", argv: []string{
		"/usr/sbin/mariadbd", "--no-defaults", "--datadir=" + data, "--socket=" + sock, "--pid-file=" + c.path("mysql", "pid"),
		"--bind-address=" + c.addr, "--port=" + strconv.Itoa(c.port(portDatabase)), "--skip-name-resolve",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--innodb-lock-wait-timeout=900",
		"--innodb-flush-log-at-trx-commit=0", "--max-allowed-packet=16M", "--performance-schema=OFF",
	}})
	if err != nil {
		return err
	}
	if err := c.waitUp(ctx, "mariadbd", func() bool { return exists(sock) && c.accepts(portDatabase) }); err != nil {
		return err
	}
	return c.createDatabase(ctx, sock)
}

// createDatabase lets slurmdbd in; it creates its tables itself.
func (c *Cluster) createDatabase(ctx context.Context, sock string) error {
	sql := fmt.Sprintf("create database slurm_acct; create user 'slurm'@'%s' identified by '%s'; grant all on slurm_acct.* to 'slurm'@'%[1]s';", c.addr, c.dbPass)
	if _, err := c.run(ctx, "root", sql, []string{"mariadb", "--no-defaults", "--socket=" + sock}); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return nil
}

// startAccounting starts slurmdbd and makes the cluster and its users known to it.
// slurmctld is not there yet on purpose: it would be told of each change, half a
// second each.
func (c *Cluster) startAccounting(ctx context.Context) error {
	if err := c.launch(ctx, daemon{name: "slurmdbd", user: "slurm", argv: []string{"/usr/sbin/slurmdbd", "-D"}}); err != nil {
		return err
	}
	if err := c.waitUp(ctx, "slurmdbd", func() bool { return c.accepts(portAccounting) }); err != nil {
		return err
	}
	return errors.Join(
		c.write("users", "root", 0o644, sacctmgrUsers),
		c.sacctmgr(ctx, "add", "qos", limitedQOS),
		c.sacctmgr(ctx, "load", "file="+c.path("etc", "users")),
	)
}

// limitedQOS is a QOS that all users may use: four GPUs each. Jobs over the limit
// wait rather than being refused.
const limitedQOS = "gpulimit"

// sacctmgrUsers is the accounts and the rights of the users, as sacctmgr(1) loads them.
const sacctmgrUsers = `Cluster - 'gpulab':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'research':Description='testbed':Organization='testbed':QOS='normal,gpulimit'
Account - 'prod':Description='testbed':Organization='testbed':QOS='normal,gpulimit'
Parent - 'research'
User - 'alice':DefaultAccount='research'
User - 'bob':DefaultAccount='research'
Parent - 'prod'
User - 'gpuop':DefaultAccount='prod':AdminLevel='Operator'
User - 'gpuadm':DefaultAccount='prod':AdminLevel='Administrator'
`

// limitQOS sets the limit of limitedQOS: the resource gres/gpu exists in slurmdbd
// only once slurmctld has registered there.
func (c *Cluster) limitQOS(ctx context.Context) error {
	err := c.Wait(ctx, "gres/gpu in slurmdbd", func() bool {
		out, err := c.As(ctx, "root", "sacctmgr", "-nP", "show", "tres")
		return err == nil && strings.Contains(out, "gres|gpu|")
	})
	return errors.Join(err, c.sacctmgr(ctx, "modify", "qos", limitedQOS, "set", "MaxTRESPerUser=gres/gpu=4"))
}

func (c *Cluster) sacctmgr(ctx context.Context, args ...string) error {
	_, err := c.As(ctx, "root", append([]string{"sacctmgr", "-iQ"}, args...)...)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
