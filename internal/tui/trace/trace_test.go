package trace

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

var start = time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)

func snapshot(seq int, at time.Time, uuids ...string) *fleet.Snapshot {
	n := &fleet.Node{Name: "n1", Agent: &fleet.AgentInfo{}}
	for _, id := range uuids {
		n.GPUs = append(n.GPUs, fleet.GPU{UUID: id, At: at, Util: fleet.Read(float64(seq)), Temp: fleet.Absent(fleet.Unreadable, "no")})
	}
	return fleet.NewSnapshot(fleet.Snapshot{At: at, Nodes: []*fleet.Node{n}})
}

func TestPointsAreEquallyFarApart(t *testing.T) {
	var l Log
	for i := range 25 { // a reading a second
		l.Feed(snapshot(i, start.Add(time.Duration(i)*time.Second), "a"))
	}
	p := l.Of("a")
	if len(p.Util) != 3 || p.Util[0] != 9 || p.Util[1] != 19 || p.Util[2] != 24 {
		t.Errorf("%v", p.Util)
	}
	if !math.IsNaN(p.Temp[0]) || !math.IsNaN(p.Power[0]) {
		t.Errorf("what was not read has a value: %v %v", p.Temp, p.Power)
	}
}

func TestOnlyTheNewestAreKept(t *testing.T) {
	var l Log
	for i := range Points + 7 {
		l.Feed(snapshot(i, start.Add(time.Duration(i)*Every), "a"))
	}
	p := l.Of("a").Util
	if len(p) != Points || p[0] != 7 || p[Points-1] != Points+6 {
		t.Errorf("%v", p)
	}
}

func TestGoneDevicesAreForgotten(t *testing.T) {
	var l Log
	l.Feed(snapshot(1, start, "a", "b"))
	l.Feed(snapshot(2, start.Add(time.Minute), "b"))
	if len(l.Of("b").Util) != 2 {
		t.Errorf("b %v", l.Of("b"))
	}
	l.Feed(snapshot(2, start.Add(2*time.Minute), "b")) // a whole round without it
	if len(l.Of("a").Util) != 0 || len(l.Of("b").Util) != 3 {
		t.Errorf("a %v, b %v", l.Of("a"), l.Of("b"))
	}
	var none *Log
	if len(none.Of("a").Util) != 0 {
		t.Error("nothing is known")
	}
}

func TestAnOldReadingIsNoNews(t *testing.T) {
	var l Log
	for i := range 3 {
		l.Feed(snapshot(i, start, "a"))
	}
	if p := l.Of("a").Util; len(p) != 1 || p[0] != 0 {
		t.Errorf("%v", p)
	}
}

func BenchmarkFeedLargeFleet(b *testing.B) {
	var nodes []*fleet.Node
	for i := range 7500 {
		n := &fleet.Node{Agent: &fleet.AgentInfo{}}
		for k := range 8 {
			n.GPUs = append(n.GPUs, fleet.GPU{UUID: fmt.Sprintf("GPU-%08x-%d", i, k), Util: fleet.Read(50)})
		}
		nodes = append(nodes, n)
	}
	s := fleet.NewSnapshot(fleet.Snapshot{Nodes: nodes})
	var l Log
	at := start
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(200 * time.Millisecond)
		for _, n := range nodes {
			n.Agent.At = at
		}
		next := *s
		next.At = at
		l.Feed(&next)
	}
}

// A snapshot pays for the nodes that are due, not for the whole fleet.
func TestALargeFleetIsWalkedOverInShares(t *testing.T) {
	s := fleet.Snapshot{At: start}
	for i := range 100 {
		s.Nodes = append(s.Nodes, &fleet.Node{Agent: &fleet.AgentInfo{}, GPUs: []fleet.GPU{{UUID: fmt.Sprint(i), At: start}}})
	}
	var l Log
	l.Feed(fleet.NewSnapshot(s))
	for _, n := range s.Nodes {
		n.Agent.At = start.Add(Every)
	}
	s.At = start.Add(Every / 5)
	l.Feed(fleet.NewSnapshot(s))
	again := 0
	for i := range 100 {
		if len(l.Of(fmt.Sprint(i)).Util) == 2 {
			again++
		}
	}
	if again != 20 {
		t.Errorf("%d of 100 nodes in a fifth of the time", again)
	}
}
