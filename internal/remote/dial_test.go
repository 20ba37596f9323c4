package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"
)

// chain is a configuration in which inner is reached through middle and that
// through outer; all three are servers of this test.
func chain(t *testing.T) (servers map[string]*server, h Host) {
	t.Helper()
	path, key := keyFile(t, "ed25519", "")
	servers = map[string]*server{}
	var config, known strings.Builder
	for _, name := range []string{"outer", "middle", "inner"} {
		s := newServer(t, key.PublicKey())
		servers[name] = s
		fmt.Fprintf(&config, "Host %s\n  HostName 127.0.0.1\n  Port %d\n  User alice\n", name, s.port())
		known.WriteString(knownhosts.Line([]string{s.listener.Addr().String()}, s.keys[0].PublicKey()) + "\n")
	}
	config.WriteString("Host middle\n  ProxyJump outer\nHost inner\n  ProxyJump middle\nHost direct\n  HostName inner\n")
	return servers, Host{
		Alias: "inner", ConfigFile: writeFile(t, "config", config.String()),
		IdentityFiles: []string{path}, KnownHosts: []string{writeFile(t, "known_hosts", known.String())},
	}
}

func logins(t *testing.T, servers map[string]*server, want string) {
	t.Helper()
	var got []string
	for _, name := range []string{"outer", "middle", "inner"} {
		n, _ := servers[name].counts()
		got = append(got, fmt.Sprintf("%s %d", name, n))
	}
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("logins: %s; want %s", s, want)
	}
}

func TestProxyJumpChain(t *testing.T) {
	servers, h := chain(t)
	p := newPool(t, Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := p.Conn(h).Run(t.Context(), []string{"true"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// The jump hosts' connections serve their own commands too.
	for _, name := range []string{"outer", "middle"} {
		jump := h
		jump.Alias = name
		mustRun(t, p.Conn(jump), "true")
	}
	logins(t, servers, "outer 1, middle 1, inner 1")
	servers["middle"].cut()
	mustRun(t, p.Conn(h), "true")
	logins(t, servers, "outer 1, middle 2, inner 2")
}

func TestProxyJumpList(t *testing.T) {
	servers, h := chain(t)
	h.jump = "outer,middle"
	p := newPool(t, Options{})
	mustRun(t, p.Conn(h), "true")
	logins(t, servers, "outer 1, middle 1, inner 1")
}

func TestJumpHostCannotReachTheTarget(t *testing.T) {
	servers, h := chain(t)
	servers["inner"].listener.Close()
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "inner: jump host middle: ") {
		t.Errorf("got %v", err)
	}
}

func TestProxyJumpLoop(t *testing.T) {
	h := Host{Alias: "login1", ConfigFile: writeFile(t, "config", "Host *\n  ProxyJump jump\n")}
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "back to itself") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableInPlainWords(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for name, c := range map[string]struct {
		host  Host
		words string
	}{
		"refused":  {Host{Alias: "127.0.0.1", Port: port, ConfigFile: "none"}, "does sshd listen"},
		"no name":  {Host{Alias: "login1.invalid", ConfigFile: "none"}, "does not resolve"},
		"bad name": {Host{Alias: "-oProxyCommand=x", ConfigFile: "none"}, "host name"},
	} {
		err := newPool(t, Options{}).Conn(c.host).Connect(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "bad name" && !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The address is looked up for each connection, so a host that moved is found.
func TestReconnectDialsAnew(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	hostKey := newKey(t, "ed25519")
	first, second := newServer(t, key.PublicKey(), hostKey), newServer(t, key.PublicKey(), hostKey)
	at := first
	p := newPool(t, Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at.listener.Addr().String())
	}})
	c := p.Conn(first.host(path))
	mustRun(t, c, "true")
	at = second
	first.cut()
	mustRun(t, c, "true")
	if n, _ := second.counts(); n != 1 {
		t.Errorf("%d logins at the new address", n)
	}
}

// piped is a server reached over an in-memory pipe, so that time can be faked.
func piped(t *testing.T) (c *Conn, vanish func()) {
	t.Helper()
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	s.listener.Close()
	s.work.Wait()
	var ours *pipeEnd
	p := newPool(t, Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		var theirs *pipeEnd
		ours, theirs = newPipe()
		s.work.Go(func() { s.serve(theirs) })
		return ours, nil
	}})
	return p.Conn(s.host(path)), func() { ours.vanish() }
}

func TestKeepAliveNoticesASilentLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, vanish := piped(t)
		mustRun(t, c, "true")
		time.Sleep(time.Hour) // an idle connection that answers stays
		l := c.live
		if l.dead() {
			t.Fatalf("idle connection ended: %v", l.reason())
		}
		vanish()
		began := time.Now()
		mustRun(t, c, "true") // nothing of it was sent before the loss was noticed
		if took := time.Since(began); took > defaultAlive*(defaultAliveMax+1) {
			t.Errorf("noticed after %s", took)
		}
		if err := l.reason(); !strings.Contains(err.Error(), "no sign of life for 45s") {
			t.Errorf("got %v", err)
		}
	})
}

func TestHandshakeHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, _ := newPipe()
			return ours, nil
		}})
		began := time.Now()
		err := p.Conn(Host{Alias: "login1", ConfigFile: "none", KnownHosts: []string{"none"}}).Connect(t.Context())
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "within 10s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != defaultTimeout {
			t.Errorf("took %s", took)
		}
	})
}

func TestCallersPatienceDoesNotEndTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := piped(t)
		dial := c.pool.opts.Dial
		c.pool.opts.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
			time.Sleep(5 * time.Second)
			return dial(ctx, n, a)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Run(ctx, []string{"true"})
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		mustRun(t, c, "true")
	})
}

func TestThroughStandsInForTheConfiguration(t *testing.T) {
	h := Host{Alias: "gpu1", ConfigFile: writeFile(t, "config", "Host gpu1\n  ProxyJump other\n")}
	got, err := h.Through("alice@login1:2200").resolve()
	if err != nil || len(got.jumps) != 1 || got.jumps[0] != (hop{"alice", "login1", 2200}) {
		t.Errorf("%v %+v", err, got.jumps)
	}
	if got, err = h.Through("").resolve(); err != nil || got.jumps[0].host != "other" {
		t.Errorf("%v %+v", err, got.jumps)
	}
}
