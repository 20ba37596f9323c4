package agent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/agenttest"
	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// serving is an agent on real sockets, in real time.
func serving(t *testing.T, n *agenttest.Node, serve func(ctx context.Context, v *agent.Server) error) {
	t.Helper()
	o := n.Options()
	o.Interval = 100 * time.Millisecond
	s := agent.New(o)
	desk := agent.NewDesk(s, nil)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() { ended <- serve(ctx, agent.NewServer(s, desk)) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		desk.Wait()
	})
}

// hello reads the first frame; an error means that there was none.
func hello(c io.Reader) (*wire.Hello, error) {
	f, err := wire.NewReader(c, 0).Next()
	return f.Hello, err
}

func TestSocket(t *testing.T) {
	n := agenttest.NewNode(t, 2)
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := agent.ListenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	serving(t, n, func(ctx context.Context, v *agent.Server) error { return v.ServeSocket(ctx, l) })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := agent.ListenSocket(t.Context(), path); err == nil {
		t.Error("two agents on one socket")
	}
	way := &client.SocketWay{Path: path}
	c, err := way.Dial(t.Context(), "gn001")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if h, err := hello(c); err != nil || !slices.Contains(h.Ops, wire.OpGPUReset) {
		t.Errorf("%+v %v", h, err)
	}
}

// dialAs opens the socket as another user: on a thread of its own, which ends with its
// goroutine.
func dialAs(uid int, path string) (net.Conn, error) {
	type dialed struct {
		net.Conn
		error
	}
	out := make(chan dialed)
	go func() {
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			out <- dialed{nil, errno}
			return
		}
		c, err := net.Dial("unix", path)
		out <- dialed{c, err}
	}()
	d := <-out
	return d.Conn, d.error
}

func TestSocketIsNotForOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	n := agenttest.NewNode(t, 1)
	dir, err := os.MkdirTemp("", "gpuctl-socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "agent.sock")
	l, err := agent.ListenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	serving(t, n, func(ctx context.Context, v *agent.Server) error { return v.ServeSocket(ctx, l) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if c, err := dialAs(65534, path); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v %v", c, err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // somebody opened it up: the kernel still says who it is
		t.Fatal(err)
	}
	c, err := dialAs(65534, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if h, err := hello(c); h != nil || err == nil {
		t.Errorf("%+v %v", h, err)
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.crt and NAME.key.
func (a *authority) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(a.path(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return out, key
}

func (a *authority) client(name string, unit ...string) {
	a.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, OrganizationalUnit: unit},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func TestHTTPS(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	a.issue("agent", &x509.Certificate{DNSNames: []string{"gn001"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	a.client("gpuop", "gpuctl-operators")
	a.client("bob")
	stranger.client("gpuop", "gpuctl-operators")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := agent.HTTPSOptions{CertFile: a.path("agent.crt"), KeyFile: a.path("agent.key"), ClientCA: a.path("ca.crt"), Writers: []string{"gpuctl-operators"}}
	n := agenttest.NewNode(t, 2)
	serving(t, n, func(ctx context.Context, v *agent.Server) error { return v.ServeHTTPS(ctx, l, o) })

	dial := func(crt, key string) (io.ReadWriteCloser, error) {
		config, err := client.LoadTLS(a.path("ca.crt"), crt, key)
		if err != nil {
			t.Fatal(err)
		}
		way := &client.HTTPSWay{TLS: config, DialTCP: func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}}
		return way.Dial(t.Context(), "gn001")
	}
	for name, want := range map[string]bool{"gpuop": true, "bob": false} {
		c, err := dial(a.path(name+".crt"), a.path(name+".key"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h, err := hello(c); err != nil || slices.Contains(h.Ops, wire.OpGPUReset) != want {
			t.Errorf("%s: %+v %v", name, h, err)
		}
		c.Close()
	}
	if _, err := dial("", ""); err == nil {
		t.Error("no certificate, and in")
	}
	if _, err := dial(stranger.path("gpuop.crt"), stranger.path("gpuop.key")); err == nil {
		t.Error("a stranger's certificate, and in")
	}
	plainHTTP(t, l.Addr().String())
	noUpgrade(t, a, l.Addr().String())
}

// plainHTTP gets nothing.
func plainHTTP(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET " + wire.StreamPath + " HTTP/1.1\r\nHost: gn001\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(io.LimitReader(c, 1000))
	if strings.Contains(string(answer), "hello") || !strings.Contains(string(answer), "400") {
		t.Errorf("%q", answer)
	}
}

// noUpgrade is told what is missing.
func noUpgrade(t *testing.T, a *authority, addr string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.path("gpuop.crt"), a.path("gpuop.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	c, err := tls.Dial("tcp", addr, &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: "gn001"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET " + wire.StreamPath + " HTTP/1.1\r\nHost: gn001\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(io.LimitReader(c, 1000)); !strings.Contains(string(answer), "426 ") {
		t.Errorf("%q", answer)
	}
}

func TestStrangersTakeNoPlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	n := agenttest.NewNode(t, 1)
	dir, err := os.MkdirTemp("", "gpuctl-socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "agent.sock")
	l, err := agent.ListenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	serving(t, n, func(ctx context.Context, v *agent.Server) error { return v.ServeSocket(ctx, l) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c, err := dialAs(65534, path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = hello(c)
		c.Close()
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if h, err := hello(c); err != nil {
		t.Errorf("%+v %v", h, err)
	}
}
