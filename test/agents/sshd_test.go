package agents

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/remote"
)

// startSSHD runs OpenSSH's server on loopback for the user that runs the test, and
// returns how to reach it; as a node n1, n2, ... as well.
func startSSHD(tb testing.TB) remote.Host {
	tb.Helper()
	const sshd = "/usr/sbin/sshd"
	if _, err := exec.LookPath(sshd); err != nil {
		tb.Skip("OpenSSH's sshd is not installed")
	}
	me, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	if me.Uid == "0" {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			tb.Skip("sshd needs /run/sshd")
		}
	}
	dir := tb.TempDir()
	for _, name := range []string{"id", "host"} {
		if out, err := exec.CommandContext(tb.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			tb.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	port := freePort(tb)
	write(tb, filepath.Join(dir, "sshd_config"), fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nPidFile none\nAuthorizedKeysFile %[2]s/id.pub\n"+
		"StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nAllowTcpForwarding yes\nAllowStreamLocalForwarding yes\n", port, dir))
	key, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(dir, "known_hosts"), fmt.Sprintf("[127.0.0.1]:%d %s", port, key))
	write(tb, filepath.Join(dir, "config"), fmt.Sprintf("Host n* login1\n  HostName 127.0.0.1\n  Port %d\n  User %s\n", port, me.Username))
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	await(tb, "sshd", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return remote.Host{
		Alias: "login1", ConfigFile: filepath.Join(dir, "config"),
		IdentityFiles: []string{filepath.Join(dir, "id")}, KnownHosts: []string{filepath.Join(dir, "known_hosts")},
	}
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// await waits until something is so.
func await(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within a minute", what)
		}
	}
}
