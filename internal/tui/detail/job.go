package detail

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/page"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Job describes a job: where it stands and why, its times, and its own records.
func Job(s *fleet.Snapshot, j *fleet.Job, m words.Moment) Doc {
	var d Doc
	for _, f := range findingsOf(s, fleet.KindJob, j.ID) {
		d.finding(f, m)
	}
	d.head("job " + j.ID + " on " + j.Key.Cluster)
	d.tone("state", words.JobState(j), tone.Job(j))
	d.source(s.SourceOf(j.Key.Cluster), m)
	d.say("name", j.Name)
	d.say("user", strings.Join([]string{words.Or(j.User), words.Or(j.Account)}, ", account "))
	d.say("queue", words.Or(j.Queue)+", QOS "+words.Or(j.QOS)+fmt.Sprintf(", priority %d", j.Priority))
	d.say("GPUs", demand(j))
	d.say("CPUs", words.Count(j.CPUs))
	d.wishes(j)
	d.array(j)
	d.waiting(s, j, m)
	d.nodes(s, j)
	d.times(j, m)
	d.ending(j)
	d.records(j)
	d.events(s, fleet.KindJob, j.ID, m)
	d.Block(j.Key.Cluster+" says", j.Raw)
	return d
}

func demand(j *fleet.Job) string {
	text := fmt.Sprintf("%s wanted, %s held", words.Count(j.GPUs.Wanted), words.Count(j.GPUs.Held))
	if j.GPUs.Model != "" {
		text += ", " + j.GPUs.Model
	}
	return text
}

// wishes are what a job without nodes asked of them.
func (d *Doc) wishes(j *fleet.Job) {
	if len(j.Nodes) > 0 {
		return
	}
	d.say("nodes", words.Plural(j.NodeCount, "node")+" wanted")
	d.say("asked for", j.ReqNodes)
	d.say("excluded", j.ExcNodes)
}

func (d *Doc) array(j *fleet.Job) {
	if a := j.Array; a != nil {
		text := fmt.Sprintf("array %d, task %d", a.JobID, a.Task)
		if a.Task < 0 {
			text = fmt.Sprintf("array %d, waiting tasks %s: %s", a.JobID, a.Tasks, words.Plural(a.Count, "task"))
		}
		if a.Limit > 0 {
			text += fmt.Sprintf(", at most %d at once", a.Limit)
		}
		d.say("array", text)
	}
	if j.Het != nil {
		d.say("het job", fmt.Sprintf("component %d of job %d", j.Het.Offset, j.Het.JobID))
	}
	d.say("depends on", j.Dependency)
}

// waiting says why a job does not run, what helps, and who holds the room.
func (d *Doc) waiting(s *fleet.Snapshot, j *fleet.Job, m words.Moment) {
	if !j.Waiting() {
		return
	}
	w := page.Explain(s, j)
	d.head("why it waits")
	d.tone("reason", words.Reason(j.Reason), theme.Warn)
	d.say("means", w.Why)
	d.once("next", w.Next, theme.Accent)
	if w.Position > 0 {
		d.say("position", fmt.Sprintf("%d of %d waiting in %s", w.Position, w.Of, words.Or(j.Queue)))
	}
	d.say("est. start", page.StartIn(j, m.Now))
	d.say("planned on", j.SchedNodes)
	d.say("failed on", failedOn(j))
	d.holders(s, j, m.Now)
}

func failedOn(j *fleet.Job) string {
	if j.Restarts == 0 && j.BatchHost == "" {
		return ""
	}
	return j.BatchHost
}

// mostHolders keeps the list of who holds the room short.
const mostHolders = 8

func (d *Doc) holders(s *fleet.Snapshot, j *fleet.Job, now time.Time) {
	holders := page.Holders(s, j)
	if len(holders) == 0 {
		return
	}
	d.head("who holds the room, first to end first")
	for _, h := range holders[:min(mostHolders, len(holders))] {
		ends := "no end known"
		if !h.Ends.IsZero() {
			ends = "ends in at most " + words.Span(max(0, h.Ends.Sub(now)))
		}
		d.say(h.Job.ID, fmt.Sprintf("%s %s, %s, %s", h.Job.Name, h.Job.User, words.Plural(h.Job.GPUs.Held, "GPU"), ends))
	}
	if rest := len(holders) - mostHolders; rest > 0 {
		d.say("", fmt.Sprintf("and %s more", words.Plural(rest, "job")))
	}
}

// nodes folds the job's hosts, and lists those that are not well one by one.
func (d *Doc) nodes(s *fleet.Snapshot, j *fleet.Job) {
	if len(j.Nodes) == 0 {
		return
	}
	d.head(words.Plural(len(j.Nodes), "node"))
	d.say("", fleet.FoldHosts(j.Nodes))
	d.say("batch host", j.BatchHost)
	d.say("excluded", j.ExcNodes)
	for _, name := range j.Nodes {
		if n := s.Node(name); n != nil && n.Condition() < fleet.CondBusy {
			d.tone(name, words.NodeState(n)+" "+page.Reason(n).Text, tone.Condition(n.Condition()))
		}
	}
}

func (d *Doc) times(j *fleet.Job, m words.Moment) {
	d.head("times")
	d.say("submitted", m.Since(j.Submitted))
	d.say("eligible", m.Since(j.Eligible))
	if !j.Waiting() {
		d.say("started", m.Since(j.Started))
	}
	d.say("ended", m.Since(j.Ended))
	if j.Active() && !j.Started.IsZero() {
		d.say("runs for", words.Coarse(m.Now, j.Started)+" of "+words.Limit(j.Limit))
	} else {
		d.say("time limit", words.Limit(j.Limit))
	}
	if !j.Preempted.IsZero() {
		d.tone("preempted", m.Since(j.Preempted)+"; it is being taken off its nodes", theme.Warn)
	}
	d.say("restarts", fmt.Sprint(j.Restarts))
	if !j.Requeue {
		d.say("requeue", "not allowed: submitted with --no-requeue")
	}
}

func (d *Doc) ending(j *fleet.Job) {
	if j.ExitCode >= 0 && j.Done() {
		d.say("exit code", fmt.Sprint(j.ExitCode))
	}
	if j.Signal > 0 {
		d.say("signal", fmt.Sprint(j.Signal))
	}
}

func (d *Doc) records(j *fleet.Job) {
	d.head("records")
	d.say("directory", j.WorkDir)
	d.say("output", j.StdOut)
	if j.StdErr != j.StdOut {
		d.say("errors", j.StdErr)
	}
	d.say("features", j.Features)
	d.say("comment", j.Comment)
	for _, o := range j.Oddities {
		d.tone("not clear", o, theme.Warn)
	}
}
