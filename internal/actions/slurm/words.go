package slurm

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// nodeState says in words how a node stands: "MIXED+DRAIN, 8 of 8 GPUs allocated".
func nodeState(v *fleet.View) string {
	s := strings.Join(append([]string{v.Base}, v.Flags...), "+")
	if v.GPUs.Total > 0 {
		s += fmt.Sprintf(", %d of %d GPUs allocated", v.GPUs.Allocated, v.GPUs.Total)
	}
	if v.Reason.Text != "" {
		s += fmt.Sprintf(", reason %q", v.Reason.Text)
	}
	return s
}

// jobState says in words how a job stands: "PENDING+COMPLETING (BeginTime), restart 1".
func jobState(j *fleet.Job) string {
	s := strings.Join(append([]string{j.Base}, j.Flags...), "+")
	if j.Reason.Code != "" && j.Reason.Code != "None" {
		s += " (" + j.Reason.Code + ")"
	}
	if j.Restarts > 0 {
		s += fmt.Sprintf(", restart %d", j.Restarts)
	}
	if j.Active() && len(j.Nodes) > 0 {
		s += " on " + fleet.FoldHosts(j.Nodes)
	}
	return s
}

// describe names a job for a sentence: "4711 llama-70b of alice, 512 GPUs".
func describe(j *fleet.Job) string {
	s := j.ID
	if j.Name != "" {
		s += " " + j.Name
	}
	s += " of " + j.User
	if j.GPUs.Held > 0 {
		s += fmt.Sprintf(", %d GPUs", j.GPUs.Held)
	}
	return s
}

// plural is "1 job" or "3 jobs".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// quote puts a value into the plain form of a command as a person would type it.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
