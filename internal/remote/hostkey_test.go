package remote

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func TestUnknownHost(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	h := s.host(path)
	h.KnownHosts = []string{"/nonexistent/known_hosts"}
	h.ConfigFile = writeFile(t, "config", "Host *\n  StrictHostKeyChecking no\n")
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrUnknownHost) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{
		"127.0.0.1", "ED25519 key " + ssh.FingerprintSHA256(s.keys[0].PublicKey()), "/nonexistent/known_hosts",
		h.ConfigFile + ":2", "-o StrictHostKeyChecking=ask", "UserKnownHostsFile=/nonexistent/known_hosts", "-l alice 127.0.0.1 true",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if logins, _ := s.counts(); logins != 0 {
		t.Error("logged in all the same")
	}
}

func TestHostKeyChanged(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	h := s.host(path)
	old := newKey(t, "ed25519")
	h.KnownHosts = []string{s.knownHosts(old)}
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrHostKeyChanged) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{
		ssh.FingerprintSHA256(old.PublicKey()), ssh.FingerprintSHA256(s.keys[0].PublicKey()),
		h.KnownHosts[0] + " line 1", "ssh-keygen -R '[127.0.0.1]:",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestRevokedHostKey(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	h := s.host(path)
	text := readFile(t, h.KnownHosts[0])
	h.KnownHosts = []string{writeFile(t, "known_hosts", text+"@revoked * "+strings.SplitN(text, " ", 2)[1])}
	err := newPool(t, Options{}).Conn(h).Connect(t.Context())
	if !errors.Is(err, ErrHostKeyChanged) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("got %v", err)
	}
}

// A server with keys of three kinds is let in whichever of them known_hosts holds.
func TestC114_SeveralKeyTypesForAHost(t *testing.T) {
	keys := map[string]ssh.Signer{}
	var all []ssh.Signer
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		keys[kind] = newKey(t, kind)
		all = append(all, keys[kind])
	}
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey(), all...)
	p := newPool(t, Options{})
	for kind, k := range keys {
		h := s.host(path)
		h.KnownHosts = []string{s.knownHosts(k)}
		if err := p.Conn(h).Connect(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestHostKeyOfAnotherKindOnly(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	h := s.host(path)
	h.KnownHosts = []string{s.knownHosts(newKey(t, "ecdsa"))}
	if err := newPool(t, Options{}).Conn(h).Connect(t.Context()); !errors.Is(err, ErrHostKeyChanged) {
		t.Errorf("got %v", err)
	}
}

func TestHashedAndAliasedEntries(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	s := newServer(t, key.PublicKey())
	p := newPool(t, Options{})
	blob := strings.SplitN(strings.TrimSpace(readFile(t, s.host(path).KnownHosts[0])), " ", 2)[1]

	h := s.host(path)
	h.KnownHosts = []string{writeFile(t, "known_hosts", "not a line\n"+knownhosts.HashHostname(knownhosts.Normalize(s.listener.Addr().String()))+" "+blob+"\n")}
	if err := p.Conn(h).Connect(t.Context()); err != nil {
		t.Errorf("hashed: %v", err)
	}
	h.KnownHosts = []string{writeFile(t, "known_hosts", "login "+blob+"\n")}
	h.ConfigFile = writeFile(t, "config", "HostKeyAlias Login\n")
	if err := p.Conn(h).Connect(t.Context()); err != nil {
		t.Errorf("HostKeyAlias: %v", err)
	}
}

func TestHostCertificate(t *testing.T) {
	path, key := keyFile(t, "ed25519", "")
	ca, plain := newKey(t, "ed25519"), newKey(t, "ed25519")
	cert := &ssh.Certificate{Key: plain.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewCertSigner(cert, plain)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, key.PublicKey(), signer, plain)
	p := newPool(t, Options{})
	h := s.host(path)
	h.KnownHosts = []string{s.knownHosts(ca)}
	marked := "@cert-authority " + readFile(t, h.KnownHosts[0])
	if err := os.WriteFile(h.KnownHosts[0], []byte(marked), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Conn(h).Connect(t.Context()); err != nil {
		t.Errorf("certificate: %v", err)
	}
	h.KnownHosts = []string{s.knownHosts(plain)}
	if err := p.Conn(h).Connect(t.Context()); err != nil {
		t.Errorf("plain key known, server has a certificate too: %v", err)
	}
	h.KnownHosts = []string{writeFile(t, "known_hosts", strings.ReplaceAll(marked, strings.Fields(marked)[3],
		strings.Fields(string(ssh.MarshalAuthorizedKey(newKey(t, "ed25519").PublicKey())))[1]))}
	if err := p.Conn(h).Connect(t.Context()); !errors.Is(err, ErrUnknownHost) {
		t.Errorf("another authority: %v", err)
	}
}
