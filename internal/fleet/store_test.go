package fleet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inStore runs f in a bubble with a running store.
func inStore(t *testing.T, opts StoreOptions, f func(t *testing.T, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(opts)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		f(t, s)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// settle lets the store publish what it has.
func settle(s *Store) *Snapshot {
	time.Sleep(time.Second)
	synctest.Wait()
	return s.Latest()
}

func view(cluster, node, base string, flags ...string) View {
	return View{Cluster: cluster, Kind: Slurm, Node: node, Base: base, Flags: flags}
}

func job(id, base string, nodes ...string) Job {
	return Job{Key: JobKey{Cluster: "ai", ID: id}, ID: id, Base: base, User: "alice", Nodes: nodes, ExitCode: -1}
}

func full(views []View, jobs ...Job) Update {
	return Update{Source: "ai", At: time.Now(), Full: true, Views: views, Jobs: jobs}
}

func events(s *Snapshot) []string {
	var out []string
	for _, e := range s.Timeline {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s: %s > %s %s", e.Subject.Name, e.What, e.Before, e.After, e.Author)))
	}
	return out
}

func TestStoreFirstSnapshotIsEmpty(t *testing.T) {
	s := NewStore(StoreOptions{Sources: []SourceState{{Name: "ai", Status: SourceConnecting}}})
	if snap := s.Latest(); snap == nil || len(snap.Sources) != 1 || snap.Node("x") != nil || snap.JobsOn("x") != nil {
		t.Errorf("%+v", s.Latest())
	}
}

func TestStoreJoinsAndSharesRows(t *testing.T) {
	inStore(t, StoreOptions{Hosts: map[string]string{"k8s/ip-10-0-0-9": "gpu9"}}, func(t *testing.T, s *Store) {
		s.Update(full([]View{view("ai", "gpu10", BaseIdle), view("ai", "GPU2", BaseIdle), view("ai", "gpu9", BaseIdle)}, job("1", JobRunning, "GPU2")))
		s.Update(Update{Source: "k8s", Full: true, NoJobs: true, Views: []View{
			{Cluster: "k8s", Node: "gpu2.example.org", Base: "READY"},
			{Cluster: "k8s", Node: "ip-10-0-0-9", Base: "READY"},
			{Cluster: "k8s", Node: "10.0.0.7", Base: "READY"},
			{Cluster: "k8s", Node: "a.one"},
			{Cluster: "k8s", Node: "a.two"},
		}})
		first := settle(s)
		var names []string
		for _, n := range first.Nodes {
			names = append(names, n.Name)
		}
		if want := []string{"10.0.0.7", "a.one", "a.two", "gpu2", "gpu9", "gpu10"}; !slices.Equal(names, want) {
			t.Fatalf("nodes %q, want %q", names, want)
		}
		if n := first.Node("gpu2"); len(n.Views) != 2 || n.View("k8s") == nil || first.Node("gpu2.example.org") != n {
			t.Errorf("gpu2 has both views: %+v", n)
		}
		if jobs := first.JobsOn("gpu2"); len(jobs) != 1 {
			t.Errorf("jobs are found by host name: %v", jobs)
		}
		s.Update(full([]View{view("ai", "gpu10", BaseIdle), view("ai", "GPU2", BaseDown), view("ai", "gpu9", BaseIdle)}, job("1", JobRunning, "GPU2")))
		second := settle(s)
		if second.Seq <= first.Seq || second.Node("gpu10") != first.Node("gpu10") || second.Jobs[0] != first.Jobs[0] {
			t.Error("unchanged rows are shared")
		}
		if second.Node("gpu2") == first.Node("gpu2") || first.Node("gpu2").View("ai").Base != BaseIdle {
			t.Error("a changed row is new, and the old snapshot stays")
		}
	})
}

func TestStoreFullAndDelta(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		s.Update(full([]View{view("ai", "n1", BaseIdle), view("ai", "n2", BaseIdle)}, job("1", JobRunning, "n1"), job("2", JobPending)))
		settle(s)
		s.Update(Update{Source: "ai", Views: []View{view("ai", "n2", BaseDown)}, NoJobs: true})
		s.Update(Update{Source: "ai", Jobs: []Job{job("3", JobPending)}, NoViews: true})
		if snap := settle(s); len(snap.Nodes) != 2 || len(snap.Jobs) != 3 || snap.Node("n2").Views[0].Base != BaseDown {
			t.Errorf("a delta adds and changes: %d nodes, %d jobs", len(snap.Nodes), len(snap.Jobs))
		}
		s.Update(Update{Source: "ai", Full: true, NoViews: true, Jobs: []Job{job("3", JobPending)}})
		if snap := settle(s); len(snap.Nodes) != 2 || len(snap.Jobs) != 1 {
			t.Errorf("a full set without views leaves them: %d nodes, %d jobs", len(snap.Nodes), len(snap.Jobs))
		}
		s.Update(Update{Source: "ai", Full: true, NoJobs: true, Views: []View{view("ai", "n1", BaseIdle)}})
		if snap := settle(s); len(snap.Nodes) != 1 || len(snap.Jobs) != 1 {
			t.Errorf("a full set without jobs leaves them: %d nodes, %d jobs", len(snap.Nodes), len(snap.Jobs))
		}
		s.Update(Update{Source: "ai", NoJobs: true, NoViews: true, Cluster: &Cluster{Name: "ai", Version: "24.11.5"}})
		s.Update(full(nil))
		if snap := settle(s); snap.Cluster("ai") == nil || len(snap.Nodes)+len(snap.Jobs) != 0 {
			t.Errorf("a full set keeps what was told of the cluster: %+v", snap.Clusters)
		}
	})
}

