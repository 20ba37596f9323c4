package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// identity is one key we may offer.
type identity struct {
	name   string // for people: "~/.ssh/id_rsa", "agent key alice@laptop"
	key    ssh.PublicKey
	signer ssh.Signer // nil: only its public half is at hand
}

// keyring is everything that may be offered to one host, in order, and why other
// things may not.
type keyring struct {
	offers  []identity
	skipped []string
	socket  net.Conn // the agent's; open until the host has accepted or refused
}

func (k *keyring) close() {
	if k.socket != nil {
		k.socket.Close()
	}
}

func (k *keyring) skip(format string, args ...any) {
	k.skipped = append(k.skipped, fmt.Sprintf(format, args...))
}

// openKeyring gathers the identities for t. Like ssh(1) it offers certificates
// first, then configured keys that the agent holds, then the agent's other keys
// (unless IdentitiesOnly), then key files.
func openKeyring(ctx context.Context, t target) *keyring {
	k := &keyring{}
	held := k.openAgent(ctx, t.agent)
	files := k.readFiles(t.identities)
	certs := k.readCertificates(t, append(slices.Clip(held), files...))

	var configured, rest, local []identity
	for _, id := range held {
		switch {
		case contains(files, plain(id.key)):
			configured = append(configured, id)
		case !t.identitiesOnly:
			rest = append(rest, id)
		}
	}
	for _, id := range files {
		if id.signer != nil && !contains(held, id.key) {
			local = append(local, id)
		}
		if id.signer == nil && !contains(held, id.key) {
			k.skip("%s (has a passphrase or needs the agent, which does not hold it: run ssh-add %s)", id.name, id.name)
		}
	}
	for _, group := range [][]identity{certs, configured, rest, local} {
		k.offers = append(k.offers, group...)
	}
	return k
}

// plain is the key that a certificate certifies, or the key itself.
func plain(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

func contains(ids []identity, key ssh.PublicKey) bool {
	return find(ids, key) != nil
}

func find(ids []identity, key ssh.PublicKey) *identity {
	for i := range ids {
		if bytes.Equal(ids[i].key.Marshal(), key.Marshal()) {
			return &ids[i]
		}
	}
	return nil
}

// openAgent lists what the agent holds; ctx bounds how long it may take, and ends
// its connection.
func (k *keyring) openAgent(ctx context.Context, socket string) []identity {
	if socket == "" {
		k.skip("no agent (SSH_AUTH_SOCK is not set, or IdentityAgent is none)")
		return nil
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		k.skip("the agent at %s does not answer (%v)", socket, rootCause(err))
		return nil
	}
	k.socket = conn
	context.AfterFunc(ctx, func() { conn.Close() })
	client := agent.NewClient(conn)
	keys, err := client.List()
	if err == nil && len(keys) == 0 {
		err = errors.New("it holds no key: run ssh-add")
	}
	signers, errSigners := client.Signers()
	if err = errors.Join(err, errSigners); err != nil {
		k.skip("the agent at %s offers nothing (%v)", socket, err)
		return nil
	}
	var held []identity
	for _, s := range signers {
		id := identity{name: "agent key", key: s.PublicKey(), signer: s}
		for _, key := range keys {
			if bytes.Equal(key.Marshal(), id.key.Marshal()) && key.Comment != "" {
				id.name += " " + key.Comment
			}
		}
		held = append(held, id)
	}
	return held
}

// readFiles reads identity files. A file that does not exist is no identity; one
// that cannot be used without its passphrase keeps its public half, which tells
// whether the agent has it.
func (k *keyring) readFiles(paths []string) []identity {
	var ids []identity
	var missing []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		switch {
		case os.IsNotExist(err):
			if pub := readPublic(path + ".pub"); pub != nil {
				ids = append(ids, identity{name: path, key: pub})
			} else {
				missing = append(missing, path)
			}
			continue
		case err != nil:
			k.skip("%s (%v)", path, rootCause(err))
			continue
		}
		if id, err := parseIdentity(path, text); err != nil {
			k.skip("%s (%v)", path, err)
		} else {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && len(missing) > 0 {
		k.skip("%s (not there)", strings.Join(missing, ", "))
	}
	return ids
}

func parseIdentity(path string, text []byte) (identity, error) {
	id := identity{name: path}
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		id.key, id.signer = signer.PublicKey(), signer
		return id, nil
	}
	if pub, _, _, _, errPub := ssh.ParseAuthorizedKey(text); errPub == nil {
		id.key = pub // the public half, as people name it to select an agent's key
		return id, nil
	}
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) && locked.PublicKey != nil {
		id.key = locked.PublicKey
		return id, nil
	}
	if id.key = readPublic(path + ".pub"); id.key != nil {
		return id, nil
	}
	if locked != nil {
		return id, fmt.Errorf("has a passphrase: run ssh-add %s", path)
	}
	return id, errors.New("is no private key that can be read")
}

func readPublic(path string) ssh.PublicKey {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return pub
}

// readCertificates pairs each CertificateFile, and each KEY-cert.pub beside an
// identity, with its private key.
func (k *keyring) readCertificates(t target, keys []identity) []identity {
	var ids []identity
	for i, path := range append(beside(t.identities), t.certificates...) {
		if !exists(path) && i < len(t.identities) {
			continue
		}
		id, err := readCertificate(path, keys, time.Now())
		switch {
		case err != nil:
			k.skip("%s (%v)", path, err)
		case !contains(ids, id.key):
			ids = append(ids, id)
		}
	}
	return ids
}

func beside(identities []string) []string {
	certs := make([]string, len(identities))
	for i, path := range identities {
		certs[i] = strings.TrimSuffix(path, ".pub") + "-cert.pub"
	}
	return certs
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readCertificate(path string, keys []identity, now time.Time) (identity, error) {
	if !exists(path) {
		return identity{}, errors.New("does not exist")
	}
	cert, ok := readPublic(path).(*ssh.Certificate)
	if !ok {
		return identity{}, errors.New("is no certificate")
	}
	if at := cert.ValidBefore; at != ssh.CertTimeInfinity && now.Unix() >= int64(at) {
		return identity{}, fmt.Errorf("the certificate ended at %s: get a new one", time.Unix(int64(at), 0).UTC().Format(time.RFC3339))
	}
	key := find(keys, cert.Key)
	if key == nil || key.signer == nil {
		return identity{}, errors.New("the private key of the certificate is not at hand")
	}
	signer, err := ssh.NewCertSigner(cert, key.signer)
	if err != nil {
		return identity{}, err
	}
	return identity{name: path, key: cert, signer: signer}, nil
}

// rootCause leaves out the words that os and net put before the reason.
func rootCause(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
