package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// startSSHD runs OpenSSH's server on loopback, for the user that runs the test.
func startSSHD(t *testing.T) Host {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Skip("OpenSSH's sshd is not installed")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip("sshd needs /run/sshd")
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"id", "host_ed25519", "host_rsa"} {
		kind := strings.TrimPrefix(strings.Replace(name, "id", "ed25519", 1), "host_")
		if strings.HasPrefix(name, "host_ed") {
			kind = "ed25519"
		}
		if out, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host_ed25519\nHostKey %[2]s/host_rsa\nPidFile none\n"+
		"AuthorizedKeysFile %[2]s/id.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 3\n", port, dir)
	path := filepath.Join(dir, "sshd_config")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sshd, "-D", "-e", "-f", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	rsa := strings.Fields(readFile(t, filepath.Join(dir, "host_rsa.pub")))
	return Host{
		Alias: "127.0.0.1", Port: port, User: me.Username, ConfigFile: "none", IdentityFiles: []string{filepath.Join(dir, "id")},
		// The RSA key only: sshd would rather show its ED25519 key.
		KnownHosts: []string{writeFile(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s %s\n", port, rsa[0], rsa[1]))},
	}
}

// Everything once against the server that is really out there.
func TestOpenSSH(t *testing.T) {
	h := startSSHD(t)
	c := newPool(t, Options{}).Conn(h)
	err := c.Connect(t.Context())
	for range 100 {
		if err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond) // until sshd listens
		err = c.Connect(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}

	words := []string{"a b", "it's", "$HOME", "*", "", "a\nb", `\`}
	r := mustRun(t, c, append([]string{"printf", "%s,"}, words...)...)
	if string(r.Stdout) != strings.Join(words, ",")+"," {
		t.Errorf("words: %q", r.Stdout)
	}
	if r := mustRun(t, c, "sh", "-c", "echo e >&2; exit 9"); r.Exit != 9 || string(r.Stderr) != "e\n" {
		t.Errorf("exit: %+v", r)
	}
	if r := mustRun(t, c, "no-such-command"); r.Exit != 127 {
		t.Errorf("missing command: %+v", r)
	}
	if r := mustRun(t, c, "sh", "-c", "kill -TERM $$"); r.Exit != 143 {
		t.Errorf("signal: %+v", r)
	}

	var wg sync.WaitGroup // more at once than its MaxSessions
	for range 12 {
		wg.Go(func() { mustRunOn(t, c) })
	}
	wg.Wait()

	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !isFile(pidFile) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := c.Run(ctx, []string{"sh", "-c", `echo $$ >"$1.new"; mv "$1.new" "$1"; sleep 600`, "sh", pidFile}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancel: %v", err)
	}
	pid := strings.TrimSpace(readFile(t, pidFile))
	for range 500 {
		if os.Getuid() == 0 || !isFile("/proc/"+pid) { // for root, sshd passes no signals on
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if isFile("/proc/"+pid) && os.Getuid() != 0 {
		t.Error("the cancelled command still runs")
	}

	p, err := c.Start(t.Context(), []string{"cat"})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(p.Stdin, "ping")
	p.Stdin.Close()
	if out, err := io.ReadAll(p.Stdout); err != nil || string(out) != "ping" {
		t.Errorf("stream: %q, %v", out, err)
	}

	conn, err := c.DialTCP(t.Context(), fmt.Sprintf("127.0.0.1:%d", h.Port))
	if err != nil {
		t.Fatal(err)
	}
	greeting := make([]byte, 4)
	if _, err := io.ReadFull(conn, greeting); err != nil || string(greeting) != "SSH-" {
		t.Errorf("forward: %q, %v", greeting, err)
	}
	conn.Close()
}

func mustRunOn(t *testing.T, c *Conn) {
	if _, err := c.Run(t.Context(), []string{"sleep", "0.05"}); err != nil {
		t.Error(err)
	}
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
