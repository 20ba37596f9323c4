package triage

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// NodeReason says what a node's reason means.
type NodeReason struct {
	Plain  string // what it means, in plain words
	Advice string // what to do before the node goes back to work
	// Owner is who takes care of such reasons: "slurmctld", "NHC", "gpuctl", a user.
	Owner string
	// UndoneBy is who may take a drain back without being asked; empty when nobody does.
	UndoneBy string
	// Known is set when the reason is in the dictionary; else it is a person's words.
	Known bool
}

// ExplainNodeReason explains a node's reason by what it says and who wrote it.
func ExplainNodeReason(r fleet.Reason) NodeReason {
	text := strings.TrimSpace(r.Text)
	if text == "" {
		return NodeReason{Plain: "no reason is given", Advice: "ask who took it out of service, and say why when you do"}
	}
	for i := range nodeReasons {
		if m := nodeReasons[i].pattern.FindStringSubmatch(text); m != nil {
			out := nodeReasons[i].explain(m)
			out.Known = true
			return out
		}
	}
	return personal(text, r.Author)
}

// personal is a reason that a person wrote, as far as anybody can tell.
func personal(text, author string) NodeReason {
	switch author {
	case "":
		return NodeReason{Plain: text, Advice: "find out who wrote this before you undrain it"}
	case "slurm":
		return NodeReason{Plain: "slurmctld says: " + text, Owner: "slurmctld", Advice: "look at the logs of slurmctld and of the node's slurmd"}
	case "root":
		return NodeReason{Plain: text, Owner: "root", Advice: "a program or an administrator wrote this as root; look for a health check before you undrain it"}
	}
	return NodeReason{Plain: text, Owner: author, Advice: "ask " + author + " before you undrain it"}
}

// nodeReason is an entry of the dictionary.
type nodeReason struct {
	pattern *regexp.Regexp
	explain func(match []string) NodeReason
}

// reason makes an entry that says the same whatever its numbers.
func reason(pattern string, n NodeReason) nodeReason {
	return nodeReason{regexp.MustCompile(`(?is)` + pattern), func([]string) NodeReason { return n }}
}

// The programs that write reasons, and what each of them takes back.
const (
	undoneByNHC        = "NHC resumes nodes that it drained as soon as its check passes"
	undoneBySUNK       = "SUNK's syncer clears reasons that begin with k8s: when the Kubernetes node recovers"
	undoneBySlinky     = "the Slinky slurm-operator undrains nodes that it drained when their pod is ready"
	undoneBySoperator  = "soperator clears its own reasons when its check passes or the machine is replaced"
	undoneBySlurmctld  = "slurmctld, when the node registers again (ReturnToService)"
	undoneByRepair     = "slurmctld clears the invalid state when the node registers with what is configured; the drain stays"
	adviceUnkillable   = "look for the process that cannot be killed (state D: a hung file system or GPU) before you undrain it; a blind undrain fails again"
	adviceConfigDiffer = "compare slurm.conf and gres.conf with the node (slurmd -C), repair it or the configuration, restart slurmd, undrain"
)

