package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// policyFile is what Debian's package scripts ask before they start a service.
const policyFile = "/usr/sbin/policy-rc.d"

// slurmPackages are what a cluster needs.
func slurmPackages() []string {
	return []string{
		"munge", "slurmctld", "slurmd", "slurmrestd", "slurmdbd", "slurm-client",
		"slurm-wlm-jwt-plugin", "slurm-wlm-mysql-plugin", "mariadb-server", "openssh-server", "openssh-client",
	}
}

// Install installs what a cluster needs and is not here yet, and tmux, in which the
// end-to-end tests try the console; it says so on log.
// No service is started. It does nothing unless it is root on Debian, or when
// NO_INSTALL=1: the tests that need Slurm are then skipped.
func Install(ctx context.Context, log io.Writer) error {
	if os.Getenv("NO_INSTALL") == "1" || os.Geteuid() != 0 || !onDebian() {
		_, why := Available()
		fmt.Fprintln(log, "slurmtest: nothing installed:", why)
		return nil
	}
	unlock, err := lock(ctx, "install")
	if err != nil {
		return err
	}
	defer unlock()
	missing := missingPackages(ctx, append(slurmPackages(), "tmux"))
	if len(missing) == 0 {
		fmt.Fprintln(log, "slurmtest: what the test bed needs is installed")
		return nil
	}
	fmt.Fprintln(log, "slurmtest: installs for the test bed (no service is started):", strings.Join(missing, " "))
	restore, err := denyServices()
	if err != nil {
		return err
	}
	return errors.Join(aptInstall(ctx, missing), restore())
}

// missingPackages returns those of the packages that are not installed; all of them
// where dpkg cannot tell.
func missingPackages(ctx context.Context, names []string) []string {
	var missing []string
	for _, p := range names {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${db:Status-Status}", p).Output()
		if err != nil || string(out) != "installed" {
			missing = append(missing, p)
		}
	}
	return missing
}

// aptInstall installs packages, with fresh package lists when the first try fails.
func aptInstall(ctx context.Context, names []string) error {
	install := append([]string{"install", "-y", "--no-install-recommends"}, names...)
	if _, err := aptGet(ctx, install...); err == nil {
		return nil
	}
	// Lists of some source may fail to load while those that matter do.
	_, updateErr := aptGet(ctx, "update")
	if out, err := aptGet(ctx, install...); err != nil {
		return errors.Join(fmt.Errorf("install packages: %w: %s", err, lastLines(out, 5)), updateErr)
	}
	return nil
}

func aptGet(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("apt-get %s: %w", args[0], err)
	}
	return string(out), err
}

// denyServices keeps package scripts from starting services, until restore.
func denyServices() (restore func() error, err error) {
	if _, err := os.Stat(policyFile); !errors.Is(err, fs.ErrNotExist) {
		// Somebody else's policy is left as it is.
		return func() error { return nil }, err
	}
	if err := os.WriteFile(policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
		return nil, fmt.Errorf("keep services from starting: %w", err)
	}
	return func() error { return os.Remove(policyFile) }, nil
}

// lastLines returns the last n lines of text that are not blank.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
