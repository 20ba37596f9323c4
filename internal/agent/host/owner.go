package host

import (
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Where an owner is known from, in Owner.Source.
const (
	SourceCgroup      = "agent"
	SourceEnvironment = "agent (environment)" // the process itself says so: weaker
)

// Owner finds out whose a process is. The job of a Slurm owner has the job's number
// only, for the agent does not know which cluster the host belongs to. What it cannot
// find out stays empty: an unknown owner is an owner.
//
// With asRoot the environment of the process is looked at too: others may not read it.
func (h Host) Owner(pid int, asRoot bool) fleet.Owner {
	o := fleet.Owner{User: h.user(pid), Source: SourceCgroup, Proven: true}
	text, err := h.readProcess(pid, "cgroup")
	if err != nil {
		return o
	}
	claim := ParseCgroup(text)
	o.Job.ID, o.Pod, o.Container = claim.Job, claim.Pod, claim.Container
	if claim.Job != "" || claim.Pod != "" || !asRoot {
		return o
	}
	if env, err := h.readProcess(pid, "environ"); err == nil {
		if job := jobOfEnviron(env); job != "" {
			o.Job.ID, o.Source, o.Proven = job, SourceEnvironment, false
		}
	}
	return o
}

func jobOfEnviron(environ string) string {
	for kv := range strings.SplitSeq(environ, "\x00") {
		if job, ok := strings.CutPrefix(kv, "SLURM_JOB_ID="); ok && isNumber(job) {
			return job
		}
	}
	return ""
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}
