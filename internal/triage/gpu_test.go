package triage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// watched is a healthy node with an agent and 8 GPUs, all of them job 4711's.
func watched(name string) *fleet.Node {
	n := node(name, fleet.BaseAllocated, fleet.Reason{})
	n.Views[0].GRES = []fleet.GRES{{Name: "gpu", Type: "h100", Count: 8, Raw: "gpu:h100:8"}}
	n.Agent = &fleet.AgentInfo{Host: name, Driver: "570.86.15", NVML: "12.570", Expected: 8, Present: 8, At: now}
	for i := range 8 {
		n.GPUs = append(n.GPUs, fleet.GPU{
			UUID: fmt.Sprintf("GPU-%s-%d", name, i), Node: name, Index: i, PCI: fmt.Sprintf("00000000:%02X:00.0", i+1), At: now,
			Health: fleet.GPUHealth{State: fleet.GPUAnswers}, Temp: fleet.Read(61), TempLimit: fleet.Read(87),
			MIG:    fleet.MIGState{Current: fleet.MIGDisabled, Pending: fleet.MIGDisabled},
			Owners: []fleet.Owner{{Job: fleet.JobKey{Cluster: "ai", ID: "4711"}, User: "alice", Source: "agents", Proven: true}},
			Checks: []fleet.Check{{Name: fleet.CheckECC, Result: fleet.CheckOK}, {Name: fleet.CheckFabric, Result: fleet.CheckNotApplicable}},
		})
	}
	return n
}

func xid(code int, text string) fleet.Fault {
	return fleet.Fault{Kind: fleet.FaultXID, Code: code, Text: text, First: now.Add(-time.Minute), Last: now, Count: 1, Source: "kmsg"}
}

func check(name string, r fleet.CheckResult) fleet.Check {
	return fleet.Check{Name: name, Result: r, Text: "what was read"}
}

