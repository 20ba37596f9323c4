package slurmtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// SSHAccess is how to reach the cluster's login node.
type SSHAccess struct {
	Host       string
	Port       int
	User       string
	KeyFile    string // private key that the user and root may read, no passphrase
	KnownHosts string // known_hosts file with the host's key
	Config     string // ssh_config(5) with all of it: ssh -F CONFIG USER@testbed
}

// SSH returns how a user logs in. SLURM_CONF is set there.
func (c *Cluster) SSH(user string) SSHAccess {
	return SSHAccess{
		Host: c.addr, Port: c.port(portSSH), User: user,
		KeyFile: c.keyFile(user), KnownHosts: c.path("ssh", "known_hosts"), Config: c.path("ssh", "config"),
	}
}

// StartSSHD starts sshd and waits until it listens.
func (c *Cluster) StartSSHD(ctx context.Context) error {
	if !exists(c.path("ssh", "sshd_config")) {
		if err := c.writeSSH(); err != nil {
			return err
		}
	}
	root, err := lookup("root")
	if err != nil {
		return err
	}
	if err = ownedDir("/run/sshd", root); err != nil { // for privilege separation
		return err
	}
	err = c.launch(ctx, daemon{name: "sshd", argv: []string{"/usr/sbin/sshd", "-D", "-e", "-f", c.path("ssh", "sshd_config")}})
	if err != nil {
		return err
	}
	return c.waitUp(ctx, "sshd", func() bool { return c.accepts(portSSH) })
}

// StopSSHD stops sshd and cuts every connection.
func (c *Cluster) StopSSHD() { end(0, withDescendants([]process{c.running("sshd")})...) }

// keyFile is the private key of a user: a copy each, since ssh(1) refuses a key that
// others may read. In ssh_config(5) %r is the user to log in as.
func (c *Cluster) keyFile(user string) string { return c.path("ssh", "id_"+user) }

// writeSSH makes the keys and the configuration of sshd and its clients.
func (c *Cluster) writeSSH() error {
	hostPub, hostKey, err1 := newKey()
	userPub, userKey, err2 := newKey()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	a := c.SSH("%r")
	client := fmt.Sprintf("Host testbed\n  HostName %s\n  Port %d\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n",
		a.Host, a.Port, a.KeyFile, a.KnownHosts)
	errs := []error{
		writeAs("root", c.path("ssh", "host_ed25519"), 0o600, hostKey),
		writeAs("root", c.path("ssh", "authorized_keys"), 0o644, userPub),
		writeAs("root", a.KnownHosts, 0o644, fmt.Appendf(nil, "[%s]:%d %s", a.Host, a.Port, hostPub)),
		writeAs("root", a.Config, 0o644, []byte(client)),
		writeAs("root", c.path("ssh", "sshd_config"), 0o644, []byte(c.sshdConfig())),
	}
	for _, u := range people() {
		errs = append(errs, writeAs(u, c.keyFile(u), 0o600, userKey))
	}
	return errors.Join(errs...)
}

// newKey returns a new key pair: a line for authorized_keys, and a file.
func newKey() (public, private []byte, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err1 := ssh.MarshalPrivateKey(key, "gpuctl test bed")
	line, err2 := ssh.NewPublicKey(pub)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	return ssh.MarshalAuthorizedKey(line), pem.EncodeToMemory(block), nil
}

func (c *Cluster) sshdConfig() string {
	return strings.Join([]string{
		"Port " + strconv.Itoa(c.port(portSSH)),
		"ListenAddress " + c.addr,
		"HostKey " + c.path("ssh", "host_ed25519"),
		"PidFile none",
		"AuthorizedKeysFile " + c.path("ssh", "authorized_keys"),
		"StrictModes no",
		"UsePAM no",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin no",
		"AllowUsers " + strings.Join(people(), " "),
		"SetEnv SLURM_CONF=" + c.Conf() + " " + c.mark(),
		"AllowTcpForwarding yes",
		"AllowStreamLocalForwarding yes",
		"MaxSessions 64",
		"MaxStartups 100",
	}, "\n") + "\n"
}
