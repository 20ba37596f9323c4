package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// state is what the Store's goroutine knows: the last word of every source, and the
// snapshot made of it.
type state struct {
	opts     StoreOptions
	feeds    map[string]*feed // by source
	sources  []SourceState
	timeline timeline
	join     join
	prev     *Snapshot
	// What the next snapshot must make anew: everything, or some hosts' rows only.
	rowsChanged bool
	hosts       []reportKey
}

// feed is the last word of one source.
type feed struct {
	source  string
	cluster *Cluster
	views   map[viewKey]*View
	jobs    map[JobKey]*Job
	sorted  []*Job // jobs, newest first
	hosts   map[string]*HostReport
	// hadViews and hadJobs are set from the first full set on: what is in that is no news.
	hadViews, hadJobs, hadHosts bool
}

// viewKey names a node as its scheduler does.
type viewKey struct{ cluster, node string }

func keyOf(v *View) viewKey { return viewKey{v.Cluster, v.Node} }

func newState(opts StoreOptions) *state {
	return &state{
		opts: opts, feeds: map[string]*feed{}, sources: slices.Clone(opts.Sources),
		timeline: timeline{max: opts.MaxEvents}, join: join{hosts: opts.Hosts}, rowsChanged: true,
	}
}

// status takes how a source stands and reports whether that is anything new.
func (s *state) status(st SourceState) bool {
	i := slices.IndexFunc(s.sources, func(o SourceState) bool { return o.Name == st.Name })
	if i < 0 {
		s.sources = append(s.sources, SourceState{Name: st.Name})
		i = len(s.sources) - 1
	}
	if s.sources[i] == st {
		return false
	}
	if e, ok := statusEvent(s.sources[i], st, time.Now()); ok {
		s.timeline.add(e)
	}
	s.sources = slices.Clone(s.sources) // the old slice is in a snapshot
	s.sources[i] = st
	return true
}

// update takes what a source says and reports whether that is anything new.
func (s *state) update(u *Update) bool {
	f := s.feeds[u.Source]
	if f == nil {
		f = &feed{source: u.Source, views: map[viewKey]*View{}, jobs: map[JobKey]*Job{}}
		s.feeds[u.Source] = f
	}
	d := &differ{source: u.Source, at: u.At, add: s.timeline.add}
	views := f.updateViews(u, d)
	jobs := f.updateJobs(u, d)
	hosts, reshaped := f.updateHosts(u, d)
	s.hosts = append(s.hosts, hosts...)
	s.rowsChanged = s.rowsChanged || views || jobs || reshaped
	if u.Cluster != nil {
		c := *u.Cluster
		f.cluster = &c
	}
	return views || jobs || reshaped || len(hosts) > 0 || u.Cluster != nil
}

// updateViews applies the views and reports whether any changed. An unchanged view
// keeps its pointer.
func (f *feed) updateViews(u *Update, d *differ) bool {
	if u.NoViews {
		return false
	}
	news, changed := f.hadViews, false
	f.hadViews = f.hadViews || u.Full
	var seen map[viewKey]*View
	if u.Full {
		seen = make(map[viewKey]*View, len(u.Views))
	}
	for i := range u.Views {
		next := &u.Views[i]
		key := keyOf(next)
		old := f.views[key]
		if old == nil || !sameView(old, next) {
			v := *next // not &u.Views[i]: one kept row would keep all of them
			if news {
				d.view(old, &v)
			}
			f.views[key], changed = &v, true
		}
		if u.Full {
			seen[key] = f.views[key]
		}
	}
	if u.Full {
		gone := f.keep(seen)
		changed = changed || len(gone) > 0
		for _, v := range gone {
			if news {
				d.view(v, nil)
			}
		}
	}
	return changed
}

// keep makes seen the views of the feed and returns the ones that are gone, in
// natural order.
func (f *feed) keep(seen map[viewKey]*View) []*View {
	var gone []*View
	for key, v := range f.views {
		if seen[key] == nil {
			gone = append(gone, v)
		}
	}
	f.views = seen
	slices.SortFunc(gone, func(a, b *View) int { return CompareNatural(a.Node, b.Node) })
	return gone
}

// idKey names a job whatever its submit time.
type idKey struct{ cluster, id string }

