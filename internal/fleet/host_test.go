package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// device is a GPU as an agent tells it.
func device(index, minor int) GPU {
	return GPU{
		UUID: fmt.Sprintf("GPU-%d", index), Node: "n1", Index: index, Minor: minor, Model: "NVIDIA H100",
		Health: GPUHealth{State: GPUAnswers}, Temp: Read(40),
	}
}

func report(host string, gpus ...GPU) HostReport {
	return HostReport{Host: host, Agent: AgentInfo{Driver: "570", BootID: "boot", At: time.Now()}, GPUs: gpus}
}

func agents(full bool, hosts ...HostReport) Update {
	return Update{Source: "agents", At: time.Now(), Full: full, NoJobs: true, NoViews: true, Hosts: hosts}
}

// gpuView is a node of a Slurm cluster with GPUs, of which some are in use.
func gpuView(total int, held ...int) View {
	v := view("ai", "n1", BaseMixed)
	v.GPUs = GPUCount{Total: total, Allocated: len(held), Model: "h100"}
	v.GRES = []GRES{{Name: "gpu", Type: "h100", Count: int64(total)}}
	v.UsedGRES = []GRES{{Name: "gpu", Type: "h100", Count: int64(len(held)), Indices: held}}
	return v
}

func holding(id string, raw int64, gpus int) Job {
	j := job(id, JobRunning, "n1")
	j.RawID, j.GPUs.Held, j.Name = raw, gpus, "name-"+id
	return j
}

func ownersOf(g *GPU) string {
	var out []string
	for _, o := range g.Owners {
		out = append(out, fmt.Sprintf("%s/%s %s proven=%v", o.Job.Cluster, o.Job.ID, o.User, o.Proven))
	}
	return strings.Join(out, "; ")
}

// C80: Slurm's index is the device's minor number, which differs from the driver's order.
func TestC80_IndexIsMinorNumber(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		s.Update(full([]View{gpuView(3, 0)}, holding("7", 7, 1)))
		if n := settle(s).Node("n1"); ownersOf(&n.GPUs[0]) != "ai/7 alice proven=false" || n.Agent != nil {
			t.Errorf("without an agent: %q", ownersOf(&n.GPUs[0]))
		}
		s.Update(agents(true, report("n1", device(0, 2), device(1, 1), device(2, 0))))
		n := settle(s).Node("n1")
		if len(n.GPUs) != 3 || ownersOf(&n.GPUs[2]) != "ai/7 alice proven=true" || len(n.GPUs[0].Owners) != 0 || n.Agent.Driver != "570" {
			t.Errorf("index 0 is minor 0, which is GPU-2: %+v", n.GPUs)
		}
		s.Update(agents(true, report("n1", device(0, -1), device(1, -1), device(2, -1))))
		if n = settle(s).Node("n1"); ownersOf(&n.GPUs[0]) != "ai/7 alice proven=false" || len(n.GPUs[2].Owners) != 0 {
			t.Errorf("without minor numbers it is by index, unproven: %+v", n.GPUs)
		}
	})
}

