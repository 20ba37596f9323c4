package slurmtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// Available says whether a cluster can be brought up on this machine; if not, why
// in one plain line, for t.Skip.
func Available() (ok bool, why string) {
	switch {
	case os.Getenv("NO_INSTALL") == "1":
		return false, "needs a real Slurm: NO_INSTALL=1 says to leave this machine alone"
	case os.Geteuid() != 0:
		return false, "needs a real Slurm: only root can bring one up"
	case !onDebian():
		return false, "needs a real Slurm: the test bed knows Debian only"
	}
	if missing := missingPackages(context.Background(), slurmPackages()); len(missing) > 0 {
		return false, "needs a real Slurm: packages are missing (make test installs them): " + strings.Join(missing, " ")
	}
	if _, err := hostAddr(); err != nil {
		return false, "needs a real Slurm: " + err.Error()
	}
	return true, ""
}

func onDebian() bool {
	_, err := os.Stat("/etc/debian_version")
	return err == nil
}

// hostAddr returns the loopback address of the host's own name: slurmctld and
// slurmd bind to it and to nothing else.
func hostAddr() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host name: %w", err)
	}
	addrs, err := net.DefaultResolver.LookupHost(context.Background(), name)
	if err != nil {
		return "", fmt.Errorf("host name %s: %w", name, err)
	}
	for _, a := range addrs {
		if ip := net.ParseIP(a); ip != nil && ip.To4() != nil {
			if !ip.IsLoopback() {
				return "", fmt.Errorf("host name %s is %s: it must be a loopback address in /etc/hosts", name, a)
			}
			return a, nil
		}
	}
	return "", fmt.Errorf("host name %s has no IPv4 address", name)
}

// version returns the Slurm version as its first two numbers, 2205 for 22.05.8,
// and as text.
func version(ctx context.Context) (int, string, error) {
	out, err := exec.CommandContext(ctx, "/usr/sbin/slurmctld", "-V").Output()
	if err != nil {
		return 0, "", fmt.Errorf("version of slurmctld: %w", err)
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(out)), "slurm-wlm ")
	text = strings.TrimPrefix(text, "slurm ")
	var major, minor int
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return 0, "", fmt.Errorf("version of slurmctld %q: %w", text, err)
	}
	return major*100 + minor, text, nil
}
