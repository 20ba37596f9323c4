package slurm

import (
	"context"
	"fmt"
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

// Requeue implements Transport.
func (c *commands) Requeue(ctx context.Context, id string, hold bool) error {
	if j, err := parseJobID(id); err == nil && j.Het >= 0 {
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
		if err := checkSignal(signal); err != nil {
			return err
		}
		argv = append(argv, "--signal="+signal)
	}
	if batch {
		argv = append(argv, "--full")
	}
	return c.tell(ctx, append(argv, target)...)
}
