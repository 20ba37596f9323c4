package remote

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// server is an SSH server in this process, on loopback or on pipes.
type server struct {
	t        testing.TB
	cfg      *ssh.ServerConfig
	keys     []ssh.Signer
	exec     func(cmd string, ch ssh.Channel, killed <-chan struct{}) int
	sessions int // as MaxSessions in sshd_config(5), for each connection

	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	logins int
	open   int
	peak   int
}

// newServer starts a server that lets user alice in with key, and serves until the
// test ends. By then no goroutine of it, or of its clients, may be left.
func newServer(t testing.TB, key ssh.PublicKey, hostKeys ...ssh.Signer) *server {
	t.Helper()
	if len(hostKeys) == 0 {
		hostKeys = []ssh.Signer{newKey(t, "ed25519")}
	}
	s := &server{t: t, keys: hostKeys, sessions: 10, exec: echo}
	s.cfg = &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if key == nil || meta.User() != "alice" || string(offered.Marshal()) != string(key.Marshal()) {
			return nil, fmt.Errorf("not accepted")
		}
		return nil, nil
	}}
	for _, k := range hostKeys {
		s.cfg.AddHostKey(k)
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.work.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *server) stop() {
	s.listener.Close()
	s.cut()
	s.work.Wait()
	noGoroutines(s.t)
}

func noGoroutines(t testing.TB) {
	buf := make([]byte, 1<<20)
	var stacks string
	for range 500 {
		stacks = string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "x/crypto/ssh") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("goroutines are left:\n%s", stacks)
}

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.serve(conn) })
	}
}

// cut breaks all connections without a word.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

func (s *server) serve(raw net.Conn) {
	s.mu.Lock()
	s.conns = append(s.conns, raw)
	cfg, slots := s.cfg, make(chan struct{}, s.sessions)
	s.mu.Unlock()
	defer raw.Close()
	_, channels, requests, err := ssh.NewServerConn(raw, cfg)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.logins++
	s.mu.Unlock()
	s.work.Go(func() { ssh.DiscardRequests(requests) })
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
			select {
			case slots <- struct{}{}:
				s.work.Go(func() { defer func() { <-slots }(); s.session(ch) })
			default:
				ch.Reject(ssh.Prohibited, "open failed")
			}
		case "direct-tcpip":
			var m struct {
				Host     string
				Port     uint32
				From     string
				FromPort uint32
			}
			if ssh.Unmarshal(ch.ExtraData(), &m) == nil {
				s.work.Go(func() { s.forward(ch, "tcp", fmt.Sprintf("%s:%d", m.Host, m.Port)) })
			}
		case "direct-streamlocal@openssh.com":
			var m struct {
				Path string
				A    string
				B    uint32
			}
			if ssh.Unmarshal(ch.ExtraData(), &m) == nil {
				s.work.Go(func() { s.forward(ch, "unix", m.Path) })
			}
		}
	}
}

func (s *server) forward(nc ssh.NewChannel, network, addr string) {
	conn, err := net.Dial(network, addr)
	if err != nil {
		nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, requests, err := nc.Accept()
	if err != nil {
		conn.Close()
		return
	}
	s.work.Go(func() { ssh.DiscardRequests(requests) })
	s.work.Go(func() { io.Copy(ch, conn); ch.Close(); conn.Close() })
	io.Copy(conn, ch)
	conn.Close()
	ch.Close()
}

func (s *server) session(nc ssh.NewChannel) {
	ch, requests, err := nc.Accept()
	if err != nil {
		return
	}
	killed := make(chan struct{})
	var kill sync.Once
	var running sync.WaitGroup
	for r := range requests {
		switch r.Type {
		case "exec":
			cmd := string(r.Payload[4:])
			r.Reply(true, nil)
			running.Go(func() { s.run(cmd, ch, killed) })
		case "signal":
			kill.Do(func() { close(killed) })
		default:
			r.Reply(false, nil)
		}
	}
	kill.Do(func() { close(killed) }) // sshd's children see their pipes end
	running.Wait()
}

func (s *server) run(cmd string, ch ssh.Channel, killed chan struct{}) {
	s.mu.Lock()
	s.open++
	s.peak = max(s.peak, s.open)
	exec := s.exec
	s.mu.Unlock()
	status := exec(cmd, ch, killed)
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	if status >= 0 {
		ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
	}
	ch.Close()
}

// set changes the server while it serves.
func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) handle(exec func(cmd string, ch ssh.Channel, killed <-chan struct{}) int) {
	s.set(func() { s.exec = exec })
}

func (s *server) counts() (logins, peak int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins, s.peak
}

// echo answers a command with itself.
func echo(cmd string, ch ssh.Channel, _ <-chan struct{}) int {
	io.WriteString(ch, cmd)
	return 0
}

func (s *server) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// host is a Host for alice at s, with s known and key as the only identity.
func (s *server) host(key string) Host {
	s.t.Helper()
	return Host{
		Alias: "127.0.0.1", User: "alice", Port: s.port(), ConfigFile: "none",
		IdentityFiles: []string{key}, KnownHosts: []string{s.knownHosts(s.keys...)},
	}
}

func (s *server) knownHosts(keys ...ssh.Signer) string {
	s.t.Helper()
	var lines []string
	for _, k := range keys {
		lines = append(lines, knownhosts.Line([]string{s.listener.Addr().String()}, k.PublicKey()))
	}
	return writeFile(s.t, "known_hosts", strings.Join(lines, "\n")+"\n")
}

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newKey makes a key pair.
func newKey(t testing.TB, kind string) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(rawKey(t, kind))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rawKey(t testing.TB, kind string) any {
	t.Helper()
	var key any
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil || key == nil {
		t.Fatalf("key of kind %s: %v", kind, err)
	}
	return key
}

// keyFile makes a key pair and writes it in OpenSSH's format.
func keyFile(t testing.TB, kind, passphrase string) (path string, signer ssh.Signer) {
	t.Helper()
	raw := rawKey(t, kind)
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(raw, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(raw); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "id_"+kind, string(pem.EncodeToMemory(block))), signer
}

// newPool returns a Pool that is closed before the servers stop.
func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	t.Setenv("SSH_AUTH_SOCK", "")
	p := NewPool(o)
	t.Cleanup(func() { p.Close() })
	return p
}

// setup is a server, a host that reaches it and a pool.
func setup(t testing.TB) (*server, *Conn) {
	t.Helper()
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	return s, newPool(t, Options{}).Conn(s.host(path))
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
