package agent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/host"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// still is a driver whose devices change a little each time.
type still struct {
	Driver
	gpus []fleet.GPU
	n    float64
}

func (s *still) Sample(context.Context) (DriverSample, error) {
	s.n++
	for i := range s.gpus {
		s.gpus[i].Power = fleet.Read(600 + s.n)
	}
	return DriverSample{Driver: "570.86.15", GPUs: append([]fleet.GPU{}, s.gpus...), At: time.Now()}, nil
}

// BenchmarkRound is what the agent does each second beside the calls into the driver:
// 8 devices with a process each, on this machine's own /proc.
func BenchmarkRound(b *testing.B) {
	d := &still{}
	for i := range 8 {
		d.gpus = append(d.gpus, fleet.GPU{
			UUID: fmt.Sprintf("GPU-%d", i), Index: i, Minor: i, PCI: fmt.Sprintf("00000000:%02X:00.0", i), Health: fleet.GPUHealth{State: fleet.GPUAnswers},
			Checks:    []fleet.Check{{Name: fleet.CheckECC, Result: fleet.CheckOK, Text: "no uncorrectable errors"}},
			Processes: []fleet.GPUProcess{{PID: 1 + i, Instance: -1}},
		})
	}
	s := New(Options{Driver: d, Host: host.Host{Root: "/"}, StateDir: b.TempDir(), AsRoot: true})
	b.ReportAllocs()
	for b.Loop() {
		if err := s.readDriver(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := s.readOwners(b.Context()); err != nil {
			b.Fatal(err)
		}
		s.judge()
		s.publish()
		s.save()
	}
}
