package slurm

// The operations of this backend: what Step.Op says. A journal may hold them, so
// their words stay.
const (
	opDrain      = "drain"       // args: reason
	opDrained    = "drained"     // wait only
	opResumeNode = "resume-node" // no args
	opHold       = "hold"        // args: id, as in all that follow
	opRelease    = "release"
	opExclude    = "exclude"   // args: nodes, folded
	opRequeue    = "requeue"   // args: hold, restarts (before)
	opStartNow   = "start-now" // args: after (a duration; may be missing)
	opCancel     = "cancel"    // args: signal (empty, TERM or KILL)
	opSignal     = "signal"    // args: signal, batch
	opGrace      = "grace"     // wait only; args: restarts (before)
	opStarted    = "started"   // wait only
	opSuspend    = "suspend"
	opResume     = "resume"
	opPriority   = "priority"   // args: value
	opTimeLimit  = "time-limit" // args: value (as sent), want (minutes, or "none")
	opPartition  = "partition"  // args: value
)
