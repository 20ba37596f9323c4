package slurm

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// notes collects what could not be understood while one record is read. Its
// methods parse a text and note what is wrong with it instead of failing.
type notes []string

func (n *notes) add(what ...string) { *n = append(*n, what...) }

func (n *notes) err(key string, err error) {
	if err != nil {
		n.add(key + ": " + err.Error())
	}
}

func (n *notes) time(key, text string) time.Time {
	t, err := parseTime(text)
	n.err(key, err)
	return t
}

func (n *notes) limit(key, text string) fleet.Limit {
	l, err := ParseLimit(text)
	n.err(key, err)
	return l
}

// number reads an integer; an empty text is 0. A range ("1-4", as scontrol prints
// the node count of a pending job) is its first bound, "2K" is 2048, and Slurm's own
// number for "no value" is 0.
func (n *notes) number(key, text string) int64 {
	if text == "" {
		return 0
	}
	first, _, _ := strings.Cut(text, "-")
	v, ok := parseCount(first)
	if !ok {
		n.add(key + ": number " + strconv.Quote(text) + " is not understood")
	}
	if v == noVal {
		return 0
	}
	return v
}

// noneAssigned is what accounting writes of a job that never had nodes.
const noneAssigned = "None assigned"

// hosts expands a host list.
func (n *notes) hosts(key, list string) []string {
	if clean(list) == "" || list == noneAssigned {
		return nil
	}
	names, err := fleet.ExpandHosts(list, fleet.MaxHosts)
	n.err(key, err)
	return names
}

func (n *notes) gres(text string) []fleet.GRES {
	list, odd := parseGRES(text)
	n.add(odd...)
	return list
}

func (n *notes) tres(text string) tres {
	t := parseTRES(text)
	n.add(t.Odd...)
	return t
}

// words splits a comma-separated list; Slurm's words for nothing give none.
func words(list string) []string {
	list = clean(strings.TrimSpace(list))
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