func TestOwnersOfBothSides(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		gpus := []GPU{device(0, 0), device(1, 1), device(2, 2), device(3, 3)}
		for i, id := range []string{"12", "13", "99"} {
			gpus[i].Owners = []Owner{{Job: JobKey{ID: id}, Source: "agent", Proven: true}}
		}
		gpus[0].Processes = []GPUProcess{{PID: 1, Owner: Owner{Job: JobKey{ID: "12"}}}, {PID: 2}}
		gpus[3].MIG = MIGState{Current: MIGEnabled, Instances: []MIGInstance{{ID: 1}, {ID: 2, Owners: []Owner{{Job: JobKey{ID: "13"}}}}}}
		s.Update(agents(true, report("n1", gpus...)))
		s.Update(full([]View{gpuView(4, 0, 1)}, holding("8_3", 12, 1), holding("9", 13, 1)))
		k8s := View{Cluster: "k8s", Kind: Kubernetes, Node: "n1", Base: "READY", GPUs: GPUCount{Total: 4, Allocated: 1}}
		k8s.UsedGRES = []GRES{{Name: "gpu", Count: 1, Indices: []int{1}}}
		pod := Job{Key: JobKey{Cluster: "k8s", ID: "train/pod"}, Base: JobRunning, User: "bob", Nodes: []string{"n1"}, GPUs: GPUDemand{Held: 1}}
		s.Update(Update{Source: "k8s", Full: true, Views: []View{k8s}, Jobs: []Job{pod}})
		snap := settle(s)
		n := snap.Node("n1")
		for i, want := range []string{
			"ai/8_3 alice proven=true",                              // a task of an array has a number of its own; several jobs: the agent knows whose
			"ai/9 alice proven=true; k8s/train/pod bob proven=true", // two schedulers gave it away
			"ai/99  proven=true",                                    // a job that Slurm does not list any more
			"",                                                      // MIG: see the instances
		} {
			if got := ownersOf(&n.GPUs[i]); got != want {
				t.Errorf("GPU %d: %q, want %q", i, got, want)
			}
		}
		if o := n.GPUs[3].MIG.Instances[1].Owners[0]; o.Job.ID != "9" || o.User != "alice" {
			t.Errorf("instance: %+v", o)
		}
		if p := n.GPUs[0].Processes; p[0].Owner.Job.ID != "8_3" || p[1].Owner.Job.ID != "" {
			t.Errorf("processes: %+v", p)
		}
		if gpus[0].Owners[0].Job.ID != "12" || gpus[0].Processes[0].Owner.Job.ID != "12" || gpus[3].MIG.Instances[1].Owners[0].Job.ID != "13" {
			t.Error("a report must not change")
		}
		// Slurm says another job: both are shown.
		s.Update(full([]View{gpuView(4, 1)}, holding("5", 5, 1)))
		if got := ownersOf(&settle(s).Node("n1").GPUs[1]); got != "ai/13  proven=true; ai/5 alice proven=true; k8s/train/pod bob proven=true" {
			t.Errorf("owners that differ: %q", got)
		}
	})
}

// C75: a device that a scheduler counts and the agent does not list is a row of its own.
func TestC75_MissingDeviceIsARow(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		s.Update(full([]View{gpuView(3, 0, 1, 2)}, holding("7", 7, 3)))
		s.Update(agents(true, report("n1", device(0, 0), device(1, 2))))
		n := settle(s).Node("n1")
		if len(n.GPUs) != 3 || n.GPUs[2].Index != 1 || n.GPUs[2].Health.State != GPUMissing || ownersOf(&n.GPUs[2]) != "ai/7 alice proven=false" {
			t.Errorf("%+v", n.GPUs)
		}
		s.Update(agents(true, report("n1")))
		if n = settle(s).Node("n1"); len(n.GPUs) != 3 || n.GPUs[0].Health.State != GPUUnwatched {
			t.Errorf("an agent without a driver does not know what is there: %+v", n.GPUs)
		}
	})
}

func TestGoneAgentLeavesItsData(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		s.Update(full([]View{gpuView(1)}))
		s.Update(agents(true, report("n1", device(0, 0))))
		at := settle(s).Node("n1").Agent.At
		gone := HostReport{Host: "n1", Gone: "it is silent", Agent: AgentInfo{Status: SourceStale}}
		s.Update(agents(false, gone))
		n := settle(s).Node("n1")
		if n.Agent.Gone != "it is silent" || n.Agent.Status != SourceStale || !n.Agent.At.Equal(at) || n.GPUs[0].UUID != "GPU-0" {
			t.Errorf("%+v %+v", n.Agent, n.GPUs)
		}
		gone.Agent.Status = SourceDown
		s.Update(agents(false, gone))
		if a := settle(s).Node("n1").Agent; a.Status != SourceDown || a.Driver != "570" {
			t.Errorf("%+v", a)
		}
		s.Update(agents(true))
		if n = settle(s).Node("n1"); n.Agent != nil || n.GPUs[0].UUID != "" {
			t.Errorf("a full set without the host drops it: %+v", n)
		}
	})
}

