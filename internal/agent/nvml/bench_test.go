//go:build cgo

package nvml

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// BenchmarkSample samples eight idle H100 and tells what one sample costs: CPU time of
// this process and of the child together, and NVML calls. At 1 Hz, 0.2 % of a core is
// 2000 us a sample.
func BenchmarkSample(b *testing.B) {
	s := open(b, fakenvml.Build(b).State(b, 8), func(o *Options) { o.Deadline = 5 * time.Second })
	pid := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.child.cmd.Process.Pid
	}
	sample(b, s)
	child := pid()
	before := cpu(b, child) + self()
	calls := 0
	n := 0
	for b.Loop() {
		calls += sample(b, s).Calls
		n++
	}
	b.ReportMetric(float64((cpu(b, child)+self()-before).Microseconds())/float64(n), "cpu-us/sample")
	b.ReportMetric(float64(calls)/float64(n), "nvml-calls/sample")
	b.ReportMetric(float64(residentKiB(b, child))/1024, "child-MiB")
	if now := pid(); now != child {
		b.Fatalf("the child was replaced: %d, then %d", child, now)
	}
}

func self() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu is the time that a process has used, from the scheduler's nanoseconds of its threads.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // a thread may have ended
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			ns, _ := strconv.ParseInt(fields[0], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

func residentKiB(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	return 0
}