// C111: a job keeps its identity while others come and go.
func TestC111_IdentityStays(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		s.Update(full(nil, job("1", JobRunning), job("2", JobRunning), job("5", JobRunning)))
		before := settle(s).Job(JobKey{Cluster: "ai", ID: "5"})
		s.Update(full(nil, job("5", JobRunning)))
		snap := settle(s)
		if snap.Job(JobKey{Cluster: "ai", ID: "5"}) != before || snap.Job(JobKey{Cluster: "ai", ID: "1"}) != nil {
			t.Error("job 5 is the same, job 1 is gone")
		}
	})
}

func TestStoreTimeline(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		held := job("4", JobPending)
		requeue := job("5", JobRunning, "n1")
		requeue.Key.Submit = 100
		s.Update(full([]View{view("ai", "n1", BaseIdle), view("ai", "n2", BaseIdle), view("ai", "n3", BaseIdle)},
			job("1", JobPending), job("2", JobRunning, "n1"), job("3", JobRunning, "n2"), held, requeue, job("6", JobCompleted)))
		if got := events(settle(s)); got != nil {
			t.Fatalf("the first full set is no news: %q", got)
		}
		drained := view("ai", "n1", BaseMixed, FlagDrain)
		drained.Reason = Reason{Text: "bad GPU", Author: "bob"}
		failed := job("3", JobFailed)
		failed.ExitCode = 9
		held.Reason.Code = "launch_failed_requeued_held"
		requeue.Key.Submit, requeue.Base, requeue.Restarts = 200, JobPending, 1
		preempting := job("2", JobRunning, "n1")
		preempting.Preempted = time.Now()
		s.Update(full([]View{drained, view("ai", "n2", BaseAllocated, FlagPlanned), view("ai", "n4", BaseIdle)},
			job("1", JobRunning, "n1", "n2"), preempting, failed, held, requeue))
		s.AddEvent(Event{Subject: Subject{Name: "n1"}, What: "action", After: "drain verified", Author: "gpuop"})
		want := []string{
			"n1 state: IDLE > MIXED+DRAIN bob", "n1 reason:  > bad GPU bob", "n4 state:  > IDLE", "n3 state: IDLE > gone",
			"1 started: PENDING > RUNNING on n[1-2]", "2 preempting: RUNNING > RUNNING", "3 ended: RUNNING > FAILED, exit 9",
			"4 held:  > launch_failed_requeued_held", "5 requeued: RUNNING > PENDING",
			"n1 action:  > drain verified gpuop",
		}
		if got := events(settle(s)); !slices.Equal(got, want) {
			t.Errorf("events\n%q, want\n%q", got, want)
		}
		held.Reason.Code = "Priority"
		s.Update(full([]View{view("ai", "n1", BaseMixed)}, held, job("9", JobRunning)))
		got := events(settle(s))[len(want):]
		for _, e := range []string{"4 released: launch_failed_requeued_held > Priority", "9 started:  > RUNNING", "2 ended: RUNNING > no longer listed", "n1 reason: bad GPU >"} {
			if !slices.Contains(got, e) {
				t.Errorf("%q is not in %q", e, got)
			}
		}
	})
}

