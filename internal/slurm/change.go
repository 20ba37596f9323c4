package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// What is asked of any transport is checked here first: nothing was sent when one of
// these returns an error.

// check refuses what cannot be meant.
func (ch NodeChange) check(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no node: %w", ErrInput)
	}
	for _, n := range names {
		if err := checkNode(n); err != nil {
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
	return checkText(ch.Reason + ch.Comment)
}

// args are scontrol's words for the change, checked.
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
		add("timelimit", ch.TimeLimit, checkTimeLimit(ch.TimeLimit))
	}
	if ch.Partition != "" {
		add("partition", ch.Partition, checkPartition(ch.Partition))
	}
	if ch.Exclude != nil {
		list := strings.Join(ch.Exclude, ",")
		add("excnodelist", list, nil)
		for _, n := range ch.Exclude {
			if e := checkNode(n); err == nil {
				err = e
			}
		}
	}
	if ch.Comment != nil {
		add("comment", *ch.Comment, checkText(*ch.Comment))
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

// maxTarget bounds the length of an id in a command.
const maxTarget = 100_000

// actionID is the id as scontrol and scancel take it. They know neither steps nor
// "%2", and take "8_*" for the whole array with its running tasks: so a task set is
// spelled out, and an id whose tasks are not all known is refused.
func actionID(text string) (string, error) {
	id, err := parseJobID(text)
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
