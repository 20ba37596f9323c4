package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// nodeState is the state of a node in parts. No word of the input is dropped.
type nodeState struct {
	Base  string   // fleet.BaseIdle, ...; fleet.BaseUnknown when no base word was told
	Flags []string // in the order told, without repeats
	Odd   []string // words nobody here knows; they are in Flags too
}

// nodeBases are the base states, with sinfo's short forms.
var nodeBases = map[string]string{
	"IDLE":  fleet.BaseIdle,
	"MIXED": fleet.BaseMixed, "MIX": fleet.BaseMixed,
	"ALLOCATED": fleet.BaseAllocated, "ALLOC": fleet.BaseAllocated,
	"DOWN":  fleet.BaseDown,
	"ERROR": fleet.BaseError, "ERR": fleet.BaseError,
	"FUTURE": fleet.BaseFuture, "FUTR": fleet.BaseFuture,
	"UNKNOWN": fleet.BaseUnknown, "UNK": fleet.BaseUnknown,
	"INVAL": fleet.BaseInval,
}

// nodeFlags are the words that may follow a base, with sinfo's short forms and
// the names that other versions gave the same flag.
var nodeFlags = map[string]string{
	"DRAIN":          fleet.FlagDrain,
	"NOT_RESPONDING": fleet.FlagNotResponding, "NO_RESPOND": fleet.FlagNotResponding,
	"COMPLETING": fleet.FlagCompleting, "COMP": fleet.FlagCompleting,
	"FAIL": fleet.FlagFail, "FAILING": fleet.FlagFail, "FAILG": fleet.FlagFail,
	"INVALID_REG": fleet.FlagInvalidReg,
	"MAINTENANCE": fleet.FlagMaintenance, "MAINT": fleet.FlagMaintenance,
	"RESERVED": fleet.FlagReserved, "RESV": fleet.FlagReserved, "RES": fleet.FlagReserved,
	"PLANNED": fleet.FlagPlanned, "PLND": fleet.FlagPlanned,
	"POWERED_DOWN": fleet.FlagPoweredDown, "POW_DN": fleet.FlagPoweredDown,
	"POWERING_DOWN": fleet.FlagPoweringDown,
	"POWERING_UP":   fleet.FlagPoweringUp, "POW_UP": fleet.FlagPoweringUp,
	"REBOOT_ISSUED":    fleet.FlagRebootIssued,
	"REBOOT_REQUESTED": fleet.FlagRebootWanted, "REBOOT": fleet.FlagRebootWanted,
	"CLOUD":   fleet.FlagCloud,
	"BLOCKED": fleet.FlagBlocked,

	"POWER_DOWN": "POWER_DOWN", "POWER_UP": "POWER_UP", "POWER_DRAIN": "POWER_DRAIN",
	"POWER_SAVING": fleet.FlagPoweredDown, "UNDRAIN": "UNDRAIN", "RESUME": "RESUME",
	"DYNAMIC_NORM": "DYNAMIC_NORM", "DYNAMIC_FUTURE": "DYNAMIC_FUTURE",
	"PERFCTRS": "PERFCTRS", "NPC": "PERFCTRS", "NET": "NET", "EXTERNAL": "EXTERNAL",
	"REBOOT_CANCEL": "REBOOT_CANCEL", "PARTIAL": "PARTIAL", "IS_NODE_STATE": "IS_NODE_STATE",
}

// nodeSuffixes are the marks that sinfo(1) puts behind a word.
var nodeSuffixes = map[rune]string{
	'*': fleet.FlagNotResponding,
	'~': fleet.FlagPoweredDown,
	'#': fleet.FlagPoweringUp,
	'!': "POWER_DOWN",
	'%': fleet.FlagPoweringDown,
	'$': fleet.FlagMaintenance,
	'@': fleet.FlagRebootWanted,
	'^': fleet.FlagRebootIssued,
	'-': fleet.FlagPlanned,
}

// parseNodeState reads what scontrol ("MIXED+DRAIN"), sinfo ("down*+drain",
// "idle~", "draining") and slurmrestd ("mixed" with flags apart, or a list of
// words) say. Give it every word there is; each may be compound. The first base
// word is the base, whatever follows is a flag.
func parseNodeState(words ...string) nodeState {
	var s nodeState
	for _, w := range words {
		for part := range strings.SplitSeq(w, "+") {
			s.word(part)
		}
	}
	if s.Base == "" {
		s.Base = fleet.BaseUnknown
		s.Odd = append(s.Odd, fmt.Sprintf("node state %q has no base state", strings.Join(words, "+")))
	}
	return s
}

