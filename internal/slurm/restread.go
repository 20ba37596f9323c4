package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// fetch reads one list.
func fetch[T any](ctx context.Context, t *rest, q request, decode func(io.Reader) (T, answer, error)) (T, error) {
	var out T
	q.method = http.MethodGet
	a, err := t.do(ctx, q, func(r io.Reader) (answer, error) {
		var a answer
		var err error
		out, a, err = decode(r)
		return a, err
	})
	if err == nil && !a.Listed && len(a.Errors) == 0 {
		err = fmt.Errorf("%s: %w: it has not what was asked for; is that slurmrestd?", q, ErrDecode)
	}
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// Nodes implements Transport. An empty list is passed on as it is: whether it can
// be believed is for whoever knows what was there before.
func (t *rest) Nodes(ctx context.Context) ([]fleet.View, error) {
	return fetch(ctx, t, request{path: "/nodes"}, decodeNodes)
}

// Jobs implements Transport.
func (t *rest) Jobs(ctx context.Context) ([]fleet.Job, error) {
	v, err := t.version(ctx)
	if err != nil {
		return nil, err
	}
	q := request{path: "/jobs"}
	if versionNumber(v) > nestedAPI {
		q.query = url.Values{"flags": {"ALL"}} // the default adds every core of every job
	}
	jobs, err := fetch(ctx, t, q, decodeJobs)
	for i := range jobs {
		asListed(&jobs[i])
	}
	return jobs, err
}

// asListed takes away what squeue cannot list, so that a list is the same whichever
// transport answers.
func asListed(j *fleet.Job) {
	j.ExcNodes, j.StdOut, j.StdErr = "", "", ""
}

// Partitions implements Transport.
func (t *rest) Partitions(ctx context.Context) ([]fleet.Partition, error) {
	return fetch(ctx, t, request{path: "/partitions"}, decodePartitions)
}

// Reservations implements Transport.
func (t *rest) Reservations(ctx context.Context) ([]fleet.Reservation, error) {
	now := time.Now()
	return fetch(ctx, t, request{path: "/reservations"}, func(r io.Reader) ([]fleet.Reservation, answer, error) {
		return decodeReservations(r, now)
	})
}

// Stats implements Transport.
func (t *rest) Stats(ctx context.Context) (fleet.SchedulerStats, error) {
	return fetch(ctx, t, request{path: "/diag"}, decodeStats)
}

// QOS implements Transport.
func (t *rest) QOS(ctx context.Context) ([]fleet.QOS, error) {
	return fetch(ctx, t, request{db: true, path: "/qos"}, decodeQOS)
}

// Node implements Transport.
func (t *rest) Node(ctx context.Context, name string) (fleet.View, error) {
	if err := checkNode(name); err != nil {
		return fleet.View{}, err
	}
	views, err := fetch(ctx, t, request{path: "/node/" + url.PathEscape(name)}, decodeNodeDetails)
	if err != nil {
		return fleet.View{}, err
	}
	return viewOf(name, views)
}

// Job implements Transport. slurmrestd's versions differ in which ids they take, so
// it is asked for the whole array or het job, and the records are picked here.
func (t *rest) Job(ctx context.Context, id string) ([]JobDetail, error) {
	want, err := parseJobID(id)
	if err != nil {
		return nil, err
	}
	all, err := fetch(ctx, t, request{path: "/job/" + strconv.FormatInt(want.Job, 10)}, decodeDetails)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	jobs := slices.DeleteFunc(all, func(d JobDetail) bool { return !want.owns(&d.Job) || !want.names(&d.Job) })
	if len(jobs) == 0 {
		return nil, fmt.Errorf("job %s: %w", id, ErrNotFound)
	}
	return jobs, nil
}

// Accounting implements Transport. slurmdbd gives every job that was anything in
// that time, each run apart.
func (t *rest) Accounting(ctx context.Context, since time.Time) ([]fleet.Job, error) {
	v, err := t.version(ctx)
	if err != nil {
		return nil, err
	}
	q := request{db: true, path: "/jobs", query: url.Values{"start_time": {"uts" + strconv.FormatInt(since.Unix(), 10)}}}
	if versionNumber(v) > nestedAPI {
		q.query.Set("skip_steps", "true")
		q.query.Set("show_duplicates", "true")
	}
	jobs, err := fetch(ctx, t, q, decodeAccounting)
	if err != nil {
		return nil, t.noAccounting(err)
	}
	return endedSince(jobs, since), nil
}

// noAccounting tells a cluster without slurmdbd from one whose slurmdbd is down.
func (t *rest) noAccounting(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.storage != "" && t.storage != slurmdbd && errors.Is(err, ErrUnreachable) {
		return fmt.Errorf("%w: it uses %s: %w", ErrNoAccounting, t.storage, err)
	}
	return err
}

// slurmdbd is what meta calls the storage of a cluster that keeps accounting.
const slurmdbd = "accounting_storage/slurmdbd"
