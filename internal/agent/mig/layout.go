package mig

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

const (
	// maxLayoutText and maxItems bound what is read; no board has that many slices.
	maxLayoutText = 1024
	maxItems      = 32
)

// Layout is what a device shall be.
type Layout struct {
	Mode  fleet.MIGMode // MIGEnabled or MIGDisabled
	Items []Item        // of an enabled device; none: enabled and empty
}

// Item is one wanted instance.
type Item struct {
	Profile string // "3g.40gb", "1g.10gb+me"
	Start   int    // in memory slices; Anywhere when the choice is free
}

// Anywhere is the Start of an Item whose place is chosen by the plan.
const Anywhere = -1

// ParseLayout reads a layout: profiles with counts ("3g.40gb,2g.20gb,1g.10gb:2"),
// with explicit placements in memory slices ("3g.40gb@0"), "off" for MIG disabled, or
// "on" for MIG enabled and empty. What it refuses is an ErrLayout.
func ParseLayout(text string) (Layout, error) {
	if len(text) > maxLayoutText {
		return Layout{}, fmt.Errorf("%w: longer than %d characters", ErrLayout, maxLayoutText)
	}
	text = strings.ToLower(strings.TrimSpace(text))
	switch text {
	case "":
		return Layout{}, fmt.Errorf("%w: it is empty; say off for MIG disabled, on for MIG enabled without instances", ErrLayout)
	case "off":
		return Layout{Mode: fleet.MIGDisabled}, nil
	case "on":
		return Layout{Mode: fleet.MIGEnabled}, nil
	}
	l := Layout{Mode: fleet.MIGEnabled}
	for part := range strings.SplitSeq(text, ",") {
		items, err := parseItem(strings.TrimSpace(part))
		if err != nil {
			return Layout{}, err
		}
		if l.Items = append(l.Items, items...); len(l.Items) > maxItems {
			return Layout{}, fmt.Errorf("%w: more than %d instances", ErrLayout, maxItems)
		}
	}
	return l, nil
}

// parseItem reads "PROFILE", "PROFILE:COUNT" or "PROFILE@START".
func parseItem(text string) ([]Item, error) {
	name, count, counted := strings.Cut(text, ":")
	name, at, placed := strings.Cut(name, "@")
	if _, err := parseName(name); err != nil {
		return nil, err
	}
	item := Item{Profile: name, Start: Anywhere}
	switch {
	case placed && counted:
		return nil, fmt.Errorf("%w: %q has a place and a count; name each place", ErrLayout, text)
	case placed:
		start, err := smallNumber(at)
		if err != nil {
			return nil, fmt.Errorf("%w: place of %q: %w", ErrLayout, text, err)
		}
		item.Start = start
	case counted:
		n, err := smallNumber(count)
		if err != nil || n == 0 || n > maxItems {
			return nil, fmt.Errorf("%w: count of %q: a number from 1 to %d is meant", ErrLayout, text, maxItems)
		}
		return repeat(item, n), nil
	}
	return []Item{item}, nil
}

func repeat(item Item, n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = item
	}
	return items
}

// smallNumber reads one to three digits, nothing else.
func smallNumber(s string) (int, error) {
	if s == "" || len(s) > 3 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of at most three digits", s)
	}
	return strconv.Atoi(s)
}

// String is the layout as ParseLayout reads it.
func (l Layout) String() string {
	if l.Mode == fleet.MIGDisabled {
		return "off"
	}
	if len(l.Items) == 0 {
		return "on"
	}
	var parts []string
	for i := 0; i < len(l.Items); {
		item, n := l.Items[i], 1
		for item.Start == Anywhere && i+n < len(l.Items) && l.Items[i+n] == item {
			n++
		}
		parts = append(parts, item.text(n))
		i += n
	}
	return strings.Join(parts, ",")
}

func (i Item) text(n int) string {
	switch {
	case i.Start != Anywhere:
		return fmt.Sprintf("%s@%d", i.Profile, i.Start)
	case n > 1:
		return fmt.Sprintf("%s:%d", i.Profile, n)
	}
	return i.Profile
}

// LayoutOf is the layout that a device has, with the place of every instance.
func LayoutOf(s fleet.MIGState) Layout {
	if s.Current != fleet.MIGEnabled {
		return Layout{Mode: fleet.MIGDisabled}
	}
	l := Layout{Mode: fleet.MIGEnabled}
	for _, i := range byStart(s.Instances) {
		l.Items = append(l.Items, Item{Profile: i.Profile, Start: i.Start})
	}
	return l
}

// byStart returns the instances in the order of their places.
func byStart(list []fleet.MIGInstance) []fleet.MIGInstance {
	sorted := append([]fleet.MIGInstance(nil), list...)
	sort.SliceStable(sorted, func(a, b int) bool { return sorted[a].Start < sorted[b].Start })
	return sorted
}