func TestEvaluateDevices(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*fleet.GPU)
		want string // rule severity gpus first action
		says string // of the first title, evidence and advice
	}{
		"healthy": {func(*fleet.GPU) {}, "", ""},
		"lost":    {func(g *fleet.GPU) { g.Health = fleet.GPUHealth{State: fleet.GPULost, Why: "GPU is lost", Since: now} }, "gpu-lost critical 512 drain", "n1 GPU 3 is lost: GPU is lost, job 4711 of alice"},
		"XID 79":  {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(79, "GPU has fallen off the bus.")} }, "gpu-lost critical 512 drain", "n1 GPU 3 fell off the bus (XID 79), job 4711 of alice"},
		"79 and 154": {func(g *fleet.GPU) {
			g.Faults = []fleet.Fault{xid(79, ""), xid(154, "changed from 0x0 (None) to 0x2 (Node Reboot Required)")}
		}, "gpu-lost critical 512 drain", "recovery action reboot"},
		"off the bus": {func(g *fleet.GPU) {
			g.Faults = []fleet.Fault{{Kind: fleet.FaultOffBus, Text: "GPU at 0000:05:00 has fallen off the bus"}}
		}, "gpu-lost critical 512 drain", "without an XID"},
		"hanging": {func(g *fleet.GPU) {
			g.Health = fleet.GPUHealth{State: fleet.GPUHanging, Why: "nvmlDeviceGetTemperature has not returned"}
		}, "gpu-hanging critical 512 drain", "does not answer: nvmlDeviceGetTemperature has not returned"},
		"missing":           {func(g *fleet.GPU) { g.Health.State = fleet.GPUMissing }, "gpu-missing critical 512 drain", "GPU 3 is missing"},
		"application error": {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(13, "Graphics Exception")} }, "gpu-xid info 512", "graphics engine exception (XID 13), job 4711 of alice"},
		"not this one":      {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(9999, "")} }, "gpu-xid warning 512 drain", "not in NVIDIA's catalogue (XID 9999)"},
		"NVLink5 fatal":     {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08")} }, "gpu-xid critical 512 drain", "XID 149 at"},
		"NVLink5 harmless":  {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(145, "RLW_SRC_TRACK Non-fatal XC0")} }, "gpu-xid info 512", ""},
		"154 overrides": {func(g *fleet.GPU) {
			g.Faults = []fleet.Fault{xid(13, ""), xid(154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")}
		}, "gpu-recovery-due critical 512 drain", "asks for recovery: reset"},
		"154 back to none": {func(g *fleet.GPU) {
			g.Faults = []fleet.Fault{xid(154, "changed from 0x1 (GPU Reset Required) to 0x0 (None)")}
		}, "", ""},
		"154 unreadable":   {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(154, "changed to something new")} }, "gpu-xid warning 512 drain", "recovery action changed"},
		"recovery read":    {func(g *fleet.GPU) { g.Faults = []fleet.Fault{{Kind: fleet.FaultRecovery, Code: 4}, xid(94, "")} }, "gpu-recovery-due warning 512 drain", "let running jobs end"},
		"recovery unknown": {func(g *fleet.GPU) { g.Faults = []fleet.Fault{{Kind: fleet.FaultRecovery, Code: 42}} }, "gpu-recovery-due critical 512 drain", "action 42"},
		"remap failed": {func(g *fleet.GPU) {
			g.Checks = []fleet.Check{check(fleet.CheckRowRemap, fleet.CheckBad)}
			g.Faults = []fleet.Fault{xid(64, "")}
		}, "gpu-row-remap-failed critical 512 drain", "RMA"},
		"remap pending": {func(g *fleet.GPU) {
			g.Checks = []fleet.Check{check(fleet.CheckRowRemap, fleet.CheckWarn)}
			g.Faults = []fleet.Fault{xid(63, "")}
		}, "gpu-row-remap-pending warning 512 drain", "a reset is needed"},
		"63 alone": {func(g *fleet.GPU) { g.Faults = []fleet.Fault{xid(63, "")} }, "gpu-xid info 512", "to be remapped"},
		"ECC":      {func(g *fleet.GPU) { g.Checks = []fleet.Check{check(fleet.CheckECC, fleet.CheckBad)} }, "gpu-ecc critical 512 drain", "ecc: what was read"},
		"ECC with 48": {func(g *fleet.GPU) {
			g.Checks = []fleet.Check{check(fleet.CheckECC, fleet.CheckBad)}
			g.Faults = []fleet.Fault{xid(48, ""), {Kind: fleet.FaultDoubleBit}}
		}, "gpu-xid critical 512 drain", "double-bit ECC error (XID 48)"},
		"double bit":       {func(g *fleet.GPU) { g.Faults = []fleet.Fault{{Kind: fleet.FaultDoubleBit}} }, "gpu-fault warning 512 drain", "ecc-double"},
		"NVLink":           {func(g *fleet.GPU) { g.Checks = []fleet.Check{check(fleet.CheckNVLink, fleet.CheckBad)} }, "gpu-nvlink-down critical 512 drain", "NVLink that is down"},
		"throttled":        {func(g *fleet.GPU) { g.Checks = []fleet.Check{check(fleet.CheckThrottle, fleet.CheckBad)} }, "gpu-throttled warning 512 drain", "slowed down"},
		"PCIe":             {func(g *fleet.GPU) { g.Checks = []fleet.Check{check(fleet.CheckPCIe, fleet.CheckBad)} }, "gpu-pcie warning 512 drain", "PCIe"},
		"retired pages":    {func(g *fleet.GPU) { g.Checks = []fleet.Check{check(fleet.CheckRetiredPages, fleet.CheckWarn)} }, "gpu-retired-pages warning 512 drain", "to retire"},
		"new check":        {func(g *fleet.GPU) { g.Checks = []fleet.Check{check("inforom", fleet.CheckBad)} }, "gpu-check-failed warning 512 drain", "fails the check inforom"},
		"unreadable check": {func(g *fleet.GPU) { g.Checks = []fleet.Check{check("inforom", fleet.CheckUnreadable)} }, "", ""},
		"hot":              {func(g *fleet.GPU) { g.Temp = fleet.Read(88) }, "gpu-hot warning 512 drain", "is at 88 C, its own limit is 87 C"},
		"hot by its check": {func(g *fleet.GPU) {
			g.Checks = []fleet.Check{{Name: fleet.CheckTemperature, Result: fleet.CheckBad, Text: "no margin left"}}
		}, "gpu-hot warning 512 drain", "GPU 3 temperature: no margin left"},
		"hot by both": {func(g *fleet.GPU) {
			g.Temp = fleet.Read(88)
			g.Checks = []fleet.Check{check(fleet.CheckTemperature, fleet.CheckBad)}
		}, "gpu-hot warning 512 drain", "its own limit is 87 C"},
		"ECC off": {func(g *fleet.GPU) {
			g.Checks = []fleet.Check{{Name: fleet.CheckECC, Result: fleet.CheckWarn, Text: "ECC is switched off"}}
		}, "gpu-ecc warning 512 drain", "GPU 3 ecc: ECC is switched off"},
		"hot, limit unknown": {func(g *fleet.GPU) { g.Temp, g.TempLimit = fleet.Read(95), fleet.Absent(fleet.Unsupported, "") }, "", ""},
		"cleared":            {func(g *fleet.GPU) { f := xid(79, ""); f.Cleared = now; g.Faults = []fleet.Fault{f} }, "", ""},
		"unwatched":          {func(g *fleet.GPU) { g.Health = fleet.GPUHealth{}; g.Faults = []fleet.Fault{xid(79, "")} }, "", ""},
		"nobody's":           {func(g *fleet.GPU) { g.Owners = nil; g.Faults = []fleet.Fault{xid(48, "")} }, "gpu-xid critical 1 drain", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := watched("n1")
			c.set(&n.GPUs[3])
			got, text := summary(Evaluate(fleetOf([]*fleet.Node{n}, runningJob("4711", "alice", 512, "n1", "n2"))))
			if got != c.want || !strings.Contains(text, c.says) {
				t.Errorf("%q, want %q with %q\n%s", got, c.want, c.says, text)
			}
		})
	}
}