func TestStoreSourceEvents(t *testing.T) {
	inStore(t, StoreOptions{Sources: []SourceState{{Name: "ai", Status: SourceConnecting}}}, func(t *testing.T, s *Store) {
		for _, st := range []SourceStatus{SourceLive, SourceStale, SourceDown, SourceLive} {
			state := SourceState{Name: "ai", Status: st}
			if st == SourceDown {
				state.LastError = "login1 does not answer"
			}
			s.Status(state)
		}
		snap := settle(s)
		want := []string{"ai source: live > stale", "ai source: stale > down: login1 does not answer", "ai source: down > live"}
		if got := events(snap); !slices.Equal(got, want) || snap.Sources[0].Status != SourceLive {
			t.Errorf("%q", got)
		}
		seq := snap.Seq
		s.Status(SourceState{Name: "ai", Status: SourceLive})
		if settle(s).Seq != seq {
			t.Error("the same status again is no new snapshot")
		}
	})
}

func TestStoreTimelineIsBounded(t *testing.T) {
	inStore(t, StoreOptions{MaxEvents: 10}, func(t *testing.T, s *Store) {
		for i := range 95 {
			s.AddEvent(Event{What: fmt.Sprint(i)})
		}
		old := settle(s)
		for i := range 50 {
			s.AddEvent(Event{What: fmt.Sprint(100 + i)})
		}
		now := settle(s)
		if len(old.Timeline) != 10 || old.Timeline[9].What != "94" || len(now.Timeline) != 10 || now.Timeline[9].What != "149" || now.Timeline[0].What != "140" {
			t.Errorf("%+v, then %+v", old.Timeline, now.Timeline)
		}
	})
}

func TestStorePublishesAtMostFiveTimesASecond(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		settle(s)
		start := s.Latest().Seq
		for i := range 1000 {
			s.Status(SourceState{Name: "ai", NotUnder: i + 1})
			time.Sleep(time.Millisecond)
		}
		if snap := settle(s); snap.Seq-start > 6 || snap.Sources[0].NotUnder != 1000 {
			t.Errorf("%d snapshots in a second, last %d", snap.Seq-start, snap.Sources[0].NotUnder)
		}
	})
}

func TestStoreSubscribers(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		slow, endSlow := s.Subscribe()
		gone, endGone := s.Subscribe()
		if (<-gone).Seq != 0 {
			t.Error("a subscriber starts with the newest snapshot")
		}
		endGone()
		endGone()
		if _, open := <-gone; open {
			t.Error("an ended subscription is closed")
		}
		for i := range 3 {
			s.Status(SourceState{Name: "ai", NotUnder: i + 1})
			settle(s)
		}
		if got := <-slow; got != s.Latest() || got.Sources[0].NotUnder != 3 {
			t.Errorf("the latest wins: %d", got.Sources[0].NotUnder)
		}
		endSlow()
	})
}

