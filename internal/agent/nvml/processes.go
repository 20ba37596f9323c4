//go:build cgo

package nvml

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// nobody is the id that NVML gives where there is no instance.
const nobody = math.MaxUint32

func (g *gpu) computeProcesses() ([]nvml.ProcessInfo, error) {
	return ask(g.calls, "nvmlDeviceGetComputeRunningProcesses", g.handle.GetComputeRunningProcesses)
}

// otherProcesses hold the device too: those that draw, and clients of MPS. A driver
// that does not tell them has none to tell.
func (g *gpu) otherProcesses() []nvml.ProcessInfo {
	drawing, _ := ask(g.calls, "nvmlDeviceGetGraphicsRunningProcesses", g.handle.GetGraphicsRunningProcesses)
	mps, _ := ask(g.calls, "nvmlDeviceGetMPSComputeRunningProcesses", g.handle.GetMPSComputeRunningProcesses)
	return append(drawing, mps...)
}

// named lists processes once each for an instance. Their names are asked of the kernel
// once, and stay known while they hold the device: a process that has gone in between
// has none.
func (g *gpu) named(infos []nvml.ProcessInfo) []fleet.GPUProcess {
	var list []fleet.GPUProcess
	names := make(map[int]string, len(infos))
	type key struct{ pid, instance uint32 }
	seen := make(map[key]bool, len(infos))
	for _, p := range infos {
		if seen[key{p.Pid, p.GpuInstanceId}] {
			continue
		}
		seen[key{p.Pid, p.GpuInstanceId}] = true
		pid := int(p.Pid)
		name, known := g.names[pid]
		if !known {
			name = processName(pid)
		}
		names[pid] = name
		list = append(list, fleet.GPUProcess{PID: pid, Name: name, Bytes: processBytes(p.UsedGpuMemory), Instance: instance(p.GpuInstanceId)})
	}
	g.names = names
	return list
}

func processName(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

func processBytes(n uint64) fleet.Reading {
	if n == math.MaxUint64 { // NVML_VALUE_NOT_AVAILABLE
		return fleet.Absent(fleet.Unsupported, "")
	}
	return fleet.Read(float64(n))
}

func instance(id uint32) int {
	if id == nobody {
		return -1
	}
	return int(id)
}
