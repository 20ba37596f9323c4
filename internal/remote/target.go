package remote

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Host names a host as ssh(1) would be told it. The zero value of a field leaves
// the say to the SSH configuration.
type Host struct {
	// Alias is the name as given to ssh(1): an alias of ssh_config, or a host name.
	Alias string
	User  string
	Port  int
	// ConfigFile is read in place of ~/.ssh/config and /etc/ssh/ssh_config; "none"
	// reads no file. It holds for the jump hosts as well.
	ConfigFile string
	// IdentityFiles and KnownHosts stand in for those of the configuration, for
	// the jump hosts as well.
	IdentityFiles []string
	KnownHosts    []string
	// jump overrides ProxyJump, for the hops of a chain.
	jump string
}

// Through returns h reached through a jump host, written as for ssh -J, in place of
// what the configuration says. An empty jump leaves the say to it.
func (h Host) Through(jump string) Host {
	h.jump = jump
	return h
}

// Defaults that ssh_config(5) leaves open or that suit a console better.
const (
	defaultTimeout  = 10 * time.Second
	defaultAlive    = 15 * time.Second
	defaultAliveMax = 3
)

// target is a Host resolved: everything that is needed to connect.
type target struct {
	from           Host
	host, user     string
	port           int
	hostKeyAlias   string
	identities     []string
	certificates   []string
	identitiesOnly bool
	agent          string // socket; empty: none
	knownHosts     []string
	jumps          []hop
	timeout        time.Duration
	alive          time.Duration
	aliveMax       int
	lax            string   // where StrictHostKeyChecking is switched off
	notes          []string // lines of the configuration that were left out
}

// hop is one element of ProxyJump.
type hop struct {
	user, host string
	port       int
}

func (t target) addr() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// keyAddr is the address under which known_hosts holds the keys.
func (t target) keyAddr() string {
	if t.hostKeyAlias != "" {
		return net.JoinHostPort(strings.ToLower(t.hostKeyAlias), "22")
	}
	return net.JoinHostPort(strings.ToLower(t.host), strconv.Itoa(t.port))
}

// resolve reads the SSH configuration for h.
func (h Host) resolve() (target, error) {
	if err := validHost(h.Alias); err != nil {
		return target{}, err
	}
	home, _ := os.UserHomeDir()
	h.ConfigFile = expandHome(h.ConfigFile, home)
	c := sshConfig{alias: h.Alias, user: h.User, localUser: localUser(), home: home}
	if err := c.read(h.configFiles(home)); err != nil {
		return target{}, fmt.Errorf("%s: %w", h.Alias, err)
	}
	t := target{from: h, notes: c.out.notes}
	r := resolver{cfg: &c, t: &t}
	if err := r.run(); err != nil {
		return target{}, fmt.Errorf("%s: %w: %w", h.Alias, ErrConfig, err)
	}
	return t, nil
}

// validHost keeps out what could never be a host name and would be taken for
// something else by the programs we tell people to run.
func validHost(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("'\"`$\\;&|<>(){}*?!#", r)
	}) {
		return fmt.Errorf("%w: host name %q", ErrInput, name)
	}
	return nil
}

func (h Host) configFiles(home string) []string {
	switch h.ConfigFile {
	case "none":
		return nil
	case "":
		files := []string{"/etc/ssh/ssh_config"}
		if home != "" {
			files = append([]string{filepath.Join(home, ".ssh", "config")}, files...)
		}
		return files
	}
	return []string{h.ConfigFile}
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// parseJumps reads the value of ProxyJump: [user@]host[:port] or ssh://... with
// commas between.
func parseJumps(s string) ([]hop, error) {
	if s == "" || strings.EqualFold(s, "none") {
		return nil, nil
	}
	var hops []hop
	for part := range strings.SplitSeq(s, ",") {
		h, err := parseHop(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("ProxyJump %s: %w", s, err)
		}
		hops = append(hops, h)
	}
	return hops, nil
}

func parseHop(s string) (hop, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "ssh://"), "/")
	var h hop
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		h.user, s = s[:i], s[i+1:]
	}
	h.host = strings.Trim(s, "[]")
	if host, port, err := net.SplitHostPort(s); err == nil {
		h.host = host
		if h.port, err = parsePort(port); err != nil {
			return hop{}, err
		}
	}
	return h, validHost(h.host)
}

func parsePort(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", s)
	}
	return n, nil
}
