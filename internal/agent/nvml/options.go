package nvml

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"time"
)

// ChildArg is the first argument of the child process: a program that uses Supervised
// calls Serve when it finds it.
const ChildArg = "__nvml"

// Options are the knobs of Supervised. The zero Options are those of a plain host.
type Options struct {
	// Library is the driver's library, a name or a path; empty: libnvidia-ml.so.1.
	Library string
	// Command starts the child; empty: this executable with ChildArg.
	Command []string
	// Env is added to the child's environment.
	Env []string
	// Deadline is how long a reading call may take before its device counts as
	// hanging; 0: 0.8 s, so that a sample each second has a row for every device.
	Deadline time.Duration
	// ProbeAfter is when a device that hung is asked again for the first time; each
	// further time takes twice as long, up to ten minutes. 0: 30 s.
	ProbeAfter time.Duration
	// Run runs the command that resets a device; nil: as a process.
	Run func(ctx context.Context, argv ...string) ([]byte, error)
}

const (
	defaultLibrary    = "libnvidia-ml.so.1"
	defaultDeadline   = 800 * time.Millisecond
	defaultProbeAfter = 30 * time.Second
	longestProbe      = 10 * time.Minute
	longestRestart    = time.Minute
)

func (o Options) withDefaults() (Options, error) {
	o.Library = cmp.Or(o.Library, defaultLibrary)
	o.Deadline = cmp.Or(o.Deadline, defaultDeadline)
	o.ProbeAfter = cmp.Or(o.ProbeAfter, defaultProbeAfter)
	if o.Run == nil {
		o.Run = func(ctx context.Context, argv ...string) ([]byte, error) {
			return exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
		}
	}
	if len(o.Command) > 0 {
		return o, nil
	}
	self, err := os.Executable()
	o.Command = []string{self, ChildArg}
	return o, err
}

// patience is how long a call may take before it counts as one that never returns.
// Until then its device is only reported as not answering: a machine that stood still
// for a moment is no reason to leave a device alone.
func patience(call string, deadline time.Duration) time.Duration {
	switch call {
	case "dlopen", "nvmlInit", "nvmlInitWithFlags", "nvmlDeviceGetHandleByIndex":
		return 30 * time.Second // without persistence mode the driver starts the device here
	case ourselves:
		return 15 * deadline
	case "nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceDestroy",
		"nvmlGpuInstanceCreateComputeInstance", "nvmlComputeInstanceDestroy":
		return 2 * time.Minute // may reset the device
	}
	return 2 * deadline
}

// ourselves stands for a call where it is the child that does not answer.
const ourselves = "the process that reads the driver"

// atStart is how long a sample waits for a call at the start of the library or of a
// device: longer than for a reading, as the host may be well.
func atStart(call string, deadline time.Duration) time.Duration {
	switch call {
	case "dlopen", "nvmlInit", "nvmlInitWithFlags":
		return 10 * deadline
	case "nvmlDeviceGetHandleByIndex":
		return 3 * deadline
	}
	return deadline
}

// changes reports whether the call is a change that takes its time: a device under one
// is busy, not hanging.
func changes(call string) bool { return patience(call, 0) > time.Minute }