func TestStoreEvaluates(t *testing.T) {
	eval := func(s *Snapshot) []Finding { return []Finding{{ID: fmt.Sprint(len(s.Nodes))}} }
	inStore(t, StoreOptions{Evaluate: eval}, func(t *testing.T, s *Store) {
		s.Update(full([]View{view("ai", "n1", BaseIdle)}))
		if f := settle(s).Findings; len(f) != 1 || f[0].ID != "1" {
			t.Errorf("%+v", f)
		}
	})
}

func TestStoreJobOrder(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		var jobs []Job
		at := time.Now()
		for i, id := range []string{"7", "8_2", "8_10", "9", "5"} {
			j := job(id, JobPending)
			j.Submitted, j.RawID = at, int64(i)
			if strings.HasPrefix(id, "8_") {
				j.Array = &ArrayRef{JobID: 100}
			}
			jobs = append(jobs, j)
		}
		jobs[3].Submitted = at.Add(time.Hour)
		s.Update(full(nil, jobs...))
		var ids []string
		for _, j := range settle(s).Jobs {
			ids = append(ids, j.ID)
		}
		if want := []string{"9", "8_2", "8_10", "5", "7"}; !slices.Equal(ids, want) {
			t.Errorf("%q, want %q", ids, want)
		}
	})
}

// Disagreement and GPUs are made when views are joined.
func TestJoinedNode(t *testing.T) {
	inStore(t, StoreOptions{}, func(t *testing.T, s *Store) {
		v := view("ai", "n1", BaseIdle, FlagDrain)
		v.GPUs = GPUCount{Total: 4, Allocated: 2, Model: "h100"}
		v.GRES = []GRES{{Name: "gpu", Type: "h100", Count: 4}, {Name: "gpu", Type: "h100_1g.10gb", Count: 7}, {Name: "shard", Count: 9}}
		v.UsedGRES = []GRES{{Name: "gpu", Type: "h100", Count: 2, Indices: []int{1, 3, 99}}}
		one := job("7", JobRunning, "n1")
		one.GPUs.Held, one.Name = 2, "llama"
		s.Update(full([]View{v}, one, job("8", JobRunning, "n1")))
		s.Update(Update{Source: "k8s", Full: true, NoJobs: true, Views: []View{{Cluster: "k8s", Kind: Kubernetes, Node: "n1", Base: BaseIdle}}})
		n := settle(s).Node("n1")
		if n.Disagree != "draining in ai, open in k8s" {
			t.Errorf("disagree %q", n.Disagree)
		}
		want := Owner{Job: one.Key, Name: "llama", User: "alice", Source: "ai"}
		if len(n.GPUs) != 4 || n.GPUs[3].Model != "h100" || len(n.GPUs[0].Owners) != 0 || len(n.GPUs[1].Owners) != 1 || n.GPUs[1].Owners[0] != want {
			t.Errorf("GPUs %+v", n.GPUs)
		}
		two := job("8", JobRunning, "n1")
		two.GPUs.Held = 1
		s.Update(full([]View{v}, one, two))
		n = settle(s).Node("n1")
		if o := n.GPUs[1].Owners; len(o) != 1 || o[0].Job.ID != "" || o[0].User != "" {
			t.Errorf("two jobs: nobody knows whose, got %+v", o)
		}
	})
}

