package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// commands is the transport over Slurm's commands. Its Runner pins the
// environment: TZ=UTC0, SLURM_TIME_FORMAT=standard, SLURM_BITSTR_LEN=0.
type commands struct {
	runner Runner

	mu sync.Mutex
	id *identity // who we are there; does not change while the console runs
}

// identity is what Hello needs to ask only once.
type identity struct {
	user   string
	offset time.Duration
}

// NewCommandTransport returns the transport that runs Slurm's commands over r.
func NewCommandTransport(r Runner) Transport { return &commands{runner: r} }

// Via implements Transport.
func (c *commands) Via() string { return c.runner.Via() }

// ask runs a command and returns what it printed.
func (c *commands) ask(ctx context.Context, argv ...string) (string, error) {
	out, err := c.runner.Run(ctx, argv)
	if err != nil {
		return "", err
	}
	return string(out.Stdout), verdict(argv, out)
}

// Nodes implements Transport.
func (c *commands) Nodes(ctx context.Context) ([]fleet.View, error) {
	text, err := c.ask(ctx, "scontrol", "-d", "-a", "show", "node")
	if err != nil {
		return nil, err
	}
	views, rest := textNodes(text)
	switch {
	case len(views) == 0:
		return nil, fmt.Errorf("scontrol show node: %w: no nodes: %.200s", ErrUnbelievable, rest)
	case !strings.HasSuffix(text, "\n\n"):
		return nil, fmt.Errorf("scontrol show node: %w: it is cut short after %d nodes", ErrDecode, len(views))
	}
	return views, nil
}

// Node implements Transport.
func (c *commands) Node(ctx context.Context, name string) (fleet.View, error) {
	if err := checkNode(name); err != nil {
		return fleet.View{}, err
	}
	text, err := c.ask(ctx, "scontrol", "-d", "-a", "show", "node", name)
	if err != nil {
		return fleet.View{}, err
	}
	views, _ := textNodes(text)
	return viewOf(name, views)
}

// Jobs implements Transport.
func (c *commands) Jobs(ctx context.Context) ([]fleet.Job, error) {
	text, err := c.ask(ctx, "squeue", "-a", "-t", "all", "-O", queueFormat())
	if err != nil {
		return nil, err
	}
	return textQueue(text)
}

// Job implements Transport.
func (c *commands) Job(ctx context.Context, id string) ([]JobDetail, error) {
	want, err := parseJobID(id)
	if err != nil {
		return nil, err
	}
	arg := want.Key()
	if want.Rest { // scontrol knows no "8_[4-7]" here
		arg = strconv.FormatInt(want.Job, 10)
	}
	text, err := c.ask(ctx, "scontrol", "-d", "-a", "show", "job", arg)
	if err != nil {
		return nil, err
	}
	all := textDetails(text)
	if want.doubtful(all) {
		if all, err = c.listed(ctx, want, text); err != nil {
			return nil, err
		}
	}
	jobs := slices.DeleteFunc(all, func(d JobDetail) bool { return !want.owns(&d.Job) || !want.names(&d.Job) })
	if len(jobs) == 0 {
		return nil, fmt.Errorf("job %s: %w", id, ErrNotFound)
	}
	return jobs, nil
}

// listed reads a job from squeue(1), whose separators nobody types into a name by
// accident: scontrol's have been, so that its text may say what the job's owner likes.
func (c *commands) listed(ctx context.Context, want jobID, text string) ([]JobDetail, error) {
	out, err := c.ask(ctx, "squeue", "-a", "-t", "all", "-j", strconv.FormatInt(want.Job, 10), "-O", queueFormat())
	if err != nil {
		return nil, err
	}
	jobs, err := textQueue(out)
	details := make([]JobDetail, len(jobs))
	for i := range jobs {
		details[i].Job = jobs[i]
		details[i].Raw = text
	}
	return details, err
}

// Partitions implements Transport.
func (c *commands) Partitions(ctx context.Context) ([]fleet.Partition, error) {
	text, err := c.ask(ctx, "scontrol", "-a", "show", "partition")
	return textPartitions(text), err
}

// Reservations implements Transport.
func (c *commands) Reservations(ctx context.Context) ([]fleet.Reservation, error) {
	text, err := c.ask(ctx, "scontrol", "show", "reservation")
	return textReservations(text), err
}

// Stats implements Transport.
func (c *commands) Stats(ctx context.Context) (fleet.SchedulerStats, error) {
	text, err := c.ask(ctx, "sdiag")
	return textStats(text), err
}

// QOS implements Transport.
func (c *commands) QOS(ctx context.Context) ([]fleet.QOS, error) {
	text, err := c.ask(ctx, "sacctmgr", "-nP", "show", "qos", "format="+qosColumns)
	return textQOS(text), err
}

// Accounting implements Transport.
func (c *commands) Accounting(ctx context.Context, since time.Time) ([]fleet.Job, error) {
	text, err := c.ask(ctx, "sacct", "-n", "-P", "-a", "-X", "-D", "--delimiter="+fieldSep,
		"-S", since.UTC().Format("2006-01-02T15:04:05"), "-E", "now", "-o", acctFormat())
	switch {
	case err != nil:
		return nil, err
	case text != "" && !strings.HasSuffix(text, "\n"):
		return nil, fmt.Errorf("sacct: %w: it is cut short", ErrDecode)
	}
	return endedSince(textAccounting(text), since), nil
}
