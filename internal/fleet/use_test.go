package fleet

import "testing"

// C83: a GPU whose owner nobody can name is not a free one.
func TestC83_UnknownIsNotFree(t *testing.T) {
	owner := Owner{Job: JobKey{ID: "7"}, User: "alice"}
	for name, c := range map[string]struct {
		edit func(*Node, *GPU)
		want Use
	}{
		"free":               {func(*Node, *GPU) {}, UseFree},
		"held":               {func(_ *Node, g *GPU) { g.Owners = []Owner{owner} }, UseHeld},
		"held in part":       {func(_ *Node, g *GPU) { g.MIG.Instances = []MIGInstance{{}, {Owners: []Owner{owner}}} }, UseHeld},
		"nameless":           {func(_ *Node, g *GPU) { g.Owners = []Owner{{Source: "ai"}} }, UseUnknown},
		"nameless in part":   {func(_ *Node, g *GPU) { g.MIG.Instances = []MIGInstance{{Owners: []Owner{{}}}} }, UseUnknown},
		"process":            {func(_ *Node, g *GPU) { g.Processes = []GPUProcess{{PID: 7}} }, UseUnknown},
		"hanging":            {func(_ *Node, g *GPU) { g.Health.State = GPUHanging }, UseUnknown},
		"nobody watches it":  {func(n *Node, g *GPU) { n.Views, g.Health.State = nil, GPUUnwatched }, UseUnknown},
		"allocated somehow":  {func(n *Node, _ *GPU) { n.Views[0].GPUs.Allocated = 1 }, UseUnknown},
		"the other one held": {func(n *Node, _ *GPU) { n.Views[0].GPUs.Allocated, n.GPUs[1].Owners = 1, []Owner{owner} }, UseFree},
	} {
		n := &Node{Name: "n1", Views: []View{{GPUs: GPUCount{Total: 2}}}, GPUs: []GPU{{Node: "n1"}, {Node: "n1", Index: 1}}}
		n.GPUs[0].Health.State = GPUAnswers
		c.edit(n, &n.GPUs[0])
		if got := n.UseOf(&n.GPUs[0]); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		free := mustParse(t, "owner:none").Match(&GPURow{GPU: &n.GPUs[0], Host: n})
		if free != (c.want == UseFree) {
			t.Errorf("%s: owner:none matches %v", name, free)
		}
	}
}

func mustParse(t *testing.T, text string) Query {
	t.Helper()
	q, err := ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Check(GPUFields()); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQueryGPU(t *testing.T) {
	g := &GPU{
		UUID: "GPU-1", Node: "n1", Index: 3, PCI: "00000000:05:00.0", Health: GPUHealth{State: GPULost},
		Temp: Read(91), Util: Absent(NotApplicable, ""), MemUsed: Read(64 << 30),
		MIG: MIGState{Current: MIGEnabled, Instances: []MIGInstance{{Profile: "3g.40gb", Owners: []Owner{{User: "bob", Job: JobKey{ID: "9"}}}}}},
		Faults: []Fault{
			{Kind: FaultXID, Code: 79, Text: "GPU has fallen off the bus"},
			{Kind: FaultXID, Code: 48, Cleared: queryNow},
		},
	}
	row := &GPURow{GPU: g, Host: &Node{}}
	for text, want := range map[string]bool{
		"xid:79": true, "xid==48": false, "fault:xid": true, "fault:bus": true, "fault:none": false, "mig:3g": true, "mig:enabled": true,
		"state:lost": true, "state:faulty": true, "state:ok": false, "pci:05:00": true, "uuid==GPU-1": true, "temp>85": true,
		"util:none": true, "util==0": false, "mem>=64G": true, "owner==bob": true, "owner:none": false, "job:9": true, "index==3": true, "fallen": true,
	} {
		if got := mustParse(t, text).Match(row); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSnapshotFindsGPUs(t *testing.T) {
	s := NewSnapshot(Snapshot{Nodes: []*Node{{Name: "n1", Agent: &AgentInfo{}, GPUs: []GPU{{Node: "n1", Index: 0, UUID: "GPU-a"}, {Node: "n1", Index: 4}}}}})
	for id, index := range map[string]int{"GPU-a": 0, "n1:0": 0, "n1:4": 4} {
		if g, n := s.GPU(id); g == nil || g.Index != index || n.Name != "n1" {
			t.Errorf("%s: %+v", id, g)
		}
	}
	for _, id := range []string{"", "n1", "n1:1", "n2:0", "GPU-b"} {
		if g, _ := s.GPU(id); g != nil {
			t.Errorf("%q: %+v", id, g)
		}
	}
}