// summary is what findings are, on one line, and what the first one says.
func summary(findings []fleet.Finding) (short, text string) {
	var all []string
	for _, f := range findings {
		s := fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Blast.GPUs)
		if len(f.Actions) > 0 {
			s += " " + f.Actions[0]
		}
		all = append(all, s)
	}
	if len(findings) > 0 {
		f := findings[0]
		text = strings.Join(append([]string{f.Title, f.Advice}, f.Evidence...), "\n")
	}
	return strings.Join(all, ", "), text
}

func TestEvaluateHosts(t *testing.T) {
	for name, c := range map[string]struct {
		set        func(*fleet.Node)
		want, says string
	}{
		"agent gone": {func(n *fleet.Node) { n.Agent.Gone = "ssh: no route to host" }, "agent-gone warning 8", "no agent any more: ssh: no route to host"},
		"no driver": {func(n *fleet.Node) {
			n.Agent.Driver = ""
			n.Agent.Checks = []fleet.Check{check(fleet.CheckDriver, fleet.CheckBad)}
		}, "gpu-driver critical 512 drain", "no NVIDIA driver"},
		"old driver":       {func(n *fleet.Node) { n.Agent.Checks = []fleet.Check{check(fleet.CheckDriver, fleet.CheckBad)} }, "gpu-driver critical 512 drain", "too old"},
		"one missing":      {func(n *fleet.Node) { n.Agent.Present = 7; n.GPUs = n.GPUs[:7] }, "gpu-missing critical 512 drain", "has 7 of 8 GPUs: 1 missing"},
		"lost explains it": {func(n *fleet.Node) { n.Agent.Present = 7; n.GPUs[3].Health.State = fleet.GPULost }, "gpu-lost critical 512 drain", "GPU 3 is lost"},
		"not scanned":      {func(n *fleet.Node) { n.Agent.Expected = -1 }, "", ""},
		"persistence":      {func(n *fleet.Node) { n.GPUs[2].Checks = []fleet.Check{check(fleet.CheckPersistence, fleet.CheckWarn)} }, "gpu-persistence-off info 1", "GPU 2"},
		"blind":            {func(n *fleet.Node) { n.Agent.Problems = []string{"/dev/kmsg: permission denied"} }, "agent-blind info 0", "/dev/kmsg"},
		"switch": {func(n *fleet.Node) {
			n.Agent.Faults = []fleet.Fault{{Kind: fleet.FaultSXID, Code: 20034, Text: "Fatal, Link 63 LTSSM Fault Up"}}
		}, "nvswitch-sxid critical 512 drain", "SXID 20034"},
		"switch, harmless": {func(n *fleet.Node) {
			n.Agent.Faults = []fleet.Fault{{Kind: fleet.FaultSXID, Code: 12003, Text: "Non-fatal"}}
		}, "nvswitch-sxid info 512", "for the record"},
		"fault of nobody": {func(n *fleet.Node) {
			n.Agent.Faults = []fleet.Fault{{Kind: fleet.FaultOffBus, PCI: "00000000:48:00.0", Text: "fallen off the bus"}}
		}, "gpu-fault critical 512 drain", "does not list: 00000000:48:00.0"},
		"Slurm counts more":  {func(n *fleet.Node) { n.Views[0].GRES[0].Count = 9 }, "slurm-gres-differs warning 512 drain", "8 GPUs or slices, Slurm is configured for 9"},
		"slurmctld knows it": {func(n *fleet.Node) { n.Views[0].GRES[0].Count = 9; n.Views[0].Base = fleet.BaseInval }, "slurm-node-invalid critical 512 drain", ""},
		"drained": {func(n *fleet.Node) {
			n.Views[0].Flags = []string{fleet.FlagDrain}
			n.Agent.Checks = []fleet.Check{check(fleet.CheckDriver, fleet.CheckBad)}
		}, "gpu-driver critical 512, slurm-node-draining warning 8 undrain", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := watched("n1")
			c.set(n)
			got, text := summary(Evaluate(fleetOf([]*fleet.Node{n}, runningJob("4711", "alice", 512, "n1", "n2"))))
			if got != c.want || !strings.Contains(text, c.says) {
				t.Errorf("%q, want %q with %q\n%s", got, c.want, c.says, text)
			}
		})
	}
}

