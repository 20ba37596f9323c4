package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

func mustRun(t *testing.T, c *Conn, argv ...string) Result {
	t.Helper()
	r, err := c.Run(t.Context(), argv)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunGivesBackWhatTheCommandLeft(t *testing.T) {
	s, c := setup(t)
	s.handle(func(cmd string, ch ssh.Channel, _ <-chan struct{}) int {
		io.WriteString(ch, "out of "+cmd)
		io.WriteString(ch.Stderr(), "err")
		return 7
	})
	r := mustRun(t, c, "squeue", "-o", "%i %T")
	if string(r.Stdout) != "out of squeue -o '%i %T'" || string(r.Stderr) != "err" || r.Exit != 7 {
		t.Errorf("got %q, %q, %d", r.Stdout, r.Stderr, r.Exit)
	}
}

func TestSignalledCommandHasAStatus(t *testing.T) {
	s, c := setup(t)
	s.handle(func(_ string, ch ssh.Channel, _ <-chan struct{}) int {
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal     string
			CoreDumped bool
			Error      string
			Lang       string
		}{Signal: "TERM"}))
		return -1
	})
	if r := mustRun(t, c, "sleep"); r.Exit != 143 {
		t.Errorf("got %d", r.Exit)
	}
}

func TestOneConnectionServesEverything(t *testing.T) {
	s, c := setup(t)
	block := make(chan struct{})
	full := make(chan struct{}, 100)
	s.handle(func(cmd string, ch ssh.Channel, _ <-chan struct{}) int {
		full <- struct{}{}
		<-block
		return echo(cmd, ch, nil)
	})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			word := fmt.Sprint(i)
			if r, err := c.Run(t.Context(), []string{word}); err != nil || string(r.Stdout) != word {
				t.Errorf("%s: %q, %v", word, r.Stdout, err)
			}
		})
	}
	for range maxSessions {
		<-full
	}
	close(block)
	wg.Wait()
	if logins, peak := s.counts(); logins != 1 || peak > maxSessions {
		t.Errorf("%d logins, %d sessions at once", logins, peak)
	}
}

