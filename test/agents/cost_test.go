package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// costWindow is how long each program is measured.
const costWindow = 20 * time.Second

// BenchmarkAgentCost prints what the whole agent costs at 1 Hz with eight GPUs, beside
// nvtop at its default interval on the same library where nvtop and tmux are installed.
func BenchmarkAgentCost(b *testing.B) {
	lib := fakenvml.Build(b).State(b, 8, fakenvml.H100)
	binary := filepath.Join(b.TempDir(), "gpuctl")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "../../cmd/gpuctl").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	for b.Loop() {
		fmt.Printf("%-36s %12s %10s\n", "eight GPUs, idle", "% of a core", "RSS MiB")
		costOfAgent(b, lib, binary)
		costOfNvtop(b, lib)
	}
}

func costOfAgent(b *testing.B, lib *fakenvml.State, binary string) {
	b.Helper()
	dir := b.TempDir()
	cmd := exec.CommandContext(b.Context(), binary, "agent", "--library", lib.Library().Path(), "--state-dir", dir, "--socket", filepath.Join(dir, "s"))
	cmd.Env = append(os.Environ(), lib.Env()...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }()
	time.Sleep(3 * time.Second) // past its start
	pids := append(childrenOf(cmd.Process.Pid), cmd.Process.Pid)
	printCost("gpuctl agent, 1 Hz ("+strconv.Itoa(len(pids))+" processes)", pids)
}

func costOfNvtop(b *testing.B, lib *fakenvml.State) {
	b.Helper()
	for _, need := range []string{"nvtop", "tmux"} {
		if _, err := exec.LookPath(need); err != nil {
			fmt.Println("nvtop is not measured beside it:", need, "is not installed")
			return
		}
	}
	socket := "gpuctl-bench-" + strconv.Itoa(os.Getpid())
	tmux := func(args ...string) string {
		out, _ := exec.CommandContext(b.Context(), "tmux", append([]string{"-L", socket}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	argv := append([]string{"new-session", "-d", "-x", "160", "-y", "45", "env", "LD_LIBRARY_PATH=" + lib.Library().Dir()}, lib.Env()...)
	tmux(append(argv, "nvtop")...)
	defer tmux("kill-server")
	time.Sleep(3 * time.Second)
	pid, err := strconv.Atoi(tmux("display-message", "-p", "#{pane_pid}"))
	if err != nil {
		fmt.Println("nvtop is not measured beside it: it did not stay")
		return
	}
	printCost("nvtop, 1 Hz", []int{pid})
}

// printCost measures the processes for a while.
func printCost(what string, pids []int) {
	before := cpuOf(pids)
	time.Sleep(costWindow)
	used := cpuOf(pids) - before
	fmt.Printf("%-36s %12.2f %10.1f\n", what, 100*used.Seconds()/costWindow.Seconds(), float64(rssOf(pids))/(1<<20))
}

// cpuOf is the time that the processes have used, from the scheduler's own count.
func cpuOf(pids []int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // a thread may have ended
			ns, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(ns, 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

func rssOf(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}

// childrenOf are the processes that any thread of the process has started.
func childrenOf(pid int) []int {
	var pids []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for f := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}