// word takes one word with its suffixes; one that nobody here knows is a flag too.
func (s *nodeState) word(raw string) {
	w := strings.ToUpper(strings.TrimSpace(raw))
	word := strings.TrimRightFunc(w, func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' })
	s.plain(word)
	for _, r := range w[len(word):] {
		if flag, known := nodeSuffixes[r]; known {
			s.flag(flag)
			continue
		}
		s.unlisted(string(r))
	}
}

// plain takes one word without suffixes.
func (s *nodeState) plain(w string) {
	switch base, isBase := nodeBases[w]; {
	case w == "":
	case isBase && s.Base == "":
		s.Base = base
	case isBase && base == s.Base:
	case isBase:
		s.flag(base)
	case w == "DRAINING" || w == "DRNG":
		s.implied(fleet.BaseMixed) // sinfo says so of a node with work on it
	case w == "DRAINED":
		s.implied(fleet.BaseUnknown) // sinfo says so of idle and of dead nodes
	default:
		s.unlisted(w)
	}
}

// implied takes a sinfo word that stands for a drain and a base.
func (s *nodeState) implied(base string) {
	if s.Base == "" {
		s.Base = base
	}
	s.flag(fleet.FlagDrain)
}

// unlisted takes a word that is a flag or nothing known.
func (s *nodeState) unlisted(w string) {
	flag, known := nodeFlags[w]
	if !known {
		flag = w
		s.Odd = append(s.Odd, fmt.Sprintf("node state word %q is not known", w))
	}
	s.flag(flag)
}

func (s *nodeState) flag(f string) {
	if !slices.Contains(s.Flags, f) {
		s.Flags = append(s.Flags, f)
	}
}

// jobState is the state of a job in parts. No word of the input is dropped.
type jobState struct {
	Base  string
	Flags []string
	By    string   // who cancelled it (user or user id), as sacct(1) tells
	Odd   []string // words nobody here knows; they are in Flags too
}

// jobBases are the base states of a job, with squeue's short forms.
var jobBases = map[string]string{
	"PENDING": "PENDING", "PD": "PENDING",
	"RUNNING": "RUNNING", "R": "RUNNING",
	"SUSPENDED": "SUSPENDED", "S": "SUSPENDED",
	"COMPLETED": "COMPLETED", "CD": "COMPLETED",
	"CANCELLED": "CANCELLED", "CA": "CANCELLED",
	"FAILED": "FAILED", "F": "FAILED",
	"TIMEOUT": "TIMEOUT", "TO": "TIMEOUT",
	"NODE_FAIL": "NODE_FAIL", "NF": "NODE_FAIL",
	"PREEMPTED": "PREEMPTED", "PR": "PREEMPTED",
	"BOOT_FAIL": "BOOT_FAIL", "BF": "BOOT_FAIL",
	"DEADLINE": "DEADLINE", "DL": "DEADLINE",
	"OUT_OF_MEMORY": "OUT_OF_MEMORY", "OOM": "OUT_OF_MEMORY",
	"EXPEDITING": "EXPEDITING",
}

// jobFlags maps each flag word to the base that a job with it has when squeue
// prints the flag in place of the base; "" where several are possible: then the
// word itself is the base (fleet.Job.Has finds it there too).
var jobFlags = map[string]string{
	"COMPLETING": "", "REQUEUED": "", "REVOKED": "", "STAGE_OUT": "", "UPDATE_DB": "",
	"CONFIGURING": "RUNNING", "RESIZING": "RUNNING", "SIGNALING": "RUNNING", "STOPPED": "RUNNING",
	"POWER_UP_NODE": "RUNNING", "LAUNCH_FAILED": "PENDING",
	"REQUEUE_HOLD": "PENDING", "REQUEUE_FED": "PENDING", "SPECIAL_EXIT": "PENDING",
	"RESV_DEL_HOLD": "PENDING", "RECONFIG_FAIL": "",
}

// shortFlags are squeue's short forms of the flags.
var shortFlags = map[string]string{
	"CG": "COMPLETING", "CF": "CONFIGURING", "RS": "RESIZING", "SI": "SIGNALING", "ST": "STOPPED",
	"SO": "STAGE_OUT", "RV": "REVOKED", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "RF": "REQUEUE_FED",
	"RD": "RESV_DEL_HOLD", "SE": "SPECIAL_EXIT", "PO": "POWER_UP_NODE",
}

// parseJobState reads "RUNNING", a list of words, sacct's "CANCELLED by 64201",
// and squeue's habit to print a flag (COMPLETING) instead of the base.
func parseJobState(words ...string) jobState {
	var s jobState
	for _, w := range words {
		for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return r == '+' || r == ',' }) {
			s.word(strings.ToUpper(strings.TrimSpace(part)))
		}
	}
	if s.Base == "" {
		s.Base = s.baseOfFlags()
	}
	return s
}

func (s *jobState) word(w string) {
	if head, by, ok := strings.Cut(w, " BY "); ok {
		w, s.By = head, strings.ToLower(strings.TrimSpace(by))
	}
	w = cmp.Or(shortFlags[w], w)
	base, isBase := jobBases[w]
	_, isFlag := jobFlags[w]
	switch {
	case w == "":
		return
	case isBase && s.Base == "":
		s.Base = base
		return
	case isBase && base == s.Base:
		return
	case isBase:
		w = base
	case !isFlag:
		s.Odd = append(s.Odd, fmt.Sprintf("job state word %q is not known", w))
	}
	if !slices.Contains(s.Flags, w) {
		s.Flags = append(s.Flags, w)
	}
}

// baseOfFlags is the base when only flags were told.
func (s *jobState) baseOfFlags() string {
	for _, f := range s.Flags {
		if base := jobFlags[f]; base != "" {
			return base
		}
	}
	if len(s.Flags) > 0 {
		base := s.Flags[0]
		s.Flags = s.Flags[1:]
		return base
	}
	s.Odd = append(s.Odd, "job state is empty")
	return fleet.BaseUnknown
}
