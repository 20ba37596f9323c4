package fleet

import (
	"math"
	"slices"
)

// sameView reports whether two views say the same. reflect.DeepEqual would be ten
// times slower, and finds NaN different from itself.
func sameView(a, b *View) bool {
	return a.Cluster == b.Cluster && a.Kind == b.Kind && a.Node == b.Node && a.Base == b.Base &&
		slices.Equal(a.Flags, b.Flags) &&
		a.Reason.Text == b.Reason.Text && a.Reason.Author == b.Reason.Author && a.Reason.At.Equal(b.Reason.At) &&
		slices.Equal(a.Queues, b.Queues) && a.GPUs == b.GPUs && sameGRES(a.GRES, b.GRES) &&
		sameGRES(a.UsedGRES, b.UsedGRES) && a.CPUs == b.CPUs && a.Memory == b.Memory &&
		slices.Equal(a.Features, b.Features) && a.Address == b.Address && a.Version == b.Version && a.OS == b.OS &&
		a.Booted.Equal(b.Booted) && a.DaemonUp.Equal(b.DaemonUp) && a.LastBusy.Equal(b.LastBusy) &&
		(a.Load == b.Load || math.IsNaN(a.Load) && math.IsNaN(b.Load)) && a.Comment == b.Comment &&
		slices.Equal(a.Oddities, b.Oddities) && a.Raw == b.Raw && a.Resv == b.Resv
}

func sameGRES(a, b []GRES) bool {
	return slices.EqualFunc(a, b, func(x, y GRES) bool {
		return x.Name == y.Name && x.Type == y.Type && x.Count == y.Count && slices.Equal(x.Indices, y.Indices) &&
			x.Sockets == y.Sockets && x.Raw == y.Raw
	})
}

// sameJob reports whether two jobs say the same.
func sameJob(a, b *Job) bool {
	return a.Key == b.Key && a.Kind == b.Kind && a.ID == b.ID && a.RawID == b.RawID &&
		samePart(a.Array, b.Array) && samePart(a.Het, b.Het) && a.Name == b.Name && a.User == b.User &&
		a.Account == b.Account && a.Queue == b.Queue && a.QOS == b.QOS && a.Base == b.Base &&
		slices.Equal(a.Flags, b.Flags) && a.Reason == b.Reason && a.GPUs == b.GPUs && slices.Equal(a.Nodes, b.Nodes) &&
		a.NodeCount == b.NodeCount && a.CPUs == b.CPUs && a.BatchHost == b.BatchHost && a.ReqNodes == b.ReqNodes &&
		a.ExcNodes == b.ExcNodes && a.SchedNodes == b.SchedNodes && sameTimes(a, b) && a.Limit == b.Limit &&
		a.Restarts == b.Restarts && a.Requeue == b.Requeue && a.Priority == b.Priority && a.Dependency == b.Dependency &&
		a.Comment == b.Comment && a.WorkDir == b.WorkDir && a.StdOut == b.StdOut && a.StdErr == b.StdErr &&
		a.Features == b.Features && a.ExitCode == b.ExitCode && a.Signal == b.Signal &&
		slices.Equal(a.Oddities, b.Oddities) && a.Raw == b.Raw
}

func sameTimes(a, b *Job) bool {
	return a.Submitted.Equal(b.Submitted) && a.Eligible.Equal(b.Eligible) && a.Started.Equal(b.Started) &&
		a.Ended.Equal(b.Ended) && a.EstStart.Equal(b.EstStart) && a.Preempted.Equal(b.Preempted)
}

func samePart[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
