package agenttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/host"
)

// Node is a simulated host with its driver.
type Node struct {
	Driver    *Driver
	Root      string // of its file system
	KernelLog string // a plain file
	StateDir  string

	tb  testing.TB
	seq int
}

// NewNode simulates a host called gn001 with so many devices, all of them well.
func NewNode(tb testing.TB, gpus int) *Node {
	tb.Helper()
	root := tb.TempDir()
	n := &Node{
		Driver: NewDriver(gpus), Root: root, tb: tb,
		KernelLog: filepath.Join(root, "kmsg"), StateDir: filepath.Join(root, "state"),
	}
	n.Write("kmsg", "6,0,0,-;Linux version\n")
	n.Write("proc/sys/kernel/hostname", "gn001\n")
	n.Write("proc/uptime", "3600.00 3600.00\n")
	n.Write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
	n.Write("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	n.Boot("boot-1")
	n.Process(1, "systemd", "/init.scope")
	for i := range gpus {
		id := strings.ToLower(PCI(i)[4:])
		n.Write("sys/bus/pci/devices/"+id+"/vendor", "0x10de\n")
		n.Write("sys/bus/pci/devices/"+id+"/class", "0x030200\n")
	}
	return n
}

// Options are those of an agent on this host.
func (n *Node) Options() agent.Options {
	return agent.Options{
		Driver: n.Driver, Version: "test", Interval: time.Second, Host: host.Host{Root: n.Root},
		KernelLog: n.KernelLog, StateDir: n.StateDir, AsRoot: true,
	}
}

// Boot gives the host another boot.
func (n *Node) Boot(id string) { n.Write("proc/sys/kernel/random/boot_id", id+"\n") }

// Write writes a file of the host.
func (n *Node) Write(name, text string) {
	n.tb.Helper()
	path := filepath.Join(n.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		n.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.tb.Fatal(err)
	}
}

// Process starts a process of the host, in a control group.
func (n *Node) Process(pid int, name, cgroup string) {
	n.tb.Helper()
	dir := "proc/" + strconv.Itoa(pid) + "/"
	n.Write(dir+"comm", name+"\n")
	n.Write(dir+"cgroup", "0::"+cgroup+"\n")
	n.Write(dir+"stat", fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 1 1\n", pid, name))
}

// Exit ends a process.
func (n *Node) Exit(pid int) {
	n.tb.Helper()
	if err := os.RemoveAll(filepath.Join(n.Root, "proc", strconv.Itoa(pid))); err != nil {
		n.tb.Fatal(err)
	}
}

// Open has a process open a device file.
func (n *Node) Open(pid, minor int) {
	n.tb.Helper()
	dir := filepath.Join(n.Root, "proc", strconv.Itoa(pid), "fd")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		n.tb.Fatal(err)
	}
	if err := os.Symlink("/dev/nvidia"+strconv.Itoa(minor), filepath.Join(dir, strconv.Itoa(minor))); err != nil {
		n.tb.Fatal(err)
	}
}

// Log appends messages to the kernel log, as one write. They happened a moment ago.
func (n *Node) Log(messages ...string) {
	n.tb.Helper()
	var b strings.Builder
	for _, m := range messages {
		n.seq++
		fmt.Fprintf(&b, "4,%d,3600000000,-;%s\n", n.seq, m)
	}
	f, err := os.OpenFile(n.KernelLog, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(b.String()); err != nil {
		n.tb.Fatal(err)
	}
}

// XID is the kernel's message of an XID on a device.
func XID(gpu, code int, rest string) string {
	id := strings.ToLower(strings.TrimSuffix(PCI(gpu)[4:], ".0"))
	return fmt.Sprintf("NVRM: Xid (PCI:%s): %d, %s", id, code, rest)
}