// A server with a lower MaxSessions than we assume refuses sessions; they queue.
func TestServerAllowsFewerSessions(t *testing.T) {
	s, c := setup(t)
	s.set(func() { s.sessions = 2 })
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := c.Run(t.Context(), []string{fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.set(func() { s.sessions = 0 })
	c.Close()
	_, err := c.pool.Conn(c.host).Run(t.Context(), []string{"true"})
	if !errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) {
		t.Errorf("no session at all: %v", err)
	}
}

func TestCancelKillsTheCommandAndKeepsTheConnection(t *testing.T) {
	s, c := setup(t)
	began, ended := make(chan struct{}), make(chan struct{})
	s.handle(func(cmd string, ch ssh.Channel, killed <-chan struct{}) int {
		if cmd != "hang" {
			return echo(cmd, ch, killed)
		}
		close(began)
		<-killed
		close(ended)
		return -1
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := c.Run(ctx, []string{"hang"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	<-ended
	mustRun(t, c, "true")
	if logins, _ := s.counts(); logins != 1 {
		t.Errorf("%d logins", logins)
	}
}

func TestOutputLimit(t *testing.T) {
	s, c := setup(t)
	s.handle(func(_ string, ch ssh.Channel, killed <-chan struct{}) int {
		for {
			if _, err := ch.Write(make([]byte, 1<<16)); err != nil {
				return -1
			}
		}
	})
	c.most = 1 << 20
	_, err := c.Run(t.Context(), []string{"squeue"})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("got %v", err)
	}
	s.handle(func(_ string, ch ssh.Channel, _ <-chan struct{}) int {
		ch.Write(make([]byte, 1<<20))
		return 0
	})
	if r := mustRun(t, c, "squeue"); len(r.Stdout) != 1<<20 {
		t.Errorf("an answer of just the limit came with %d bytes", len(r.Stdout))
	}
}

func TestConnectionCutWhileACommandRuns(t *testing.T) {
	s, c := setup(t)
	s.handle(func(cmd string, ch ssh.Channel, killed <-chan struct{}) int {
		if cmd == "die" {
			s.cut()
			return -1
		}
		return echo(cmd, ch, killed)
	})
	_, err := c.Run(t.Context(), []string{"die"})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "die") {
		t.Errorf("got %v", err)
	}
	mustRun(t, c, "true")
	if logins, _ := s.counts(); logins != 2 {
		t.Errorf("%d logins", logins)
	}
}

// A connection that broke between two commands is replaced without an error, for
// nothing was sent yet.
func TestConnectionCutBetweenCommands(t *testing.T) {
	s, c := setup(t)
	for range 20 {
		mustRun(t, c, "true")
		s.cut()
	}
	mustRun(t, c, "true")
}

func TestProcessStreams(t *testing.T) {
	s, c := setup(t)
	s.handle(func(_ string, ch ssh.Channel, _ <-chan struct{}) int {
		io.WriteString(ch.Stderr(), "starting")
		io.Copy(ch, ch)
		return 3
	})
	p, err := c.Start(t.Context(), []string{"gpuctl", "agent", "--stdio"})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	for _, word := range []string{"ping", "pong"} {
		io.WriteString(p.Stdin, word)
		if _, err := io.ReadFull(p.Stdout, buf); err != nil || string(buf) != word {
			t.Errorf("got %q, %v", buf, err)
		}
	}
	p.Stdin.Close()
	if rest, err := io.ReadAll(p.Stdout); err != nil || len(rest) != 0 {
		t.Errorf("got %q, %v", rest, err)
	}
	if exit, err := p.Wait(); err != nil || exit != 3 || string(p.Stderr()) != "starting" {
		t.Errorf("got %d, %v, %q", exit, err, p.Stderr())
	}
}

func TestProcessClose(t *testing.T) {
	s, c := setup(t)
	s.handle(func(_ string, _ ssh.Channel, killed <-chan struct{}) int { <-killed; return -1 })
	p, err := c.Start(t.Context(), []string{"hang"})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := p.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPoolCloseEndsRunningCommands(t *testing.T) {
	s, c := setup(t)
	began := make(chan struct{})
	s.handle(func(_ string, ch ssh.Channel, killed <-chan struct{}) int {
		close(began)
		io.Copy(io.Discard, ch)
		<-killed
		return -1
	})
	done := make(chan error, 1)
	go func() {
		p, err := c.Start(t.Context(), []string{"hang"})
		if err == nil {
			_, err = p.Wait()
		}
		done <- err
	}()
	<-began
	c.pool.Close()
	if err := <-done; err == nil {
		t.Error("no error")
	}
	if _, err := c.Run(t.Context(), []string{"true"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := c.pool.Conn(Host{Alias: "other"}).Run(t.Context(), []string{"true"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestDialUnixServesHTTP(t *testing.T) {
	_, c := setup(t)
	socket := filepath.Join(t.TempDir(), "rest.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })}
	go web.Serve(l)
	defer web.Close()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.DialUnix(ctx, socket) }}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("http://slurmrestd/slurm/v0.0.42/ping")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "/slurm/v0.0.42/ping" {
		t.Errorf("got %q", body)
	}
	_, err = c.DialUnix(t.Context(), socket+".absent")
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("got %v", err)
	}
}

func TestDialTCPRefusesBadAddresses(t *testing.T) {
	_, c := setup(t)
	for _, addr := range []string{"", "host", "host:ssh", "host:0", "host:70000"} {
		if _, err := c.DialTCP(t.Context(), addr); !errors.Is(err, ErrInput) {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

func TestRunRefusesWhatCannotBeQuoted(t *testing.T) {
	_, c := setup(t)
	for _, argv := range [][]string{nil, {""}, {"a\x00b"}, {"echo", "\x00"}, {"echo", strings.Repeat("x", maxCommand)}} {
		if _, err := c.Run(t.Context(), argv); !errors.Is(err, ErrInput) {
			t.Errorf("%.20q: %v", argv, err)
		}
	}
}