// updateJobs applies the jobs and reports whether any changed. An unchanged job
// keeps its pointer.
func (f *feed) updateJobs(u *Update, d *differ) bool {
	if u.NoJobs {
		return false
	}
	before := f.jobs
	after := make(map[JobKey]*Job, max(len(u.Jobs), len(before)))
	if !u.Full {
		maps.Copy(after, before)
	}
	changed := false
	for i := range u.Jobs {
		next := &u.Jobs[i]
		if old := before[next.Key]; old != nil && sameJob(old, next) {
			after[next.Key] = old
			continue
		}
		j := *next // not &u.Jobs[i]: one kept row would keep all of them
		after[j.Key], changed = &j, true
	}
	changed = changed || len(after) != len(before)
	news := f.hadJobs
	f.hadJobs = f.hadJobs || u.Full
	if !changed {
		return false
	}
	f.jobs, f.sorted = after, sortJobs(after)
	if news {
		tellJobs(before, f.jobs, f.sorted, d)
	}
	return true
}

// tellJobs makes the events between two sets of jobs, pairing a requeued job with
// its former record.
func tellJobs(before, after map[JobKey]*Job, sorted []*Job, d *differ) {
	former := map[idKey]*Job{} // records that are gone
	for k, j := range before {
		if after[k] == nil {
			former[idKey{k.Cluster, k.ID}] = j
		}
	}
	for _, j := range sorted {
		old, id := before[j.Key], idKey{j.Key.Cluster, j.Key.ID}
		if was := former[id]; old == nil && was != nil && was.User == j.User && was.Name == j.Name {
			old = was
			delete(former, id)
		}
		if old != j {
			d.job(old, j)
		}
	}
	for _, k := range sortedIDs(former) {
		d.job(former[k], nil)
	}
}

func sortedIDs(m map[idKey]*Job) []idKey {
	keys := make([]idKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b idKey) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), CompareNatural(a.id, b.id))
	})
	return keys
}

// sortJobs orders jobs newest first within a cluster; tasks of an array and
// components of a het job stay in their order.
func sortJobs(jobs map[JobKey]*Job) []*Job {
	out := make([]*Job, 0, len(jobs))
	for _, j := range jobs {
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b *Job) int {
		if c := cmp.Or(cmp.Compare(a.Key.Cluster, b.Key.Cluster), b.Submitted.Compare(a.Submitted), cmp.Compare(b.family(), a.family())); c != 0 {
			return c
		}
		return cmp.Or(CompareNatural(a.Key.ID, b.Key.ID), cmp.Compare(a.Key.Submit, b.Key.Submit))
	})
	return out
}

// family is the number that a job shares with the other parts of its array or het
// job.
func (j *Job) family() int64 {
	switch {
	case j.Array != nil:
		return j.Array.JobID
	case j.Het != nil:
		return j.Het.JobID
	}
	return j.RawID
}

// snapshot makes the next snapshot. What did not change is shared with the one
// before.
func (s *state) snapshot(now time.Time) *Snapshot {
	next := Snapshot{At: now, Clusters: s.clusters(), Sources: s.sources, Timeline: s.timeline.view()}
	if s.prev != nil {
		next.Seq = s.prev.Seq + 1
	}
	var snap *Snapshot
	switch {
	case s.rowsChanged:
		feeds := s.sortedFeeds()
		for _, f := range feeds {
			next.Jobs = append(next.Jobs, f.sorted...)
		}
		next.Nodes = s.join.nodes(feeds)
		snap = NewSnapshot(next)
	case len(s.hosts) > 0:
		next.Jobs = s.prev.Jobs
		next.Nodes, next.lookups = s.join.refresh(s.prev, s.feeds, s.hosts)
		snap = &next
	default:
		next.Nodes, next.Jobs, next.lookups = s.prev.Nodes, s.prev.Jobs, s.prev.lookups
		snap = &next
	}
	s.rowsChanged, s.hosts = false, nil
	s.prev = snap
	return snap
}

func (s *state) sortedFeeds() []*feed {
	out := make([]*feed, 0, len(s.feeds))
	for _, f := range s.feeds {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *feed) int { return cmp.Compare(a.source, b.source) })
	return out
}

func (s *state) clusters() []Cluster {
	var out []Cluster
	for _, f := range s.sortedFeeds() {
		if f.cluster != nil {
			out = append(out, *f.cluster)
		}
	}
	slices.SortStableFunc(out, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
