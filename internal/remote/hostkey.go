package remote

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys checks the keys of one host against known_hosts.
type hostKeys struct {
	t        target
	files    []string // those that exist
	check    ssh.HostKeyCallback
	known    []knownhosts.KnownKey // plain keys of the host
	issuers  bool                  // a certificate authority is known for it
	accepted bool                  // a key was accepted: what fails later is not its fault
	refused  error                 // why none was
}

func newHostKeys(t target) (*hostKeys, error) {
	k := &hostKeys{t: t}
	for _, f := range t.knownHosts {
		if _, err := os.Stat(f); err == nil {
			k.files = append(k.files, f)
		}
	}
	check, err := knownhosts.New(k.files...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: read known_hosts: %w", t.from.Alias, ErrConfig, err)
	}
	k.check = check
	if want, ok := errors.AsType[*knownhosts.KeyError](check(t.keyAddr(), &net.TCPAddr{}, noKey{})); ok {
		for _, w := range want.Want {
			if isAuthority(w) {
				k.issuers = true
			} else {
				k.known = append(k.known, w)
			}
		}
	}
	return k, nil
}

// noKey is a key that no file holds: asking for it lists what they do hold.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// isAuthority reads the marker that knownhosts does not tell.
func isAuthority(k knownhosts.KnownKey) bool {
	text, err := os.ReadFile(k.Filename)
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return k.Line <= len(lines) && strings.HasPrefix(strings.TrimSpace(lines[k.Line-1]), "@cert-authority")
}

// algorithms lists the host-key algorithms to offer. Those that known_hosts holds
// come first, for the server sends only one of its keys: the first that we ask for.
func (k *hostKeys) algorithms() []string {
	var certs, known, others []string
	all := ssh.SupportedAlgorithms().HostKeys
	slices.Reverse(all) // x/crypto puts RSA first; a fingerprint to compare is better that of ED25519
	for _, a := range all {
		switch {
		case strings.Contains(a, "-cert-"):
			certs = append(certs, a)
		case slices.ContainsFunc(k.known, func(w knownhosts.KnownKey) bool { return w.Key.Type() == keyType(a) }):
			known = append(known, a)
		default:
			others = append(others, a)
		}
	}
	list := append(known, others...)
	if k.issuers {
		list = append(certs, list...)
	}
	return list
}

// keyType is the key format that an algorithm signs with.
func keyType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algorithm
}

// callback is an ssh.HostKeyCallback that keeps its verdict.
func (k *hostKeys) callback(_ string, _ net.Addr, key ssh.PublicKey) error {
	k.refused = k.judge(key)
	k.accepted = k.refused == nil
	return k.refused
}

// judge checks one key; its errors are sentences.
func (k *hostKeys) judge(key ssh.PublicKey) error {
	err := k.check(k.t.keyAddr(), &net.TCPAddr{}, key)
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return fmt.Errorf("%w: the key it shows (%s) is revoked in %s line %d: ask its administrator",
			ErrHostKeyChanged, fingerprint(key), revoked.Revoked.Filename, revoked.Revoked.Line)
	case errors.As(err, &mismatch) && len(k.known) > 0:
		return k.changed(key)
	case errors.As(err, &mismatch):
		return k.unknown(key)
	}
	return fmt.Errorf("%w: its certificate is not accepted: %w", ErrUnknownHost, err)
}

func (k *hostKeys) unknown(key ssh.PublicKey) error {
	note := ""
	if k.t.lax != "" {
		note = fmt.Sprintf(" (gpuctl is always strict, whatever StrictHostKeyChecking in %s says)", k.t.lax)
	}
	return fmt.Errorf("%w: it shows %s, and none of %s holds a key for it%s; compare the fingerprint with its administrator's, then accept it with: %s",
		ErrUnknownHost, fingerprint(key), strings.Join(k.t.knownHosts, ", "), note, k.command())
}

func (k *hostKeys) changed(key ssh.PublicKey) error {
	held := make([]string, len(k.known))
	for i, w := range k.known {
		held[i] = fmt.Sprintf("%s (%s line %d)", fingerprint(w.Key), w.Filename, w.Line)
	}
	return fmt.Errorf("%w: it shows %s, known_hosts holds %s; the host was reinstalled or someone stands in between: ask its administrator, and only if the new key is right run: ssh-keygen -R %s -f %s && %s",
		ErrHostKeyChanged, fingerprint(key), strings.Join(held, ", "),
		quoteWord(knownhosts.Normalize(k.t.keyAddr())), quoteWord(k.known[0].Filename), k.command())
}

// command is what shows the fingerprint once more and writes known_hosts on "yes".
func (k *hostKeys) command() string {
	h := k.t.from
	words := []string{"ssh"}
	if h.ConfigFile != "" {
		words = append(words, "-F", h.ConfigFile)
	}
	words = append(words, "-o", "StrictHostKeyChecking=ask")
	if len(h.KnownHosts) > 0 {
		words = append(words, "-o", "UserKnownHostsFile="+k.t.knownHosts[0])
	}
	if h.jump != "" {
		words = append(words, "-J", h.jump)
	}
	if h.Port != 0 {
		words = append(words, "-p", strconv.Itoa(h.Port))
	}
	if h.User != "" {
		words = append(words, "-l", h.User)
	}
	words = append(words, h.Alias, "true")
	for i, w := range words {
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// fingerprint shows a key the way ssh(1) does.
func fingerprint(key ssh.PublicKey) string {
	name := strings.TrimSuffix(strings.TrimPrefix(key.Type(), "ssh-"), "@openssh.com")
	if strings.HasPrefix(name, "ecdsa") {
		name = "ecdsa"
	}
	if c, ok := key.(*ssh.Certificate); ok {
		return "certificate " + ssh.FingerprintSHA256(c.Key)
	}
	return strings.ToUpper(name) + " key " + ssh.FingerprintSHA256(key)
}