// nodeReasons is the dictionary, most special first. (?is): any case, any lines.
var nodeReasons = []nodeReason{
	{regexp.MustCompile(`(?is)^gpuctl:(?:([^:\s]+):)?\s*(.*)`), func(m []string) NodeReason {
		n := NodeReason{Plain: "drained with gpuctl: " + m[2], Owner: "gpuctl", Advice: "gpuctl audit tells the rest of it"}
		if m[1] != "" {
			n.Plain = fmt.Sprintf("%s drained it with gpuctl: %s", m[1], m[2])
			n.Owner, n.Advice = m[1], "ask "+m[1]+"; gpuctl audit tells the rest of it"
		}
		return n
	}},
	{regexp.MustCompile(`(?is)^k8s:\s*(.*)`), func(m []string) NodeReason {
		return NodeReason{
			Plain: "drained because of its Kubernetes node: " + m[1], Owner: "SUNK", UndoneBy: undoneBySUNK,
			Advice: "look at the Kubernetes node; a drain that is to stay needs a reason without the prefix k8s:",
		}
	}},
	{regexp.MustCompile(`(?is)^slurm-operator:\s*(.*)`), func(m []string) NodeReason {
		return NodeReason{
			Plain: "drained by the Slinky slurm-operator: " + m[1], Owner: "slurm-operator", UndoneBy: undoneBySlinky,
			Advice: "look at the pod and the NodeSet; cordon the Kubernetes node to keep it out",
		}
	}},
	{regexp.MustCompile(`(?is)^\[(node_problem|hardware_problem|compute_maintenance|user_problem)\]\s*(.*)`), func(m []string) NodeReason {
		return NodeReason{
			Plain: "soperator found a " + strings.ReplaceAll(strings.ToLower(m[1]), "_", " ") + ": " + m[2],
			Owner: "soperator", UndoneBy: undoneBySoperator, Advice: "look at the checks of its NodeConfigurator; it replaces the machine where it can",
		}
	}},
	{regexp.MustCompile(`(?is)^NHC:?\s*(.*)`), func(m []string) NodeReason {
		return NodeReason{
			Plain: "the node health check failed: " + m[1], Owner: "NHC", UndoneBy: undoneByNHC,
			Advice: "repair what the check names and run it by hand; give a drain that is to stay a reason of its own",
		}
	}},
	{regexp.MustCompile(`(?is)^gres/(\S+) count reported lower than configured \((\d+) < (\d+)\)`), func(m []string) NodeReason {
		return NodeReason{
			Plain: fmt.Sprintf("slurmd finds %s of %s %ss: %s missing", m[2], m[3], m[1], difference(m[2], m[3])),
			Owner: "slurmctld", UndoneBy: undoneByRepair,
			Advice: "look for the missing one (nvidia-smi, dmesg: XID 79 is fallen off the bus); reset or power-cycle the node, restart slurmd, undrain",
		}
	}},
	reason(`^gres/gpu.*(count|type).*(configured|reported)`, NodeReason{
		Plain: "the GPUs that slurmd finds are not those that are configured", Owner: "slurmctld", UndoneBy: undoneByRepair, Advice: adviceConfigDiffer,
	}),
	reason(`kill task failed`, NodeReason{Plain: "a job's process could not be killed, so Slurm drained the node", Owner: "slurmd", Advice: adviceUnkillable}),
	reason(`^not responding`, NodeReason{
		Plain: "slurmd does not answer slurmctld", Owner: "slurmctld", UndoneBy: undoneBySlurmctld,
		Advice: "reach the node: is it up, is slurmd running, is the network there; power-cycle it if not",
	}),
	reason(`^node unexpectedly rebooted`, NodeReason{
		Plain: "it rebooted without being asked to, so slurmctld set it down", Owner: "slurmctld",
		Advice: "look for why (power, kernel panic, machine check) before you undrain it",
	}),
	reason(`^low (realmemory|cpus|tmpdisk|socket|cores|boards)`, NodeReason{
		Plain: "it has less than is configured for it", Owner: "slurmctld", UndoneBy: undoneByRepair, Advice: adviceConfigDiffer,
	}),
	reason(`^(low|bad|invalid).*(core|thread|cpu|node) ?(count|config)`, NodeReason{
		Plain: "it is not built as it is configured", Owner: "slurmctld", UndoneBy: undoneByRepair, Advice: adviceConfigDiffer,
	}),
	reason(`^prolog (error|failed)`, NodeReason{Plain: "the prolog failed before a job", Owner: "slurmd", Advice: "look at the prolog's output in slurmd's log; the job was requeued"}),
	reason(`^epilog (error|failed)`, NodeReason{Plain: "the epilog failed after a job", Owner: "slurmd", Advice: "look at the epilog's output in slurmd's log; what it cleans may be left over"}),
	reason(`^(batch job complete failure|launch failed)`, NodeReason{Plain: "a job could not be launched or ended on it", Owner: "slurmctld", Advice: "look at slurmd's log: spool directory full, user unknown, munge"}),
	reason(`(reboot asap|reboot issued|reboot requested)`, NodeReason{
		Plain: "it is being rebooted by Slurm", Owner: "slurmctld", UndoneBy: "slurmctld, after the reboot (nextstate)", Advice: "wait; ResumeTimeout says how long",
	}),
	reason(`^(resumetimeout reached|resume timeout|reboot timed out|boot failure)`, NodeReason{
		Plain: "it did not come up in time", Owner: "slurmctld", Advice: "look at its console; ResumeTimeout may be too short",
	}),
	reason(`^(scheduled power|power down|suspended)`, NodeReason{
		Plain: "it is powered down to save energy", Owner: "slurmctld", UndoneBy: "slurmctld, when work needs it", Advice: "nothing: it comes up by itself",
	}),
	reason(`(authentication|munge|credential).*(error|fail)`, NodeReason{Plain: "it cannot authenticate", Owner: "slurmctld", Advice: "compare clocks and the munge key"}),
}

// difference is b - a of two numbers in digits.
func difference(a, b string) string {
	var x, y int
	if _, err := fmt.Sscan(a, &x); err != nil {
		return "some"
	}
	if _, err := fmt.Sscan(b, &y); err != nil {
		return "some"
	}
	return fmt.Sprint(y - x)
}
