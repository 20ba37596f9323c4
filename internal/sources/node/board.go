package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// grace is how long a lost agent is stale before it is down.
const grace = 20 * time.Second

// board holds the latest word on every node, until it is sent. It is safe for
// concurrent use.
type board struct {
	mu       sync.Mutex
	entries  map[string]*entry
	started  time.Time
	since    time.Time // since when there is a node
	sent     time.Time // zero: never
	reshaped bool      // a node is gone, so a full set is due
}

// entry is one node.
type entry struct {
	report  fleet.HostReport
	tried   bool      // it has answered, or failed to
	reached bool      // it has answered at some time
	lost    time.Time // since when it does not answer; zero: it does
	dirty   bool      // not sent yet
}

func newBoard() *board { return &board{entries: map[string]*entry{}, started: time.Now()} }

// add puts a node on the board of which nothing is known.
func (b *board) add(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) == 0 {
		b.since = time.Now()
	}
	b.entries[host] = &entry{}
}

func (b *board) drop(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, host)
	b.reshaped = true
}

// answered takes what a node says.
func (b *board) answered(r fleet.HostReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[r.Host]; e != nil {
		*e = entry{report: r, tried: true, reached: true, dirty: true}
	}
}

// failed notes that a node does not answer, and why. What it said before stays in the
// store, which keeps it for a report that has nothing but the reason.
func (b *board) failed(host, via string, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[host]
	if e == nil {
		return
	}
	if e.lost.IsZero() {
		e.lost = time.Now()
	}
	status := e.report.Agent.Status
	if !e.tried || status == fleet.SourceLive {
		status = fleet.SourceStale
		if !e.reached {
			status = fleet.SourceDown
		}
	}
	next := fleet.HostReport{Host: host, Gone: strings.TrimPrefix(why.Error(), host+": "), Agent: fleet.AgentInfo{Status: status, Via: via}}
	if !e.tried || e.report.Gone != next.Gone || e.report.Agent.Status != status {
		e.report, e.dirty = next, true
	}
	e.tried = true
}

// take returns what is to be sent now, if anything is.
func (b *board) take(now time.Time) (fleet.Update, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := fleet.Update{At: now, NoJobs: true, NoViews: true, Interval: interval, Wanted: len(b.entries)}
	first, untried := b.sent.IsZero(), 0
	u.Full = first || b.reshaped
	reasons := map[string]int{}
	dirty := false
	for _, e := range b.entries {
		e.age(now)
		switch {
		case !e.tried:
			untried++
			continue
		case e.lost.IsZero():
			u.Reached++
		default:
			reasons[e.report.Gone]++
		}
		dirty = dirty || e.dirty
		if e.dirty || u.Full {
			u.Hosts = append(u.Hosts, e.report)
		}
	}
	if first && !b.settled(now, untried) || !first && !dirty && !b.reshaped && now.Sub(b.sent) < beat {
		return fleet.Update{}, false
	}
	for _, e := range b.entries {
		e.dirty = false
	}
	u.Problem = problem(reasons, untried)
	b.sent, b.reshaped = now, false
	return u, true
}

// age makes a node that is lost for long a node that is down.
func (e *entry) age(now time.Time) {
	if !e.lost.IsZero() && e.report.Agent.Status == fleet.SourceStale && now.Sub(e.lost) >= grace {
		e.report.Agent.Status, e.dirty = fleet.SourceDown, true
	}
}

// settled reports whether the first update may be sent.
func (b *board) settled(now time.Time, untried int) bool {
	if len(b.entries) == 0 {
		return now.Sub(b.started) >= loneliness
	}
	return untried == 0 || now.Sub(b.since) >= settling && untried < len(b.entries)
}

// problem says in plain words why nodes do not answer.
func problem(reasons map[string]int, untried int) string {
	if len(reasons) == 0 {
		if untried > 0 {
			return fmt.Sprintf("still connecting to %d nodes", untried)
		}
		return ""
	}
	var words []string
	total := 0
	for why, n := range reasons {
		words = append(words, why)
		total += n
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(reasons[b]-reasons[a], cmp.Compare(a, b)) })
	s := fmt.Sprintf("no node agent answers; of %d nodes %d: %s", total, reasons[words[0]], words[0])
	if len(words) > 1 {
		s += fmt.Sprintf(" (and %d other reasons; see the nodes)", len(words)-1)
	}
	return s
}