func TestSnapshotTellsWhoHoldsAQueue(t *testing.T) {
	n := &Node{Name: "n1", Views: []View{view("ai", "n1", BaseMixed)}}
	n.Views[0].Queues, n.Views[0].GPUs = []string{"gpu", "low"}, GPUCount{Total: 8, Allocated: 5}
	shut := &Node{Name: "n2", Views: []View{view("ai", "n2", BaseIdle, FlagDrain)}}
	shut.Views[0].Queues, shut.Views[0].GPUs = []string{"gpu"}, GPUCount{Total: 8}
	small, big, waits := job("1", JobRunning, "n1"), job("2", JobRunning, "n1"), job("3", JobPending)
	for _, j := range []*Job{&small, &big, &waits} {
		j.Queue, j.QOS = "gpu", "normal"
	}
	small.GPUs.Held, big.GPUs.Held, big.User = 1, 4, "bob"
	s := NewSnapshot(Snapshot{Nodes: []*Node{n, shut}, Jobs: []*Job{&small, &big, &waits}})
	free, out := s.RoomIn("ai", "gpu")
	if h := s.HoldersIn("ai", "gpu"); len(h) != 2 || h[0] != &big || free != 3 || out != 8 {
		t.Errorf("%v, %d free, %d out of service", h, free, out)
	}
	if free, out := s.RoomIn("ai", "none"); free != 0 || out != 0 {
		t.Errorf("an unknown queue has %d, %d", free, out)
	}
	if s.HeldBy("ai", "normal", "bob") != 4 || s.HeldBy("ai", "normal", "") != 5 || s.JobByID("ai", "3") != &waits || s.JobByID("b", "3") != nil {
		t.Error("counts by user, and jobs by id")
	}
}

// Every field of a row that changes makes it a changed row.
func TestSameMissesNoField(t *testing.T) {
	check := func(zero any, same func(a, b any) bool) {
		typ := reflect.TypeOf(zero)
		for i := range typ.NumField() {
			a, b := reflect.New(typ), reflect.New(typ)
			change(b.Elem().Field(i))
			if same(a.Interface(), b.Interface()) || !same(b.Interface(), b.Interface()) {
				t.Errorf("%s.%s is not compared", typ.Name(), typ.Field(i).Name)
			}
		}
	}
	check(View{}, func(a, b any) bool { return sameView(a.(*View), b.(*View)) })
	check(Job{}, func(a, b any) bool { return sameJob(a.(*Job), b.(*Job)) })
	check(HostReport{}, func(a, b any) bool { return sameReport(a.(*HostReport), b.(*HostReport)) })
	check(AgentInfo{}, func(a, b any) bool { return sameAgent(a.(*AgentInfo), b.(*AgentInfo)) })
	check(GPU{}, func(a, b any) bool { return sameGPU(a.(*GPU), b.(*GPU)) })
	check(MIGState{}, func(a, b any) bool { return sameMIG(a.(*MIGState), b.(*MIGState)) })
	check(MIGInstance{}, func(a, b any) bool { return sameInstance(*a.(*MIGInstance), *b.(*MIGInstance)) })
	check(GRES{}, func(a, b any) bool { return sameGRES([]GRES{*a.(*GRES)}, []GRES{*b.(*GRES)}) })
}

// change gives a field another value than zero.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		change(v.Field(0))
	}
}

func benchmarkFleet(round int) Update {
	u := Update{Source: "ai", Full: true}
	for i := range 7500 {
		v := view("ai", fmt.Sprintf("gpu%04d", i), BaseMixed)
		v.GPUs = GPUCount{Total: 8, Allocated: 8, Model: "h100"}
		v.GRES = []GRES{{Name: "gpu", Type: "h100", Count: 8}}
		v.Load = float64(i)
		if i%10 == 0 {
			v.Load += float64(round)
		}
		u.Views = append(u.Views, v)
	}
	for i, j := range benchmarkJobs(20_000) {
		j.Key.ID = fmt.Sprint(i)
		if i%100 == 0 {
			j.Priority = int64(round)
		}
		u.Jobs = append(u.Jobs, *j)
	}
	return u
}

// One poll of a large fleet, of which some rows changed, until it is published.
func BenchmarkStoreFullUpdate(b *testing.B) {
	rounds := []Update{benchmarkFleet(0), benchmarkFleet(1)}
	s := NewStore(StoreOptions{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Update(rounds[i%2])
		s.apply()
		s.publish()
	}
}
