package slurm

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// The separators asked of squeue and sacct: people cannot type them into a name.
const (
	fieldSep  = "\x1f"
	recordSep = "\x1e"
)

// column is one column asked for, and where it goes.
type column struct {
	name string
	at   func(*jobText) *string
}

// queueColumns are asked of squeue(1). Every name is known from 22.05 to 26.05. What
// people write comes last (writtenColumns): a separator in it shifts nothing else.
var queueColumns = []column{
	{"jobarrayid", func(t *jobText) *string { return &t.idText }},
	{"jobid", func(t *jobText) *string { return &t.rawID }},
	{"username", func(t *jobText) *string { return &t.user }},
	{"account", func(t *jobText) *string { return &t.account }},
	{"partition", func(t *jobText) *string { return &t.queue }},
	{"qos", func(t *jobText) *string { return &t.qos }},
	{"state", func(t *jobText) *string { return &t.state }},
	{"reason", func(t *jobText) *string { return &t.reason }},
	{"tres-alloc", func(t *jobText) *string { return &t.alloc }},
	{"tres-per-job", func(t *jobText) *string { return &t.perJob }},
	{"tres-per-node", func(t *jobText) *string { return &t.perNode }},
	{"tres-per-socket", func(t *jobText) *string { return &t.perSocket }},
	{"tres-per-task", func(t *jobText) *string { return &t.perTask }},
	{"numnodes", func(t *jobText) *string { return &t.numNodes }},
	{"numcpus", func(t *jobText) *string { return &t.cpus }},
	{"numtasks", func(t *jobText) *string { return &t.tasks }},
	{"nodelist", func(t *jobText) *string { return &t.nodes }},
	{"batchhost", func(t *jobText) *string { return &t.batchHost }},
	{"reqnodes", func(t *jobText) *string { return &t.reqNodes }},
	{"schednodes", func(t *jobText) *string { return &t.sched }},
	{"submittime", func(t *jobText) *string { return &t.submit }},
	{"eligibletime", func(t *jobText) *string { return &t.eligible }},
	{"starttime", func(t *jobText) *string { return &t.start }},
	{"endtime", func(t *jobText) *string { return &t.end }},
	{"preempttime", func(t *jobText) *string { return &t.preempt }},
	{"timelimit", func(t *jobText) *string { return &t.limit }},
	{"restartcnt", func(t *jobText) *string { return &t.restarts }},
	{"requeue", func(t *jobText) *string { return &t.requeue }},
	{"prioritylong", func(t *jobText) *string { return &t.priority }},
	{"dependency", func(t *jobText) *string { return &t.dependency }},
	{"exit_code", func(t *jobText) *string { return &t.exit }},
	{"feature", func(t *jobText) *string { return &t.features }},
	{"name", func(t *jobText) *string { return &t.name }},
	{"comment", func(t *jobText) *string { return &t.comment }},
	{"workdir", func(t *jobText) *string { return &t.workDir }},
}

// queueFormat is the -O argument for squeue(1): each column with its separator
// behind it, which also lifts the limit of 20 characters.
func queueFormat() string {
	parts := make([]string, len(queueColumns))
	for i, c := range queueColumns {
		parts[i] = c.name + ":" + fieldSep
	}
	return strings.TrimSuffix(strings.Join(parts, ","), fieldSep) + recordSep
}

// writtenColumns is how many columns at the end of a row people write: the name, the
// comment and the work folder.
const writtenColumns = 3

// textQueue reads what squeue printed: a header, which is there however few jobs there
// are, and the rows. A login shell may have written before it. A row that cannot be
// read is kept with its raw text; an answer without a header, or whose last row is cut
// short, is an error.
func textQueue(text string) ([]fleet.Job, error) {
	const end = recordSep + "\n"
	header, rest, ok := strings.Cut(text, end)
	if !ok || strings.Count(header, fieldSep) != len(queueColumns)-1 {
		return nil, fmt.Errorf("squeue: %w: its header has not the columns asked for: %.100q", ErrDecode, header)
	}
	jobs := make([]fleet.Job, 0, strings.Count(rest, end))
	for strings.TrimSpace(rest) != "" {
		var row string
		if row, rest, ok = strings.Cut(rest, end); !ok {
			return nil, fmt.Errorf("squeue: %w: it is cut short after %d jobs: %.100q", ErrDecode, len(jobs), row)
		}
		// A copy, or one unchanged row would keep the whole answer in memory.
		jobs = append(jobs, rowJob(strings.Clone(row), queueColumns))
	}
	return jobs, nil
}

// rowJob makes a job of one row. What people write may hold separators: then which
// of the last fields is which is not known, and they are all the name.
func rowJob(row string, columns []column) fleet.Job {
	fields := strings.Split(row, fieldSep)
	var t jobText
	if len(fields) > len(columns) {
		name := len(columns) - writtenColumns
		t.odd.add("a name, comment or folder holds separators")
		fields = append(fields[:name:name], strings.Join(fields[name:], " "))
	} else if len(fields) < len(columns) {
		return oddJob(row, fields[0], fmt.Sprintf("row has %d fields instead of %d", len(fields), len(columns)))
	}
	for i := range fields {
		*columns[i].at(&t) = fields[i]
	}
	t.idText = t.idText[strings.LastIndexByte(t.idText, '\n')+1:] // a login shell may write before the first
	id, err := parseJobID(t.idText)
	if err != nil {
		return oddJob(row, t.idText, err.Error())
	}
	t.id = id
	return t.job()
}

// oddJob keeps a row that could not be read: it is shown, and nothing is guessed.
func oddJob(row, idText, why string) fleet.Job {
	j := fleet.Job{
		Key:      fleet.JobKey{ID: idText},
		Kind:     fleet.Slurm,
		ID:       idText,
		Base:     fleet.BaseUnknown,
		ExitCode: -1,
		Oddities: []string{why},
		Raw:      strings.ReplaceAll(row, fieldSep, " | "),
	}
	if id, err := parseJobID(idText); err == nil {
		j.ID, j.Key.ID = id.String(), id.Key()
		j.Array, j.Het = id.Array(), id.HetRef()
	}
	return j
}