func TestAgentsJoinTheirNodes(t *testing.T) {
	inStore(t, StoreOptions{Hosts: map[string]string{"ip-10-0-0-9": "gpu9"}}, func(t *testing.T, s *Store) {
		s.Update(full([]View{view("ai", "GPU2", BaseIdle), view("ai", "gpu7", BaseIdle), view("ai", "gpu9", BaseIdle), view("ai", "a.one", BaseIdle), view("ai", "a.two", BaseIdle)}))
		s.Update(Update{Source: "k8s", Full: true, NoJobs: true, Views: []View{{Cluster: "k8s", Node: "ip-10-0-0-7", Base: "READY"}}})
		same := func(host string) HostReport {
			r := report(host)
			r.Agent.Machine = "machine-7"
			return r
		}
		clone := same("gpu8")
		clone.Agent.BootID = "another boot"
		s.Update(agents(true, report("GPU2.example.org"), report("ip-10-0-0-9"), report("a.two"), report("spare"), same("ip-10-0-0-7"), same("gpu7"), clone))
		snap := settle(s)
		var got []string
		for _, n := range snap.Nodes {
			got = append(got, fmt.Sprintf("%s %d %v", n.Name, len(n.Views), n.Agent != nil))
		}
		want := []string{"a.one 1 false", "a.two 1 true", "gpu2 1 true", "gpu7 2 true", "gpu8 0 true", "gpu9 1 true", "spare 0 true"}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		if snap.Node("ip-10-0-0-7") != snap.Node("gpu7") {
			t.Error("the other scheduler's name leads to the node")
		}
	})
}

func TestBestReportOfAHost(t *testing.T) {
	at := time.Now()
	agent := &HostReport{Agent: AgentInfo{At: at}}
	newer := &HostReport{Agent: AgentInfo{At: at.Add(time.Second)}}
	poor := &HostReport{Agent: AgentInfo{At: at.Add(time.Minute), Via: ViaSMI}}
	gone := &HostReport{Agent: AgentInfo{At: at.Add(time.Hour)}, Gone: "silent"}
	order := []*HostReport{newer, agent, poor, gone, nil}
	for i, a := range order[:4] {
		for _, b := range order[i+1:] {
			if !a.better(b) || b != nil && b.better(a) {
				t.Errorf("%+v shall be better than %+v", a, b)
			}
		}
	}
}

func TestOnlyChangedHostsAreNew(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		a, b := report("n1", device(0, 0), device(1, 1)), report("n2", device(0, 0))
		s.Update(full([]View{gpuView(2, 0), view("ai", "N2", BaseIdle)}, holding("7", 7, 1)))
		s.Update(agents(true, a, b))
		first := settle(s)
		s.Update(agents(false, a))
		if settle(s) != first {
			t.Error("nothing changed, nothing is published")
		}
		a.Agent.At = time.Now()
		a.GPUs = slices.Clone(a.GPUs)
		s.Update(agents(false, a))
		second := settle(s)
		n1, was := second.Node("n1"), first.Node("n1")
		if n1 == was || &n1.GPUs[0] != &was.GPUs[0] || n1.Agent == was.Agent || second.Nodes[0] != n1 {
			t.Error("a node with a new sample of the same devices shares them")
		}
		if second.Node("n2") != first.Node("n2") || second.Jobs[0] != first.Jobs[0] || second.JobsOn("n1")[0] != first.Jobs[0] {
			t.Error("everything else is shared")
		}
		b.GPUs = slices.Clone(b.GPUs)
		b.GPUs[0].Temp = Read(90)
		s.Update(agents(false, b))
		third := settle(s)
		if third.Node("n2").GPUs[0].Temp.Value != 90 || third.Node("N2") != third.Node("n2") || first.Node("n2").GPUs[0].Temp.Value != 40 {
			t.Error("a changed device is new, by all names of its node, and old snapshots stay")
		}
		if third.Node("n1") != n1 {
			t.Error("n1 is shared")
		}
	})
}

