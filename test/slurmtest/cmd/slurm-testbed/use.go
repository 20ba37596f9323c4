package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/test/slurmtest"
)

// configPath is the gpuctl config file of a cluster.
func configPath(c *slurmtest.Cluster) string { return filepath.Join(c.Dir(), "gpuctl.yaml") }

// writeConfig writes a gpuctl config file that reaches the same cluster in three
// ways: as root by local commands, as gpuadm over SSH, as gpuadm over slurmrestd.
func writeConfig(c *slurmtest.Cluster) error {
	type object = map[string]any
	a := c.SSH(slurmtest.GPUAdm)
	cluster := func(name string, how object) object {
		return object{"name": name, "slurm": how, "guard": "confirm"}
	}
	doc := object{"clusters": []object{
		cluster("exec", object{"local": object{"conf": c.Conf()}}),
		cluster("ssh", object{"ssh": object{
			"host": a.Host, "port": a.Port, "user": a.User,
			"identityFiles": []string{a.KeyFile}, "knownHosts": a.KnownHosts,
		}}),
		cluster("rest", object{"rest": object{
			"url": c.RESTURL(), "user": slurmtest.GPUAdm,
			"tokenCommand": tokenCommand(c, slurmtest.GPUAdm),
		}}),
	}}
	raw, err := yaml.Marshal(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(configPath(c), raw, 0o644)
}

// tokenCommand prints a token of a user; only root may run it.
func tokenCommand(c *slurmtest.Cluster, user string) []string {
	return []string{"env", "SLURM_CONF=" + c.Conf(), "scontrol", "token", "username=" + user, "lifespan=3600"}
}

// printUse says how to use the cluster.
func printUse(c *slurmtest.Cluster) {
	a := c.SSH(slurmtest.GPUAdm)
	fmt.Printf(`The users are alice and bob (jobs), gpuop (Operator), gpuadm (Administrator).

  Slurm commands   export SLURM_CONF=%s
  gpuctl           gpuctl --config %s
  ssh              ssh -F %s %s@testbed
  slurmrestd       %s   (token: %s)
                   %s   (no token; acts as gpuop)
`, c.Conf(), configPath(c), a.Config, a.User, c.RESTURL(), strings.Join(tokenCommand(c, slurmtest.GPUAdm), " "), c.RESTSocket())
}

// job is a job that submitJobs sends.
type job struct {
	user, script string
	running      bool // wait for it to run before the next is sent
	args         []string
}

// submitJobs fills a cluster of eight nodes or more: training jobs of several nodes,
// small ones, some that wait and some that end.
func submitJobs(ctx context.Context, c *slurmtest.Cluster) error {
	const long = "sleep 36000"
	for _, j := range []job{
		{slurmtest.Alice, "sleep 1", false, []string{"-Jtokenize", "--gres=gpu:1"}},
		{slurmtest.Bob, "sleep 1; exit 3", false, []string{"-Jbroken-import", "--gres=gpu:1"}},
		{slurmtest.Alice, long, true, []string{"-Jllama-70b", "-N4", "--gres=gpu:8", "-t8:00:00"}},
		{slurmtest.Bob, long, true, []string{"-Jwhisper", "-N2", "--gres=gpu:8", "-t12:00:00"}},
		{slurmtest.Alice, long, true, []string{"-Jeval", "--gres=gpu:4", "-t2:00:00", "-phigh"}},
		{slurmtest.Bob, long, false, []string{"-Jresnet-sweep", "--array=0-15%6", "--gres=gpu:1", "-t4:00:00"}},
		{slurmtest.Alice, long, false, []string{"-Jpretrain-next", "-N6", "--gres=gpu:8", "-t24:00:00"}},
		{slurmtest.Bob, long, false, []string{"-Jlater", "--gres=gpu:2", "--begin=now+2hours"}},
	} {
		id, err := c.Submit(ctx, j.user, j.script, j.args...)
		if err == nil && j.running {
			err = c.WaitJob(ctx, id, "RUNNING")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
