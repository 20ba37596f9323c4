package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Errors of a command line in the palette.
var (
	errFlag  = errors.New("unknown option")
	errValue = errors.New("needs a value")
	errName  = errors.New("is not in the fleet")
)

// parse reads the words behind a verb as the command line does: names, and options
// that begin with --. given tells whether any option was there: then no form is
// needed.
func (m *Model) parse(verb actions.Verb, words []string) (req actions.Request, given bool, err error) {
	req.Verb = verb
	cluster := ""
	var names []string
	for i := 0; i < len(words); i++ {
		option, isOption := strings.CutPrefix(words[i], "--")
		if !isOption {
			names = append(names, words[i])
			continue
		}
		given = true
		name, value, has := strings.Cut(option, "=")
		if !has && takesValue(name) {
			if i++; i >= len(words) {
				return req, given, fmt.Errorf("--%s: %w", name, errValue)
			}
			value = words[i]
		}
		if name == "cluster" {
			cluster = value
			continue
		}
		if err = setOption(&req.Options, name, value); err != nil {
			return req, given, fmt.Errorf("--%s: %w", name, err)
		}
	}
	req.Targets, err = m.named(verb, cluster, names)
	return req, given, err
}

func takesValue(name string) bool { return name != "now" && name != "hold" }

func setOption(o *actions.Options, name, value string) (err error) {
	switch name {
	case "reason":
		o.Reason = value
	case "ticket":
		o.Ticket = value
	case "now":
		o.Now = true
	case "hold":
		o.Hold = true
	case "signal":
		o.Signal = value
	case "for":
		o.For = value
	case "time-limit":
		o.TimeLimit = value
	case "partition":
		o.Partition = value
	case "grace":
		o.Grace, err = time.ParseDuration(value)
	case "timeout":
		o.Timeout, err = time.ParseDuration(value)
	case "exclude":
		o.Exclude, err = fleet.ExpandHosts(value, fleet.MaxHosts)
	case "priority":
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		o.Priority = &n
	default:
		return errFlag
	}
	return err
}

// named finds the targets that names stand for. A name that is not in the fleet is
// an error: nothing is done to the rest either.
func (m *Model) named(verb actions.Verb, cluster string, names []string) ([]actions.Target, error) {
	var all []actions.Target
	for _, name := range names {
		found, err := m.find(verb, cluster, name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (m *Model) find(verb actions.Verb, cluster, name string) ([]actions.Target, error) {
	if kindOf(verb) == fleet.KindNode {
		return m.findNodes(cluster, name)
	}
	var found []actions.Target
	for _, j := range m.snap.FindJobs(cluster, name) {
		found = append(found, actions.Target{Kind: fleet.KindJob, Cluster: j.Key.Cluster, Name: j.ID, Job: j.Key})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("job %q %w", name, errName)
	}
	return found, nil
}

// findNodes takes a name or a host list.
func (m *Model) findNodes(cluster, list string) ([]actions.Target, error) {
	hosts, err := fleet.ExpandHosts(list, fleet.MaxHosts)
	if err != nil {
		return nil, err
	}
	var found []actions.Target
	for _, host := range hosts {
		n := m.snap.Node(host)
		if n == nil {
			return nil, fmt.Errorf("node %q %w", host, errName)
		}
		for i := range n.Views {
			if v := &n.Views[i]; cluster == "" || v.Cluster == cluster {
				found = append(found, actions.Target{Kind: fleet.KindNode, Cluster: v.Cluster, Name: n.Name})
			}
		}
	}
	return found, nil
}
