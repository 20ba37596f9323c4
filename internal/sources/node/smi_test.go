package node

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

const (
	smiGood = "0, GPU-aaaa, NVIDIA H100 80GB HBM3, 1652823000001, 00000000:18:00.0, 96.00.74.00.01, 550.54.15, 34, 71.29, 700.00, 0, 4, 81559, 345, Disabled, Disabled\n"
	smiMIG  = "2, GPU-cccc, NVIDIA A100-SXM4-80GB, [N/A], 00000000:3A:00.0, 92.00, 550.54.15, 40, [Unknown Error], 400.00, [N/A], [Insufficient Permissions], 81920, [N/A], Enabled, Disabled\n"
)

func TestSMIReadings(t *testing.T) {
	r, err := readSMI("n1", time.Unix(9, 0), client.Output{Stdout: []byte(smiMIG + smiGood + "3, GPU-dddd, half a line\n")})
	if err != nil || len(r.GPUs) != 2 || len(r.Agent.Problems) != 1 || r.Agent.Driver != "550.54.15" || r.Agent.Via != fleet.ViaSMI {
		t.Fatalf("%v %+v", err, r)
	}
	good, mig := r.GPUs[0], r.GPUs[1]
	if good.UUID != "GPU-aaaa" || good.Minor != -1 || good.Temp.Value != 34 || good.MemTotal.Value != 81559<<20 || good.Util != fleet.Read(0) || good.MIG.Current != fleet.MIGDisabled {
		t.Errorf("%+v", good)
	}
	if mig.Serial != "" || mig.Power.Quality != fleet.Unreadable || mig.Util.Quality != fleet.NotApplicable || mig.MemUsed.Quality != fleet.Unreadable || mig.SMClock.Quality != fleet.Unsupported || mig.MIG.Current != fleet.MIGEnabled {
		t.Errorf("%+v", mig)
	}
}

// C74: one lost device does not hide the others.
func TestC74_SMIWithALostDevice(t *testing.T) {
	out := client.Output{
		Stdout: []byte("Unable to determine the device handle for GPU 0000:0C:00.0: GPU is lost.  Reboot the system to recover this GPU\n" +
			smiGood + strings.ReplaceAll(smiGood, "34,", "[GPU is lost],")),
		Stderr: []byte("Unable to determine the device handle for GPU3: 0000:0D:00.0: Unknown Error\n"),
		Exit:   15,
	}
	r, err := readSMI("n1", time.Now(), out)
	if err != nil || len(r.GPUs) != 4 {
		t.Fatalf("%v %+v", err, r)
	}
	lost := 0
	for _, g := range r.GPUs {
		if g.Health.State == fleet.GPULost {
			lost++
		}
	}
	if lost != 3 || r.GPUs[2].PCI != "00000000:0C:00.0" || r.GPUs[2].Index == r.GPUs[3].Index {
		t.Errorf("%+v", r.GPUs)
	}
}

func TestSMIThatCannotTell(t *testing.T) {
	for want, out := range map[string]client.Output{
		"not there either: nvidia-smi: sh: nvidia-smi: not found": {Stderr: []byte("sh: nvidia-smi: not found\n"), Exit: 127},
		"exit status 9: nvidia-smi: NVIDIA-SMI has failed":        {Stdout: []byte("NVIDIA-SMI has failed\n"), Exit: 9},
		"exit status 1": {Exit: 1},
		"exit status 2: nvidia-smi: Field \"mig.mode.current\" is ": {Stdout: []byte("Field \"mig.mode.current\" is not a valid field to query.\n\n"), Exit: 2},
	} {
		if _, err := readSMI("n1", time.Now(), out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if r, err := readSMI("n1", time.Now(), client.Output{Stdout: []byte("No devices were found\n")}); err != nil || len(r.GPUs) != 0 || len(r.Agent.Problems) != 1 {
		t.Errorf("%v %+v", err, r)
	}
}

func FuzzSMI(f *testing.F) {
	f.Add([]byte(smiGood+smiMIG), []byte("Unable to determine the device handle for GPU 0000:0C:00.0: GPU is lost.\n"))
	f.Add([]byte("-1,,,,,,,NaN,Inf,,,,,,,\n99999999999999999999,,,,,,,,,,,,,,,\n"), []byte("\xff\x00"))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		r, _ := readSMI("n1", time.Now(), client.Output{Stdout: stdout, Stderr: stderr})
		ids := map[int]int{}
		for i := range r.GPUs {
			g := &r.GPUs[i]
			if g.Node != "n1" || g.Index < 0 || g.Temp.Quality != fleet.Known && g.Temp.Value != 0 {
				t.Errorf("%+v", g)
			}
			ids[g.Index]++
		}
		if len(r.GPUs) > maxSMI || len(r.Agent.Problems) > maxSMI {
			t.Error("unbounded")
		}
	})
}