func TestAgentsAreGoneTogether(t *testing.T) {
	n := watched("n1")
	n.Agent.Gone = "login1 does not answer"
	s := fleetOf([]*fleet.Node{n})
	s.Sources = append(s.Sources, fleet.SourceState{Name: "agents", Kind: "agent", Status: fleet.SourceDown, LastSuccess: now})
	if got, _ := summary(Evaluate(s)); got != "source-down critical 0" {
		t.Error(got)
	}
}

// C79: a dead Fabric Manager is one finding, and what has no fabric is no fault.
func TestC79_Fabric(t *testing.T) {
	n := watched("n1") // whose devices say "not applicable"
	if got, _ := summary(Evaluate(fleetOf([]*fleet.Node{n}))); got != "" {
		t.Errorf("without a fabric: %s", got)
	}
	for i := range n.GPUs {
		n.GPUs[i].Checks = []fleet.Check{{Name: fleet.CheckFabric, Result: fleet.CheckBad, Text: "state In Progress"}}
	}
	got, text := summary(Evaluate(fleetOf([]*fleet.Node{n})))
	if got != "gpu-fabric-bad critical 8 drain" || !strings.Contains(text, "on GPU 0,1,2,3,4,5,6,7") {
		t.Errorf("%s: %s", got, text)
	}
	n.Agent.Checks = []fleet.Check{check(fleet.CheckFabricManager, fleet.CheckBad)}
	if got, text := summary(Evaluate(fleetOf([]*fleet.Node{n}))); got != "gpu-fabric-bad critical 8 drain" || !strings.Contains(text, "no working Fabric Manager") {
		t.Errorf("%s: %s", got, text)
	}
}

// C92: a mode change that is only pending is not done.
func TestC92_PendingMode(t *testing.T) {
	n := watched("n1")
	n.GPUs[0].MIG.Pending = fleet.MIGEnabled
	got, text := summary(Evaluate(fleetOf([]*fleet.Node{n})))
	if got != "mig-pending warning 1 drain" || !strings.Contains(text, "MIG is disabled, enabled is pending") {
		t.Errorf("%s: %s", got, text)
	}
}

// C94d: what Slurm is configured for and what is there stand side by side.
func TestC94d_ConfiguredAndReported(t *testing.T) {
	n := watched("n1")
	n.Views[0].GRES = []fleet.GRES{{Name: "gpu", Type: "1g.10gb", Count: 28, Raw: "gpu:1g.10gb:28"}}
	n.GPUs[0].MIG = fleet.MIGState{Current: fleet.MIGEnabled, Pending: fleet.MIGEnabled, Instances: []fleet.MIGInstance{{Profile: "3g.40gb"}, {Profile: "4g.40gb"}}}
	_, text := summary(Evaluate(fleetOf([]*fleet.Node{n})))
	if !strings.Contains(text, "Slurm: gpu:1g.10gb:28") || !strings.Contains(text, "agent: 7 whole, GPU 0: 3g.40gb 4g.40gb") {
		t.Error(text)
	}
	n.Views[0].GRES = []fleet.GRES{{Name: "gpu", Type: "h100", Count: 7}, {Name: "gpu", Type: "3g.40gb", Count: 2}, {Name: "shard", Count: 40}}
	if got, _ := summary(Evaluate(fleetOf([]*fleet.Node{n}))); got != "" {
		t.Error(got)
	}
}

// C100: one device given away by two schedulers is a fault of its own.
func TestC100_TwoSchedulers(t *testing.T) {
	n := watched("n1")
	n.GPUs[0].Owners = append(n.GPUs[0].Owners, fleet.Owner{Job: fleet.JobKey{Cluster: "prod-a", ID: "team/llm"}, User: "bob", Proven: true})
	if got, text := summary(Evaluate(fleetOf([]*fleet.Node{n}))); got != "gpu-two-owners critical 1 drain" || !strings.Contains(text, "held twice: by 4711 on ai and by team/llm on prod-a") {
		t.Errorf("%s: %s", got, text)
	}
	n.GPUs[0].Owners[1].Proven = false
	if got, _ := summary(Evaluate(fleetOf([]*fleet.Node{n}))); got != "" {
		t.Errorf("unproven: %s", got)
	}
}

