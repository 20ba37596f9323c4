package slurm

import (
	"slices"
	"strings"
)

// A user's environment changes what Slurm's commands print, filter and ask: formats
// and sort orders (C17, C24), but also SCANCEL_STATE or SLURM_CLUSTERS. So every
// command runs with the same one, here and over SSH.

// pinned is set for every command. Without SLURM_BITSTR_LEN=0 the set of an array's
// waiting tasks is cut at 64 characters.
func pinned(conf string) []string {
	env := []string{"LC_ALL=C", "TZ=UTC0", "SLURM_TIME_FORMAT=standard", "SLURM_BITSTR_LEN=0"}
	if conf != "" {
		env = append(env, "SLURM_CONF="+conf)
	}
	return env
}

// dropped begins the names of variables that no command gets; kept are exceptions
// which say where the cluster is and who we are.
func dropped() []string {
	return []string{
		"SLURM_", "SQUEUE_", "SINFO_", "SACCT_", "SACCTMGR_", "SCONTROL_", "SCANCEL_",
		"SDIAG_", "SSTAT_", "SREPORT_", "SBATCH_",
	}
}

func kept() []string { return []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT"} }

// droppedNames are the same variables by name, for env(1), which knows no prefixes:
// all that the manual pages of 22.05 to 25.05 list for these commands.
func droppedNames() []string {
	return []string{
		"SLURM_CLUSTERS", "SLURM_CONF_OUT", "SLURM_DEBUG_FLAGS", "SLURM_TOPO_LEN",
		"SLURM_JSON", "SLURM_YAML",
		"SQUEUE_ACCOUNT", "SQUEUE_ALL", "SQUEUE_ARRAY", "SQUEUE_ARRAY_UNIQUE", "SQUEUE_FEDERATION",
		"SQUEUE_EXPAND_PATTERNS", "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_LICENSES", "SQUEUE_LOCAL",
		"SQUEUE_NAMES", "SQUEUE_ONLY_JOB_STATE", "SQUEUE_PARTITION", "SQUEUE_PRIORITY", "SQUEUE_QOS",
		"SQUEUE_SIB", "SQUEUE_SIBLING", "SQUEUE_SORT", "SQUEUE_STATES", "SQUEUE_USERS",
		"SINFO_ALL", "SINFO_FEDERATION", "SINFO_FORMAT", "SINFO_LOCAL", "SINFO_PARTITION", "SINFO_SORT",
		"SACCT_FEDERATION", "SACCT_FORMAT", "SACCT_LOCAL",
		"SCONTROL_ALL", "SCONTROL_FEDERATION", "SCONTROL_FUTURE", "SCONTROL_LOCAL", "SCONTROL_SIB", "SCONTROL_SIBLING",
		"SCANCEL_ACCOUNT", "SCANCEL_BATCH", "SCANCEL_CRON", "SCANCEL_CTLD", "SCANCEL_FULL", "SCANCEL_HURRY",
		"SCANCEL_INTERACTIVE", "SCANCEL_NAME", "SCANCEL_PARTITION", "SCANCEL_QOS", "SCANCEL_RESERVATION",
		"SCANCEL_SIBLING", "SCANCEL_STATE", "SCANCEL_USER", "SCANCEL_VERBOSE", "SCANCEL_WCKEY",
	}
}

// cleanEnv is env without what changes the commands, with what is pinned, and with
// the folders in which administrators' commands may lie at the end of PATH.
func cleanEnv(env []string, conf string) []string {
	var out []string
	path := "/usr/bin:/bin"
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "PATH":
			path = value
		case name == "LC_ALL", name == "TZ", name == "SLURM_CONF" && conf != "":
		case !slices.Contains(kept(), name) && hasAnyPrefix(name, dropped()):
		default:
			out = append(out, v)
		}
	}
	return append(append(out, "PATH="+path+":/usr/sbin:/sbin"), pinned(conf)...)
}

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// envCommand is argv under env(1) with the same environment, for another host.
func envCommand(conf string, argv []string) []string {
	out := []string{"env"}
	for _, name := range droppedNames() {
		out = append(out, "-u", name)
	}
	return append(append(out, pinned(conf)...), argv...)
}
