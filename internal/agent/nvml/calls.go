//go:build cgo

package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// errUnsupported: the driver or the board does not do this.
var errUnsupported = errors.New("not supported")

// symbols looks up what the library exports, each name once.
type symbols struct {
	mu   sync.Mutex
	lib  *dl.DynamicLibrary
	have map[string]bool
}

// versions are the functions that go-nvml calls by their newest version that is there.
func versions(name string) []string {
	switch name {
	case "nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlEventSetWait",
		"nvmlComputeInstanceGetInfo", "nvmlDeviceGetGpuInstancePossiblePlacements":
		return []string{name + "_v2", name}
	case "nvmlDeviceGetPciInfo", "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
		"nvmlDeviceGetMPSComputeRunningProcesses":
		return []string{name + "_v3", name + "_v2", name}
	}
	return []string{name}
}

// has reports whether the call can be made: one that is missing would end the process.
func (s *symbols) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, known := s.have[name]; known {
		return have
	}
	for _, v := range versions(name) {
		if s.lib.Lookup(v) == nil {
			s.have[name] = true
			return true
		}
	}
	s.have[name] = false
	return false
}

// calls makes NVML calls, one at a time, and tells which one is under way.
type calls struct {
	symbols *symbols
	// lost is set when a call finds the device lost: no further one is made until it
	// is cleared. Only the goroutine that makes the calls looks at it.
	lost  error
	mu    sync.Mutex
	name  string // under way; empty when none
	since time.Time
	n     int
}

// do makes the call unless the library lacks it, and turns what it returns into an
// error. Every NVML call of this package goes through here.
func (c *calls) do(name string, call func() nvml.Return) error {
	if c.lost != nil {
		return c.lost
	}
	if !c.symbols.has(name) {
		return &callError{name, nvml.ERROR_FUNCTION_NOT_FOUND}
	}
	c.begin(name)
	ret := call()
	c.begin("")
	if ret == nvml.SUCCESS {
		return nil
	}
	err := &callError{name, ret}
	if ret == nvml.ERROR_GPU_IS_LOST {
		c.lost = err
	}
	return err
}

func (c *calls) begin(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.since = name, time.Now()
	if strings.HasPrefix(name, "nvml") {
		c.n++
	}
}

// underway returns the call that has not returned yet, nil when there is none.
func (c *calls) underway() *stuck {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" {
		return nil
	}
	return &stuck{Call: c.name, Age: time.Since(c.since)}
}

// made returns how many calls were made since it was last asked.
func (c *calls) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// callError is what a call returned.
type callError struct {
	call string
	ret  nvml.Return
}

// Error names the call: nvmlDeviceGetTemperature: GPU is lost.
func (e *callError) Error() string { return e.call + ": " + words(e.ret) }

// Unwrap is the class of the error.
func (e *callError) Unwrap() error {
	switch e.ret {
	case nvml.ERROR_GPU_IS_LOST:
		return agent.ErrLost
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return agent.ErrOldDriver
	case nvml.ERROR_NOT_SUPPORTED:
		return errUnsupported
	case nvml.ERROR_IN_USE:
		return mig.ErrInUse
	case nvml.ERROR_INSUFFICIENT_RESOURCES:
		return mig.ErrNoRoom
	case nvml.ERROR_NOT_FOUND:
		return agent.ErrNotFound
	case nvml.ERROR_NO_PERMISSION:
		return fs.ErrPermission
	case nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIBRARY_NOT_FOUND, nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return agent.ErrNoDriver
	}
	return nil
}

// words are this package's own: the library's nvmlErrorString would be one more call
// that may be missing.
func words(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		return "GPU is lost"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return "this driver does not have it"
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	case nvml.ERROR_IN_USE:
		return "in use by another client"
	case nvml.ERROR_INSUFFICIENT_RESOURCES:
		return "insufficient resources"
	case nvml.ERROR_NOT_FOUND:
		return "not found"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "the kernel driver is not loaded"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "library and kernel driver have different versions"
	case nvml.ERROR_RESET_REQUIRED:
		return "the GPU must be reset"
	case nvml.ERROR_INVALID_ARGUMENT:
		return "invalid argument"
	case nvml.ERROR_TIMEOUT:
		return "timeout"
	case nvml.ERROR_UNKNOWN:
		return "unknown error"
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}

// reading turns a value and the error of its call into a Reading.
func reading(v float64, err error) fleet.Reading {
	switch {
	case err == nil:
		return fleet.Read(v)
	case errors.Is(err, errUnsupported), errors.Is(err, agent.ErrOldDriver):
		return fleet.Absent(fleet.Unsupported, "")
	}
	return fleet.Absent(fleet.Unreadable, err.Error())
}