// A fault belongs to the job of the process that the driver names.
func TestFaultNamesItsJob(t *testing.T) {
	n := watched("n1")
	g := &n.GPUs[0]
	g.Owners = append(g.Owners, fleet.Owner{Job: fleet.JobKey{Cluster: "ai", ID: "4712"}, User: "bob"})
	g.Processes = []fleet.GPUProcess{{PID: 77, Name: "python", Owner: g.Owners[1]}}
	f := xid(31, "MMU Fault")
	f.PID, f.Process = 77, "python"
	g.Faults = []fleet.Fault{f}
	got := Evaluate(fleetOf([]*fleet.Node{n}, runningJob("4711", "alice", 512, "n1"), runningJob("4712", "bob", 4, "n1")))
	if len(got) != 1 || !strings.HasSuffix(got[0].Title, ", job 4712 of bob") || got[0].Blast.GPUs != 4 || !got[0].Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("%+v", got)
	}
}

// A burst of XIDs loses none: the worst speaks, all of them are evidence.
func TestXIDBurst(t *testing.T) {
	n := watched("n1")
	n.GPUs[0].Faults = []fleet.Fault{xid(45, "a"), xid(95, "b"), xid(13, "c"), xid(43, "d")}
	got := Evaluate(fleetOf([]*fleet.Node{n}))
	if len(got) != 1 || !strings.Contains(got[0].Title, "(XID 95)") {
		t.Fatalf("%+v", got)
	}
	for _, code := range []string{"XID 45", "XID 95", "XID 13", "XID 43"} {
		if !strings.Contains(strings.Join(got[0].Evidence, "\n"), code) {
			t.Errorf("%s is not told: %q", code, got[0].Evidence)
		}
	}
}

func TestCatalogues(t *testing.T) {
	for i, r := range xids {
		if i > 0 && xids[i-1].code >= r.code {
			t.Errorf("XID %d is out of order", r.code)
		}
		if x := ExplainXID(r.code); !x.Known || x.Action == "" || x.Meaning == "" || x.Code != r.code {
			t.Errorf("%+v", x)
		}
	}
	for code, severity := range map[int]fleet.Severity{
		13: fleet.Info, 31: fleet.Info, 43: fleet.Info, 45: fleet.Info, 68: fleet.Info, 94: fleet.Info, 63: fleet.Info,
		48: fleet.Critical, 64: fleet.Critical, 79: fleet.Critical, 95: fleet.Critical, 119: fleet.Critical, 120: fleet.Critical,
		74: fleet.Warning, 9: fleet.Warning,
	} {
		if x := ExplainXID(code); x.Severity != severity {
			t.Errorf("XID %d: %s", code, x.Severity)
		}
	}
	for code, bucket := range map[int]Bucket{
		10003: BucketResetFabric, 10007: BucketResetFabric, 11004: BucketFMConfig, 11003: BucketIgnore, 14002: BucketResetGPU, 18007: BucketLinkSI, 20034: BucketNone,
	} {
		if x := ExplainSXID(code); x.Bucket != bucket || x.Action == "" || x.Known != (bucket != BucketNone) {
			t.Errorf("%+v", x)
		}
	}
	for v := range 8 {
		if r := ExplainRecovery(v); !r.Known || r.Value != v || r.Name == "" || r.Asks == "" {
			t.Errorf("%+v", r)
		}
	}
	if r := ExplainRecovery(-1); r.Known || r.Asks == "" {
		t.Errorf("%+v", r)
	}
}

func FuzzRecoveryIn(f *testing.F) {
	f.Add("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
	f.Add("to 0xffffffff")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := recoveryIn(&fleet.Fault{Kind: fleet.FaultXID, Code: 154, Text: text}); ok && v < 0 {
			t.Errorf("%q: %d", text, v)
		}
	})
}

func BenchmarkEvaluateWatchedFleet(b *testing.B) {
	var nodes []*fleet.Node
	for i := range 7500 {
		nodes = append(nodes, watched(fmt.Sprintf("n%04d", i)))
	}
	nodes[17].GPUs[3].Faults = []fleet.Fault{xid(79, "")}
	s := fleetOf(nodes, runningJob("4711", "alice", 60_000))
	b.ReportAllocs()
	for b.Loop() {
		Evaluate(s)
	}
}
