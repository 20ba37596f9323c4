package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Can implements Transport. Before Hello the version is not known, and only what no
// version can do is refused.
func (t *rest) Can(op Op) error {
	v := t.known()
	n := versionNumber(v)
	switch {
	case op == OpSuspend:
		return t.cannot("suspend a job")
	case op == OpUpdateNode && v != "" && n < nestedAPI:
		return t.cannot("change a node")
	case op == OpRequeue && v != "" && n < requeueAPI:
		return t.cannot("requeue a job")
	}
	return nil
}

// cannot is the refusal of what the version lacks.
func (t *rest) cannot(what string) error {
	name := "slurmrestd"
	if v := t.known(); v != "" {
		name += " " + v
	}
	t.mu.Lock()
	if t.slurm != "" {
		name += " (Slurm " + t.slurm + ")"
	}
	t.mu.Unlock()
	return fmt.Errorf("%w: %s cannot %s; add ssh or local to the cluster's transports", ErrUnsupported, name, what)
}

// ready finds out the version and whether it can do op.
func (t *rest) ready(ctx context.Context, op Op) (int, error) {
	v, err := t.version(ctx)
	if err != nil {
		return 0, err
	}
	return versionNumber(v), t.Can(op)
}

// UpdateNodes implements Transport. Of several nodes some may have been changed when
// it fails: slurmctld stops at the first that it refuses.
func (t *rest) UpdateNodes(ctx context.Context, names []string, c NodeChange) error {
	if err := c.check(names); err != nil {
		return err
	}
	if _, err := t.ready(ctx, OpUpdateNode); err != nil {
		return err
	}
	body := map[string]any{}
	if c.State != "" {
		body["state"] = []string{c.State}
	}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	if c.Comment != "" {
		body["comment"] = c.Comment
	}
	q := request{method: http.MethodPost, path: "/node/" + url.PathEscape(names[0]), body: body}
	if len(names) > 1 {
		body["name"] = names
		q.path = "/nodes"
	}
	return t.send(ctx, q)
}

// UpdateJob implements Transport.
func (t *rest) UpdateJob(ctx context.Context, id string, c JobChange) error {
	if _, err := c.args(); err != nil {
		return err
	}
	v, err := t.ready(ctx, OpUpdateJob)
	if err != nil {
		return err
	}
	body := map[string]any{}
	switch {
	case c.Priority == nil:
	case *c.Priority == 0 && v < nestedAPI: // refused, and means the same
		body["hold"] = true
	default:
		body["priority"] = wrap(v, *c.Priority)
	}
	if c.Partition != "" {
		body["partition"] = c.Partition
	}
	if c.Comment != nil {
		body["comment"] = *c.Comment
	}
	if c.Exclude != nil {
		setExclude(body, v, c.Exclude)
	}
	if c.StartNow {
		setBegin(body, v)
	}
	if c.TimeLimit != "" {
		if err := t.setLimit(ctx, body, v, id, c.TimeLimit); err != nil {
			return err
		}
	}
	return t.postJob(ctx, v, id, body)
}

// wrap is a number as the version takes it.
func wrap(v int, n int64) any {
	if v < nestedAPI {
		return n
	}
	return map[string]any{"set": true, "infinite": false, "number": n}
}

// setExclude replaces the excluded nodes. v0.0.38 takes a host list by a name that
// its documentation does not have; newer ones take a list, where only an empty name
// clears what was there.
func setExclude(body map[string]any, v int, nodes []string) {
	switch {
	case v < nestedAPI:
		body["exclude_nodes"] = strings.Join(nodes, ",")
	case len(nodes) == 0:
		body["excluded_nodes"] = []string{""}
	default:
		body["excluded_nodes"] = nodes
	}
}

// setBegin lets a job begin now. v0.0.38 takes sbatch's word for it; newer ones a
// time, and slurmctld takes any in the past for now, whatever our clock says.
func setBegin(body map[string]any, v int) {
	if v < nestedAPI {
		body["begin_time"] = "now"
		return
	}
	body["begin_time"] = wrap(v, 1)
}

