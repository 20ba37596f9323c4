package slurm

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// acctColumns are asked of sacct(1). What people write comes last.
var acctColumns = []column{
	{"JobID", func(t *jobText) *string { return &t.idText }},
	{"JobIDRaw", func(t *jobText) *string { return &t.rawID }},
	{"User", func(t *jobText) *string { return &t.user }},
	{"Account", func(t *jobText) *string { return &t.account }},
	{"Partition", func(t *jobText) *string { return &t.queue }},
	{"QOS", func(t *jobText) *string { return &t.qos }},
	{"State", func(t *jobText) *string { return &t.state }},
	{"Reason", func(t *jobText) *string { return &t.reason }},
	{"AllocTRES", func(t *jobText) *string { return &t.alloc }},
	{"ReqTRES", func(t *jobText) *string { return &t.req }},
	{"NNodes", func(t *jobText) *string { return &t.numNodes }},
	{"NCPUS", func(t *jobText) *string { return &t.cpus }},
	{"NodeList", func(t *jobText) *string { return &t.nodes }},
	{"Submit", func(t *jobText) *string { return &t.submit }},
	{"Eligible", func(t *jobText) *string { return &t.eligible }},
	{"Start", func(t *jobText) *string { return &t.start }},
	{"End", func(t *jobText) *string { return &t.end }},
	{"Timelimit", func(t *jobText) *string { return &t.limit }},
	{"Priority", func(t *jobText) *string { return &t.priority }},
	{"ExitCode", func(t *jobText) *string { return &t.exit }},
	{"JobName", func(t *jobText) *string { return &t.name }},
	{"Comment", func(t *jobText) *string { return &t.comment }},
	{"WorkDir", func(t *jobText) *string { return &t.workDir }},
}

// acctFormat is the -o argument for sacct(1).
func acctFormat() string {
	names := make([]string, len(acctColumns))
	for i, c := range acctColumns {
		names[i] = c.name
	}
	return strings.Join(names, ",")
}

// textAccounting reads sacct's rows. sacct ends a row with a newline and a name
// may hold one, so lines are joined until a row has all its fields.
func textAccounting(text string) []fleet.Job {
	var jobs []fleet.Job
	row := ""
	for line := range strings.SplitSeq(text, "\n") {
		if row != "" {
			line = row + "\n" + line
		}
		row = ""
		switch seps := strings.Count(line, fieldSep); {
		case line == "":
		case seps < len(acctColumns)-1:
			row = line
		default:
			jobs = append(jobs, rowJob(line, acctColumns))
		}
	}
	if row = strings.TrimSpace(row); strings.Contains(row, fieldSep) {
		jobs = append(jobs, rowJob(row, acctColumns))
	}
	return jobs
}