func TestTimelineOfDevices(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		d0, d1 := device(0, 0), device(1, 1)
		d1.MIG = MIGState{Current: MIGDisabled}
		d0.Faults = []Fault{{Kind: FaultXID, Code: 13, Text: "old"}}
		s.Update(agents(true, report("n1", d0, d1)))
		settle(s)
		d0.Faults = append(slices.Clone(d0.Faults), Fault{Kind: FaultXID, Code: 79, Text: "fallen off", Count: 1}, Fault{Kind: FaultXID, Code: 45, Text: "cleanup"})
		d0.Health = GPUHealth{State: GPULost, Why: "GPU is lost"}
		d1.MIG = MIGState{Current: MIGEnabled, Instances: []MIGInstance{{Profile: "3g.40gb", Start: 4}, {Profile: "1g.10gb"}}}
		r := report("n1", d0, d1)
		r.Agent.Faults = []Fault{{Kind: FaultSXID, Code: 20034, Text: "LTSSM Fault Up"}}
		s.Update(agents(false, r))
		settle(s)
		d0.Faults = slices.Clone(d0.Faults)
		d0.Faults[1].Count = 9 // that it goes on is no news
		d0.Faults[2].Cleared, d0.Faults[2].By = time.Now(), "alice"
		d0.Health = GPUHealth{State: GPUAnswers}
		d1.MIG = MIGState{} // not told for once
		r = report("n1", d0, d1, device(2, 2))
		r.Agent.BootID = "next"
		s.Update(agents(false, r))
		settle(s)
		d0.Faults = slices.Clone(d0.Faults)
		d0.Faults[2].Cleared = time.Time{}
		s.Update(agents(false, report("n1", d0, d1)))
		got := events(settle(s))
		want := []string{
			"n1 sxid:  > 20034 LTSSM Fault Up",
			"GPU-0 gpu: ok > lost: GPU 0 of n1, GPU is lost",
			"GPU-0 xid:  > 79 fallen off",
			"GPU-0 xid:  > 45 cleanup",
			"GPU-1 mig: disabled > 3g.40gb@4,1g.10gb@0",
			"n1 agent:  > rebooted",
			"GPU-0 gpu: lost > ok: GPU 0 of n1",
			"GPU-0 xid: 45 cleanup > cleared alice",
			"GPU-2 gpu:  > listed as GPU 2 of n1",
			"n1 agent:  > rebooted",
			"GPU-0 xid:  > 45 cleanup",
			"GPU-2 gpu: GPU 2 of n1 > no longer listed",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A broken login node is one line, not hundreds.
func TestTimelineOfAgents(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		lost := func(host, why string) HostReport { return HostReport{Host: host, Gone: why} }
		s.Update(agents(true, report("n1"), report("n2"), report("n3"), report("n4"), lost("n5", "no route")))
		settle(s)
		s.Update(agents(false, lost("n1", "login1 is down"), lost("n2", "login1 is down"), lost("n3", "login1 is down"), lost("n4", "silent")))
		settle(s)
		s.Update(agents(false, lost("n1", "another word"), report("n4"), report("n5")))
		got := events(settle(s))
		want := []string{
			"agents agent: reached > n[1-3] lost: login1 is down",
			"n4 agent: reached > lost: silent",
			"agents agent:  > n[4-5] reached",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// benchmarkHosts is what the agents of a large fleet say; of those that are in the
// round every device changed.
func benchmarkHosts(round, share int) Update {
	u := agents(round == 0)
	for i := round % share; i < 7500; i += share {
		gpus := make([]GPU, 8)
		for k := range gpus {
			gpus[k] = device(k, k)
			gpus[k].UUID = fmt.Sprintf("GPU-%d-%d", i, k)
			gpus[k].Temp = Read(float64(40 + round))
			gpus[k].Owners = []Owner{{Job: JobKey{ID: fmt.Sprint(i)}, Source: "agent", Proven: true}}
			gpus[k].Checks = []Check{{Name: CheckECC, Result: CheckOK}, {Name: CheckPCIe, Result: CheckOK}}
		}
		r := report(fmt.Sprintf("gpu%04d", i), gpus...)
		r.Agent.At = time.Unix(int64(round), 0)
		u.Hosts = append(u.Hosts, r)
	}
	return u
}

// What one second of a fleet of 7,500 nodes and 60,000 GPUs costs, each node speaking
// once: five updates, five snapshots. hosts-at-once is the first full set.
func BenchmarkStoreAgents(b *testing.B) {
	start := func() *Store {
		s := NewStore(StoreOptions{})
		s.Update(benchmarkFleet(0))
		s.Update(benchmarkHosts(0, 1))
		s.apply()
		s.publish()
		return s
	}
	b.Run("fifth-of-the-hosts", func(b *testing.B) {
		s := start()
		rounds := make([]Update, 10)
		for i := range rounds {
			rounds[i] = benchmarkHosts(i+1, 5)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Update(rounds[i%10])
			s.apply()
			s.publish()
		}
	})
	b.Run("one-host", func(b *testing.B) {
		s := start()
		rounds := []Update{benchmarkHosts(1, 7500), benchmarkHosts(7501, 7500)}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Update(rounds[i%2])
			s.apply()
			s.publish()
		}
	})
	b.Run("hosts-at-once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			start()
		}
	})
}