// setLimit sets the time limit in minutes. A change of it by +N or -N needs the
// limit that the job has.
func (t *rest) setLimit(ctx context.Context, body map[string]any, v int, id, text string) error {
	sign := time.Duration(0)
	switch text[0] {
	case '+':
		sign = 1
	case '-':
		sign = -1
	}
	limit, err := ParseLimit(strings.TrimLeft(text, "+-"))
	if err != nil {
		return fmt.Errorf("time limit %q: %w", text, ErrInput)
	}
	if sign != 0 {
		now, err := t.limitOf(ctx, id)
		if err != nil {
			return err
		}
		limit.Duration = now + sign*limit.Duration
	}
	minutes := int64((limit.Duration + time.Minute - 1) / time.Minute)
	switch {
	case limit.Kind == fleet.LimitNone && v < nestedAPI:
		body["time_limit"] = -1
	case limit.Kind == fleet.LimitNone:
		body["time_limit"] = map[string]any{"set": true, "infinite": true}
	case minutes < 1:
		return fmt.Errorf("time limit %q of job %s: %w: nothing would be left", text, id, ErrInput)
	default:
		body["time_limit"] = wrap(v, minutes)
	}
	return nil
}

// limitOf is the time limit that all records of the id have.
func (t *rest) limitOf(ctx context.Context, id string) (time.Duration, error) {
	jobs, err := t.Job(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		if j.Limit.Kind != fleet.LimitSet || j.Limit != jobs[0].Limit {
			return 0, fmt.Errorf("job %s has no one time limit that could be changed by a part: %w", id, ErrState)
		}
	}
	return jobs[0].Limit.Duration, nil
}

// Hold implements Transport.
func (t *rest) Hold(ctx context.Context, id string) error { return t.setHold(ctx, OpHold, id, true) }

// Release implements Transport.
func (t *rest) Release(ctx context.Context, id string) error {
	return t.setHold(ctx, OpRelease, id, false)
}

func (t *rest) setHold(ctx context.Context, op Op, id string, hold bool) error {
	v, err := t.ready(ctx, op)
	if err != nil {
		return err
	}
	return t.postJob(ctx, v, id, map[string]any{"hold": hold})
}

// jobPath is the path of a job. slurmrestd wants the '+' of a het component escaped.
func jobPath(id string) string {
	return "/job/" + strings.ReplaceAll(url.PathEscape(id), "+", "%2B")
}

// postJob changes what the id names, and nothing else.
func (t *rest) postJob(ctx context.Context, v int, id string, body map[string]any) error {
	targets, err := t.updateTargets(ctx, v, id)
	if err != nil {
		return err
	}
	var errs []error
	for _, target := range targets {
		errs = append(errs, t.send(ctx, request{method: http.MethodPost, path: jobPath(target), body: body}))
	}
	return errors.Join(errs...)
}

// updateTargets are the ids to change one by one. v0.0.38 takes array tasks as they
// are written, and a plain id for everything that has it. Newer versions change just
// the one record that has the number (24.11 refuses "8_3", and changes the leader
// when asked for "9+1"), so the records are looked up.
func (t *rest) updateTargets(ctx context.Context, v int, id string) ([]string, error) {
	target, err := actionID(id)
	if err != nil {
		return nil, err
	}
	want, err := parseJobID(id)
	if err != nil {
		return nil, err
	}
	if want.Het < 0 && v < nestedAPI {
		return []string{target}, nil
	}
	family, err := t.Job(ctx, strconv.FormatInt(want.Job, 10))
	if err != nil {
		return nil, err
	}
	plain := want.Tasks == nil && want.Het < 0
	var targets []string
	for _, d := range family {
		switch {
		case !want.names(&d.Job):
		case plain && len(family) > 1 && ended(&d.Job):
		case want.part(&d.Job):
			return nil, fmt.Errorf("job %s: %w", id, t.cannot("change some waiting tasks of an array and not the others"))
		default:
			targets = append(targets, strconv.FormatInt(d.RawID, 10))
		}
	}
	if targets == nil {
		return nil, fmt.Errorf("job %s: %w", id, ErrNotFound)
	}
	return targets, nil
}
