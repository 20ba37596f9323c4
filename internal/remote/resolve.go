package remote

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// resolver fills a target from a Host and the settings found for it. Later steps
// use the results of earlier ones for their %-tokens.
type resolver struct {
	cfg *sshConfig
	t   *target
}

func (r *resolver) run() error {
	for _, step := range []func() error{
		r.address, r.proxy, r.identities, r.agent, r.knownHosts, r.timing,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) setting(key string) string { return r.cfg.out.value(key) }

func (r *resolver) address() error {
	t := r.t
	t.host = r.t.from.Alias
	if name := r.setting("hostname"); name != "" {
		t.host = strings.NewReplacer("%h", r.t.from.Alias, "%n", r.t.from.Alias, "%%", "%").Replace(name)
	}
	if err := validHost(t.host); err != nil {
		return err
	}
	t.user = cmp.Or(r.t.from.User, r.setting("user"), r.cfg.localUser)
	if t.user == "" {
		return errors.New("no user name is known: set one")
	}
	t.port = r.t.from.Port
	if p := cmp.Or(r.setting("port"), "22"); t.port == 0 {
		var err error
		if t.port, err = parsePort(p); err != nil {
			return err
		}
	}
	t.hostKeyAlias = r.setting("hostkeyalias")
	return nil
}

// proxy takes the first of ProxyJump and ProxyCommand, like ssh(1).
func (r *resolver) proxy() error {
	jump, jumps := r.cfg.out.first["proxyjump"]
	cmd, runs := r.cfg.out.first["proxycommand"]
	runs = runs && !strings.EqualFold(cmd.rest, "none") && (!jumps || cmd.rank < jump.rank)
	if runs && r.t.from.jump == "" {
		return fmt.Errorf("%s reaches it by ProxyCommand %q, and gpuctl runs no such program: say it with ProxyJump", cmd.at, cmd.rest)
	}
	spec := r.t.from.jump
	if spec == "" && jumps && !runs {
		spec = jump.args[0]
	}
	spec, err := r.expand(spec)
	if err != nil {
		return err
	}
	r.t.jumps, err = parseJumps(spec)
	return err
}

func (r *resolver) identities() error {
	t := r.t
	files := r.t.from.IdentityFiles
	if len(files) == 0 {
		files = r.cfg.out.many["identityfile"]
	}
	if len(files) == 0 && r.cfg.home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk"} {
			files = append(files, filepath.Join(r.cfg.home, ".ssh", name))
		}
	}
	var err error
	if t.identities, err = r.paths(files); err != nil {
		return err
	}
	t.certificates, err = r.paths(r.cfg.out.many["certificatefile"])
	t.identitiesOnly = strings.EqualFold(r.setting("identitiesonly"), "yes")
	return err
}

// agent finds the agent's socket. IdentityAgent may name a socket, an environment
// variable, SSH_AUTH_SOCK as a word, or none.
func (r *resolver) agent() error {
	v := cmp.Or(r.setting("identityagent"), "SSH_AUTH_SOCK")
	switch {
	case strings.EqualFold(v, "none"):
		return nil
	case v == "SSH_AUTH_SOCK":
		r.t.agent = os.Getenv(v)
		return nil
	case strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "${"):
		r.t.agent = os.Getenv(v[1:])
		return nil
	}
	var err error
	r.t.agent, err = r.expand(v)
	return err
}

func (r *resolver) knownHosts() error {
	if v := r.setting("stricthostkeychecking"); v != "" && !strings.EqualFold(v, "yes") && !strings.EqualFold(v, "ask") {
		r.t.lax = r.cfg.out.first["stricthostkeychecking"].at
	}
	if len(r.t.from.KnownHosts) > 0 {
		var err error
		r.t.knownHosts, err = r.paths(r.t.from.KnownHosts)
		return err
	}
	user := r.cfg.out.first["userknownhostsfile"].args
	if len(user) == 0 && r.cfg.home != "" {
		user = []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}
	}
	global := r.cfg.out.first["globalknownhostsfile"].args
	if len(global) == 0 {
		global = []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	}
	files, err := r.paths(append(slices.Clip(user), global...))
	r.t.knownHosts = files
	return err
}

func (r *resolver) timing() error {
	t := r.t
	t.timeout, t.alive, t.aliveMax = defaultTimeout, defaultAlive, defaultAliveMax
	if v := r.setting("connecttimeout"); v != "" && !strings.EqualFold(v, "none") {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("ConnectTimeout %q is not a number of seconds", v)
		}
		t.timeout = time.Duration(n) * time.Second
	}
	if v := r.setting("serveraliveinterval"); v != "" {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil {
			return fmt.Errorf("ServerAliveInterval %q is not a number of seconds", v)
		}
		if n > 0 { // 0, ssh's own default, would leave a dead link unnoticed
			t.alive = time.Duration(n) * time.Second
		}
	}
	if v := r.setting("serveralivecountmax"); v != "" {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("ServerAliveCountMax %q is not a number", v)
		}
		t.aliveMax = int(n)
	}
	return nil
}

// paths expands file names and leaves out "none".
func (r *resolver) paths(files []string) ([]string, error) {
	var out []string
	for _, f := range files {
		if strings.EqualFold(f, "none") {
			continue
		}
		p, err := r.expand(f)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// expand replaces "~", ${VARIABLE} and the %-tokens of ssh_config(5).
func (r *resolver) expand(s string) (string, error) {
	s = expandHome(s, r.cfg.home)
	t := r.t
	hostname, _ := os.Hostname()
	short, _, _ := strings.Cut(hostname, ".")
	tokens := map[byte]string{
		'%': "%", 'd': r.cfg.home, 'h': t.host, 'n': t.from.Alias, 'p': strconv.Itoa(t.port), 'r': t.user,
		'u': r.cfg.localUser, 'i': strconv.Itoa(os.Getuid()), 'L': short, 'l': hostname,
		'k': cmp.Or(t.hostKeyAlias, t.from.Alias),
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			i++
			if i == len(s) {
				return "", fmt.Errorf("%q ends on a lone %%", s)
			}
			v, ok := tokens[s[i]]
			if !ok {
				return "", fmt.Errorf("%q has the token %%%c, which is not known here", s, s[i])
			}
			b.WriteString(v)
		case strings.HasPrefix(s[i:], "${") && strings.Contains(s[i:], "}"):
			end := i + strings.IndexByte(s[i:], '}')
			v, ok := os.LookupEnv(s[i+2 : end])
			if !ok {
				return "", fmt.Errorf("%q needs the variable %s, which is not set", s, s[i+2:end])
			}
			b.WriteString(v)
			i = end
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
