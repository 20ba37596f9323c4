package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func TestKeysOfEveryKind(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			path, key := keyFile(t, kind, "")
			s := newServer(t, key.PublicKey())
			if err := newPool(t, Options{}).Conn(s.host(path)).Connect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefusalNamesWhatWasTried(t *testing.T) {
	good, _ := keyFile(t, "ed25519", "")
	locked, _ := keyFile(t, "rsa", "secret")
	s := newServer(t, newKey(t, "ed25519").PublicKey())
	h := s.host(good)
	h.IdentityFiles = []string{good, locked, writeFile(t, "id_odd", "no key at all"), "/nonexistent/id"}
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"alice@127.0.0.1", good, "ED25519 key SHA256:", locked, "ssh-add " + locked, "id_odd (is no private key", "no agent"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("a file that is not there is no news: %v", err)
	}
}

func TestNothingToOffer(t *testing.T) {
	s := newServer(t, nil)
	h := s.host("none")
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "none to offer") {
		t.Errorf("got %v", err)
	}
}

// serveAgent is an agent that holds keys, on a socket.
func serveAgent(t *testing.T, keys ...agent.AddedKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { agent.ServeAgent(ring, conn); conn.Close() }()
		}
	}()
	return socket
}

func TestAgentKey(t *testing.T) {
	raw := rawKey(t, "rsa")
	key, _ := ssh.NewSignerFromKey(raw)
	s := newServer(t, key.PublicKey())
	p := newPool(t, Options{})
	t.Setenv("SSH_AUTH_SOCK", serveAgent(t, agent.AddedKey{PrivateKey: raw, Comment: "alice@laptop"}))
	if err := p.Conn(s.host("none")).Connect(t.Context()); err != nil {
		t.Error(err)
	}
}

// The public half beside or in place of a key file selects the agent's key, also
// where IdentitiesOnly keeps the agent's other keys from being offered.
func TestIdentitiesOnly(t *testing.T) {
	locked, key := keyFile(t, "ed25519", "secret")
	raw, err := ssh.ParseRawPrivateKeyWithPassphrase([]byte(readFile(t, locked)), []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	public := writeFile(t, "id.pub", string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	s := newServer(t, key.PublicKey())
	h := s.host(locked)
	h.ConfigFile = writeFile(t, "config", "IdentitiesOnly yes\nIdentityAgent "+serveAgent(t,
		agent.AddedKey{PrivateKey: rawKey(t, "ecdsa"), Comment: "other"},
		agent.AddedKey{PrivateKey: raw, Comment: "right"})+"\n")
	p := newPool(t, Options{})
	for _, file := range []string{locked, public, strings.TrimSuffix(public, ".pub")} {
		h.IdentityFiles = []string{file}
		if err := p.Conn(h).Connect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	h.IdentityFiles = []string{"/nonexistent/id"}
	err = p.Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "agent key") {
		t.Errorf("got %v", err)
	}
}

func TestDeadAgentIsNamed(t *testing.T) {
	s := newServer(t, nil)
	h := s.host("none")
	h.ConfigFile = writeFile(t, "config", "IdentityAgent /nonexistent/agent\n")
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "/nonexistent/agent") {
		t.Errorf("got %v", err)
	}
}

// certify signs key for alice.
func certify(t *testing.T, ca ssh.Signer, key ssh.PublicKey, until time.Time) []byte {
	t.Helper()
	cert := &ssh.Certificate{
		Key: key, CertType: ssh.UserCert, KeyId: "alice", ValidPrincipals: []string{"alice"},
		ValidBefore: uint64(until.Unix()),
	}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	return ssh.MarshalAuthorizedKey(cert)
}

func TestCertificates(t *testing.T) {
	ca := newKey(t, "ed25519")
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, nil)
	checker := &ssh.CertChecker{IsUserAuthority: func(k ssh.PublicKey) bool { return string(k.Marshal()) == string(ca.PublicKey().Marshal()) }}
	s.set(func() { s.cfg.PublicKeyCallback = checker.Authenticate })
	p := newPool(t, Options{})
	h := s.host(path)

	err := p.Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) {
		t.Errorf("without a certificate: %v", err)
	}
	good := certify(t, ca, key.PublicKey(), time.Now().Add(time.Hour))
	separate := writeFile(t, "alice-cert.pub", string(good))
	other := h
	other.ConfigFile = writeFile(t, "config", "CertificateFile "+separate+"\n")
	if err := p.Conn(other).Connect(t.Context()); err != nil {
		t.Errorf("CertificateFile: %v", err)
	}
	old := certify(t, ca, key.PublicKey(), time.Now().Add(-time.Hour))
	if err := os.WriteFile(path+"-cert.pub", old, 0o600); err != nil {
		t.Fatal(err)
	}
	err = p.Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "the certificate ended at") {
		t.Errorf("ended certificate: %v", err)
	}
	if err := os.WriteFile(path+"-cert.pub", good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Conn(h).Connect(t.Context()); err != nil {
		t.Errorf("certificate beside the key: %v", err)
	}
}

// ask is a keyboard-interactive server that wants the code 123456.
func ask(_ ssh.ConnMetadata, client ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
	answers, err := client("", "Token", []string{"Code: "}, []bool{false})
	if err != nil || len(answers) != 1 || answers[0] != "123456" {
		return nil, errors.New("wrong code")
	}
	return nil, nil
}

func answer(code string) Prompt {
	return func(_ context.Context, c Challenge) ([]string, error) {
		if len(c.Questions) != 1 || c.Questions[0].Echo || c.User != "alice" || c.Instruction != "Token" {
			return nil, fmt.Errorf("odd challenge %+v", c)
		}
		return []string{code}, nil
	}
}

func TestC114_InteractiveIsASecondPhase(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	other := newServer(t, newKey(t, "ed25519").PublicKey())
	s := newServer(t, nil)
	plain := s.cfg.PublicKeyCallback
	check := func(m ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if string(k.Marshal()) != string(key.PublicKey().Marshal()) {
			return plain(m, k)
		}
		return nil, &ssh.PartialSuccessError{Next: ssh.ServerAuthCallbacks{KeyboardInteractiveCallback: ask}}
	}
	s.set(func() { s.cfg.PublicKeyCallback = check })
	for name, c := range map[string]struct {
		prompt Prompt
		want   error
	}{
		"right code": {answer("123456"), nil},
		"wrong code": {answer("000000"), ErrAuth},
		"no prompt":  {nil, ErrAuth},
	} {
		err := newPool(t, Options{Prompt: c.prompt}).Conn(s.host(path)).Connect(t.Context())
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A server that knows no questions is not asked for any (the raw error of which
	// would be "unexpected message type 51").
	err := newPool(t, Options{Prompt: answer("123456")}).Conn(other.host(path)).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "unexpected message") {
		t.Errorf("got %v", err)
	}
}

func TestPasswordIsNeverSent(t *testing.T) {
	path, _ := keyFile(t, "ed25519", "")
	s := newServer(t, nil)
	s.set(func() {
		s.cfg.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
			t.Error("a password was sent")
			return nil, nil
		}
	})
	if err := newPool(t, Options{Prompt: answer("123456")}).Conn(s.host(path)).Connect(t.Context()); !errors.Is(err, ErrAuth) {
		t.Errorf("got %v", err)
	}
}

// A key that is not there is named when there is no other.
func TestC114_OnlyKeyIsNotThere(t *testing.T) {
	s := newServer(t, newKey(t, "ed25519").PublicKey())
	h := s.host("/nonexistent/id")
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "/nonexistent/id (not there)") {
		t.Errorf("got %v", err)
	}
}
