package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Can implements Transport: the commands can do everything.
func (c *commands) Can(Op) error { return nil }

// tell runs a command whose output does not matter.
func (c *commands) tell(ctx context.Context, argv ...string) error {
	_, err := c.ask(ctx, argv...)
	return err
}

// UpdateNodes implements Transport.
func (c *commands) UpdateNodes(ctx context.Context, names []string, ch NodeChange) error {
	if err := ch.check(names); err != nil {
		return err
	}
	argv := []string{"scontrol", "update", "nodename=" + strings.Join(names, ",")}
	if ch.State != "" {
		argv = append(argv, "state="+ch.State)
	}
	if ch.Reason != "" {
		argv = append(argv, "reason="+edgeQuoted(ch.Reason))
	}
	if ch.Comment != "" {
		argv = append(argv, "comment="+ch.Comment)
	}
	return c.tell(ctx, argv...)
}

// check refuses what cannot be meant; nothing was sent then.
func (ch NodeChange) check(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no node: %w", ErrInput)
	}
	for _, n := range names {
		if err := CheckNode(n); err != nil {
			return err
		}
	}
	switch ch.State {
	case "DRAIN", "DOWN", "FAIL":
		if strings.TrimSpace(ch.Reason) == "" {
			return fmt.Errorf("%s without a reason: %w", ch.State, ErrInput)
		}
	case "", "RESUME", "UNDRAIN":
	default:
		return fmt.Errorf("node state %q: %w", ch.State, ErrInput)
	}
	if ch == (NodeChange{}) {
		return fmt.Errorf("nothing to change: %w", ErrInput)
	}
	return CheckText(ch.Reason + ch.Comment)
}

// edgeQuoted puts quotes around a reason that begins or ends with one: scontrol
// takes one off at each end.
func edgeQuoted(text string) string {
	if strings.HasPrefix(text, `"`) || strings.HasSuffix(text, `"`) {
		return `"` + text + `"`
	}
	return text
}

// UpdateJob implements Transport.
func (c *commands) UpdateJob(ctx context.Context, id string, ch JobChange) error {
	target, err := actionID(id)
	if err != nil {
		return err
	}
	args, err := ch.args()
	if err != nil {
		return err
	}
	return c.tell(ctx, append([]string{"scontrol", "update", "jobid=" + target}, args...)...)
}

// args are scontrol's words for the change.
func (ch JobChange) args() ([]string, error) {
	var args []string
	var err error
	add := func(key, value string, check error) {
		args = append(args, key+"="+value)
		if err == nil {
			err = check
		}
	}
	if ch.Priority != nil {
		add("priority", strconv.FormatInt(*ch.Priority, 10), checkPriority(*ch.Priority))
	}
	if ch.TimeLimit != "" {
		add("timelimit", ch.TimeLimit, CheckTimeLimit(ch.TimeLimit))
	}
	if ch.Partition != "" {
		add("partition", ch.Partition, CheckPartition(ch.Partition))
	}
	if ch.Exclude != nil {
		list := strings.Join(ch.Exclude, ",")
		add("excnodelist", list, nil)
		for _, n := range ch.Exclude {
			if e := CheckNode(n); err == nil {
				err = e
			}
		}
	}
	if ch.Comment != nil {
		add("comment", *ch.Comment, CheckText(*ch.Comment))
	}
	if ch.StartNow {
		add("starttime", "now", nil)
	}
	if err == nil && args == nil {
		err = fmt.Errorf("nothing to change: %w", ErrInput)
	}
	return args, err
}

// MaxPriority is the highest priority that a job can have.
const MaxPriority = 1<<32 - 3

func checkPriority(p int64) error {
	if p < 0 || p > MaxPriority {
		return fmt.Errorf("priority %d: %w", p, ErrInput)
	}
	return nil
}

// Requeue implements Transport.
func (c *commands) Requeue(ctx context.Context, id string, hold bool) error {
	if j, err := ParseJobID(id); err == nil && j.Het >= 0 {
		return fmt.Errorf("requeue %s: %w: a het job is requeued as a whole, by its leader's id %d", id, ErrUnsupported, j.Job)
	}
	if hold {
		return c.onJob(ctx, "requeuehold", id)
	}
	return c.onJob(ctx, "requeue", id)
}

// Hold implements Transport.
func (c *commands) Hold(ctx context.Context, id string) error { return c.onJob(ctx, "hold", id) }

// Release implements Transport.
func (c *commands) Release(ctx context.Context, id string) error { return c.onJob(ctx, "release", id) }

// Suspend implements Transport.
func (c *commands) Suspend(ctx context.Context, id string) error { return c.onJob(ctx, "suspend", id) }

// Resume implements Transport.
func (c *commands) Resume(ctx context.Context, id string) error { return c.onJob(ctx, "resume", id) }

func (c *commands) onJob(ctx context.Context, verb, id string) error {
	target, err := actionID(id)
	if err != nil {
		return err
	}
	return c.tell(ctx, "scontrol", verb, target)
}

// Signal implements Transport. scancel itself tries a signal to a waiting job again
// for about 100 s, unless ctx ends before.
func (c *commands) Signal(ctx context.Context, id, signal string, batch bool) error {
	target, err := actionID(id)
	if err != nil {
		return err
	}
	argv := []string{"scancel"}
	if signal != "" {
		if err := CheckSignal(signal); err != nil {
			return err
		}
		argv = append(argv, "--signal="+signal)
	}
	if batch {
		argv = append(argv, "--full")
	}
	return c.tell(ctx, append(argv, target)...)
}

// maxTarget bounds the length of an id in a command.
const maxTarget = 100_000

// actionID is the id as scontrol and scancel take it. They know neither steps nor
// "%2", and take "8_*" for the whole array with its running tasks: so a task set is
// spelled out, and an id whose tasks are not all known is refused.
func actionID(text string) (string, error) {
	id, err := ParseJobID(text)
	switch {
	case err != nil:
		return "", err
	case id.Truncated:
		return "", fmt.Errorf("job id %q: %w: Slurm cut its task set short", text, ErrInput)
	case !id.Rest:
		return id.Key(), nil
	case id.Tasks == nil:
		return "", fmt.Errorf("job id %q: %w: it does not name its tasks", text, ErrInput)
	}
	var b strings.Builder
	for _, r := range id.Tasks {
		if r.Step == 1 {
			fmt.Fprintf(&b, ",%s", r)
			continue
		}
		for t := r.First; t <= r.Last && b.Len() < maxTarget; t += r.Step {
			fmt.Fprintf(&b, ",%d", t)
		}
	}
	if b.Len() >= maxTarget {
		return "", fmt.Errorf("job id %.40q: %w: too many tasks for one command", text, ErrInput)
	}
	return fmt.Sprintf("%d_[%s]", id.Job, b.String()[1:]), nil
}
