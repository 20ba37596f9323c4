package remote

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// resolved is alias with a home folder that holds the given files below ~/.ssh.
func resolved(t *testing.T, h Host, files map[string]string) (target, error) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	for name, text := range files {
		path := filepath.Join(home, ".ssh", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h.resolve()
}

func TestResolve(t *testing.T) {
	files := map[string]string{
		"config": `
# a comment
Include conf.d/*.conf
Host login*  !login9
	HostName = %h.example.org   # trailing comment
	user "gpuop"
	PORT 2222
	IdentityFile ~/.ssh/id_%r
	IdentityFile "~/.ssh/id with blank"
	CertificateFile ${HOME}/.ssh/cert.pub
	UserKnownHostsFile ~/.ssh/kh1 ~/.ssh/kh2
	ConnectTimeout 3
	ServerAliveInterval 7
	ServerAliveCountMax 2
	ProxyJump alice@jump:2200,[fd00::1]:22
Host login1
	User never
	HostKeyAlias loginkey
	IdentitiesOnly yes
	IdentityAgent none
`,
		"conf.d/a.conf": "Host login2\n  User early\nHost elsewhere\n Port 1\n",
	}
	got, err := resolved(t, Host{Alias: "login1"}, files)
	if err != nil {
		t.Fatal(err)
	}
	home := os.Getenv("HOME")
	if got.host != "login1.example.org" || got.user != "gpuop" || got.port != 2222 || got.hostKeyAlias != "loginkey" {
		t.Errorf("address: %+v", got)
	}
	if want := []string{home + "/.ssh/id_gpuop", home + "/.ssh/id with blank"}; !slices.Equal(got.identities, want) {
		t.Errorf("identities: %q", got.identities)
	}
	if !slices.Equal(got.certificates, []string{home + "/.ssh/cert.pub"}) || !got.identitiesOnly || got.agent != "" {
		t.Errorf("auth: %+v", got)
	}
	if !slices.Equal(got.knownHosts[:2], []string{home + "/.ssh/kh1", home + "/.ssh/kh2"}) {
		t.Errorf("known hosts: %q", got.knownHosts)
	}
	if got.timeout != 3*time.Second || got.alive != 7*time.Second || got.aliveMax != 2 {
		t.Errorf("timing: %+v", got)
	}
	if !slices.Equal(got.jumps, []hop{{"alice", "jump", 2200}, {"", "fd00::1", 22}}) {
		t.Errorf("jumps: %+v", got.jumps)
	}
	if got.keyAddr() != "loginkey:22" {
		t.Errorf("key address: %s", got.keyAddr())
	}
	if two, _ := resolved(t, Host{Alias: "login2"}, files); two.user != "early" {
		t.Errorf("included file comes first: %s", two.user)
	}
	nine, _ := resolved(t, Host{Alias: "login9"}, files)
	if nine.host != "login9" || nine.port != 22 || nine.agent != "/run/agent" || len(nine.identities) != 5 {
		t.Errorf("a negated host: %+v", nine)
	}
	own, _ := resolved(t, Host{Alias: "login1", User: "bob", Port: 22, IdentityFiles: []string{"~/k"}, KnownHosts: []string{"~/h"}}, files)
	if own.user != "bob" || own.port != 22 || !strings.HasSuffix(own.identities[0], "/k") || len(own.knownHosts) != 1 {
		t.Errorf("what is asked for wins: %+v", own)
	}
}

func TestMatch(t *testing.T) {
	const config = `
Match host *.example.org user bob
	Port 1001
Match originalhost short
	HostName short.example.org
Match host short.example.org !user bob
	Port 1002
Match exec "touch /tmp/never"
	Port 1003
Match localnetwork 10.0.0.0/8
	Port 1004
Match all
	User gpuop
Match final all
	Port 1005
	User never
`
	for alias, want := range map[string]int{"a.example.org": 1005, "short": 1002, "other": 1005} {
		got, err := resolved(t, Host{Alias: alias}, map[string]string{"config": config})
		if err != nil {
			t.Fatal(err)
		}
		if got.port != want || got.user != "gpuop" {
			t.Errorf("%s: port %d user %s, want %d", alias, got.port, got.user, want)
		}
		if len(got.notes) != 2 || !strings.Contains(got.notes[0], "Match exec") {
			t.Errorf("notes: %q", got.notes)
		}
	}
	if got, _ := resolved(t, Host{Alias: "a.example.org", User: "bob"}, map[string]string{"config": config}); got.port != 1001 {
		t.Errorf("user bob: port %d", got.port)
	}
}

func TestConfigThatCannotBeFollowed(t *testing.T) {
	for name, c := range map[string]struct{ config, words string }{
		"proxy command":  {"ProxyCommand nc %h %p\n", "say it with ProxyJump"},
		"command first":  {"ProxyCommand nc %h %p\nProxyJump a\n", "ProxyJump"},
		"bad port":       {"Port ssh\n", "not a number"},
		"bad token":      {"IdentityFile ~/%z\n", "%z"},
		"lone percent":   {"IdentityFile x%\n", "lone %"},
		"no variable":    {"IdentityFile ${NO_SUCH_VARIABLE}\n", "NO_SUCH_VARIABLE"},
		"bad timeout":    {"ConnectTimeout soon\n", "seconds"},
		"bad interval":   {"ServerAliveInterval x\n", "seconds"},
		"bad count":      {"ServerAliveCountMax 0\n", "number"},
		"bad jump":       {"ProxyJump a,-b\n", "host name"},
		"include itself": {"Include config\n", "too deeply"},
	} {
		_, err := resolved(t, Host{Alias: "login1"}, map[string]string{"config": c.config})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "login1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, config := range map[string]string{
		"jump first":     "ProxyJump a\nProxyCommand nc %h %p\n",
		"no command":     "ProxyCommand none\nProxyJump a\n",
		"unclosed quote": "User \"bob\nProxyJump a\n",
	} {
		got, err := resolved(t, Host{Alias: "login1"}, map[string]string{"config": config})
		if err != nil || len(got.jumps) != 1 {
			t.Errorf("%s: %+v, %v", name, got.jumps, err)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*.org", "a.b.org", true},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"gpu-*", "gpu-", true},
		{strings.Repeat("*a", 40) + "b", strings.Repeat("a", 4000), false},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%.20q, %.20q) = %v", c.pattern, c.s, got)
		}
	}
}

func FuzzSSHConfig(f *testing.F) {
	f.Add("Host *\n  User \"a b\"\nMatch host x !user y,z\n Port=22 # c\n", "login1")
	f.Add("Match\nMatch host\nMatch !all\nInclude\nHost\nHost !a\n=\n\"\n\\\n", "x")
	f.Add("HostName %%%h\nProxyJump ssh://a@[::1]:22/,b\nIdentityFile %d/${HOME}/~\n", "h")
	f.Fuzz(func(t *testing.T, text, alias string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // reads whatever files the pattern names
		}
		h := Host{Alias: alias, ConfigFile: filepath.Join(t.TempDir(), "config")}
		if err := os.WriteFile(h.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := h.resolve()
		if err == nil && (got.port < 1 || got.port > 65535 || got.user == "" || validHost(got.host) != nil) {
			t.Errorf("accepted %+v", got)
		}
	})
}
