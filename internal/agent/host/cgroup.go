package host

import (
	"regexp"
	"strings"
)

// Claim is whom a control group belongs to. The zero Claim is nobody that we know.
type Claim struct {
	Job       string // Slurm's job number
	Pod       string // the pod's uid
	Container string // its id
}

const hex64 = `[0-9a-f]{64}`

var (
	// Slurm's own daemon makes these groups: below a scope of its own with cgroup v2,
	// below /slurm (/slurm_HOST with several daemons on a host) with v1.
	slurmV2 = regexp.MustCompile(`(?:^|/)(?:[^/]+_)?slurmstepd\.scope/job_([0-9]{1,18})(?:/|$)`)
	slurmV1 = regexp.MustCompile(`(?:^|/)slurm(?:_[^/]+)?/uid_[0-9]+/job_([0-9]{1,18})(?:/|$)`)
	// kubelet writes a pod's uid with dashes, or with underscores where systemd makes
	// the groups; a static pod has a hash instead.
	podGroup = regexp.MustCompile(`kubepods.*[/-]pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(.*)$`)
	idAtEnd  = regexp.MustCompile(`(?:^|[/:-])(` + hex64 + `)(?:\.scope)?(?:/|$)`)
)

// ParseCgroup reads /proc/PID/cgroup. With cgroup v1 there are many lines, and the
// controllers that Slurm does not use say "/": any line that names an owner counts.
func ParseCgroup(text string) Claim {
	var c Claim
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 {
			c.add(parts[2])
		}
	}
	return c
}

func (c *Claim) add(path string) {
	// Users may make groups of their own here, with any name.
	if strings.HasPrefix(path, "/user.slice/") {
		return
	}
	for _, pattern := range []*regexp.Regexp{slurmV2, slurmV1} {
		if m := pattern.FindStringSubmatch(path); m != nil && c.Job == "" {
			c.Job = m[1]
		}
	}
	below := path
	if m := podGroup.FindStringSubmatch(path); m != nil && c.Pod == "" {
		c.Pod, below = strings.ReplaceAll(m[1], "_", "-"), m[2]
	}
	if m := idAtEnd.FindStringSubmatch(below); m != nil && c.Container == "" {
		c.Container = m[1]
	}
}
