package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// minInterval keeps polls from hurting a scheduler.
const minInterval = 2 * time.Second

// Validate lists everything that is wrong, one sentence each with the path of the
// field; nil when nothing is.
func (c *Config) Validate() error {
	var v problems
	names := map[string]bool{}
	for i := range c.Clusters {
		cl := &c.Clusters[i]
		at := fmt.Sprintf("clusters[%d]", i)
		v.name(at+".name", cl.Name, names)
		v.cluster(at, cl)
	}
	v.agents(&c.Agents)
	for i, cp := range c.Checkpoints {
		at := fmt.Sprintf("checkpoints[%d]", i)
		if _, err := fleet.ParseQuery(cp.Match); err != nil {
			v.add(at+".match", "%v", err)
		}
		if cp.Dir == "" {
			v.add(at+".dir", "is missing")
		}
	}
	if c.Limits.NodesPerWindow < 0 {
		v.add("limits.nodesPerWindow", "is negative; 0 means no cap")
	}
	if c.Limits.Window < 0 {
		v.add("limits.window", "is negative")
	}
	if c.Limits.Percent < 0 || c.Limits.Percent > 100 {
		v.add("limits.percent", "is %g; it must be from 0 to 100", c.Limits.Percent)
	}
	return errors.Join(v.errs...)
}

type problems struct{ errs []error }

func (v *problems) add(path, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s "+format, append([]any{path}, args...)...))
}

func (v *problems) oneOf(path, value string, words ...string) {
	if value != "" && !slices.Contains(words, value) {
		v.add(path, "is %q; it must be one of %s", value, strings.Join(words, ", "))
	}
}

// name checks a cluster's name: it is typed to confirm, and used in filters.
func (v *problems) name(path, name string, seen map[string]bool) {
	switch {
	case name == "":
		v.add(path, "is missing")
	case strings.ContainsAny(name, " \t\n/+"):
		v.add(path, "is %q; it must not have blanks, / or +", name)
	case seen[name]:
		v.add(path, "%q is used twice", name)
	}
	seen[name] = true
}

func (v *problems) cluster(at string, c *Cluster) {
	v.oneOf(at+".guard", c.Guard, "none", "confirm", "typed")
	if d := time.Duration(c.Interval); d != 0 && d < minInterval {
		v.add(at+".interval", "is %s; it must be at least %s", d, minInterval)
	}
	switch {
	case c.Slurm == nil && c.Kubernetes == nil:
		v.add(at, "has neither slurm nor kubernetes")
	case c.Slurm != nil && c.Kubernetes != nil:
		v.add(at, "has both slurm and kubernetes; make two clusters of it")
	case c.Slurm != nil:
		v.slurm(at+".slurm", c.Slurm)
	}
}

func (v *problems) slurm(at string, s *Slurm) {
	if s.Local == nil && s.SSH == nil && s.REST == nil {
		v.add(at, "says no way to the cluster: set local, ssh or rest")
	}
	v.ssh(at+".ssh", s.SSH)
	if s.REST != nil {
		v.rest(at+".rest", s.REST)
	}
}

func (v *problems) ssh(at string, s *SSH) {
	if s == nil {
		return
	}
	if s.Host == "" {
		v.add(at+".host", "is missing")
	}
	if s.Port < 0 || s.Port > 65535 {
		v.add(at+".port", "is %d; it must be from 1 to 65535", s.Port)
	}
}

func (v *problems) rest(at string, r *REST) {
	v.ssh(at+".ssh", r.SSH)
	switch {
	case r.URL == "" && r.Socket == "":
		v.add(at, "has neither url nor socket")
	case r.URL != "" && r.Socket != "":
		v.add(at, "has both url and socket; set one")
	case r.URL != "":
		v.url(at+".url", r.URL)
	}
	tokens := 0
	for _, set := range []bool{r.TokenFile != "", r.TokenEnv != "", len(r.TokenCommand) > 0} {
		if set {
			tokens++
		}
	}
	if tokens > 1 {
		v.add(at, "has several of tokenFile, tokenEnv and tokenCommand; set one")
	}
	if r.URL != "" && tokens == 0 {
		v.add(at, "has a url and no token: set tokenFile, tokenEnv or tokenCommand")
	}
	if r.APIVersion != "" && !strings.HasPrefix(r.APIVersion, "v0.0.") {
		v.add(at+".apiVersion", "is %q; it must look like v0.0.42", r.APIVersion)
	}
	if r.Timeout < 0 {
		v.add(at+".timeout", "is negative")
	}
}

// url checks an address. It does not repeat one that may hold a secret, and lets
// none in: the config is printed as it holds.
func (v *problems) url(path, address string) {
	u, err := url.Parse(address)
	switch {
	case strings.Contains(address, "@"):
		v.add(path, "has a user name in it; set user, and tokenFile, tokenEnv or tokenCommand")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.add(path, "is %q; it must look like https://host:6820", address)
	}
}
