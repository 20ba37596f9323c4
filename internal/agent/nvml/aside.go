package nvml

import (
	"context"
	"maps"
	"slices"
	"time"
)

// aside is a device that hung: it is left alone but for a probe now and then.
type aside struct {
	call    string
	every   time.Duration
	next    time.Time
	probing bool
}

func (a *aside) why() string {
	return a.call + " has not returned; it is left alone and asked again now and then"
}

func (s *Supervised) skipped() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.aside))
}

// leaveAlone puts aside what is stuck for good, and has a child started that does not
// touch it. It reports whether there was anything.
func (s *Supervised) leaveAlone(c *child, devices []result, now time.Time) bool {
	if !s.stuckLocked(devices, now) {
		return false
	}
	s.changing = true
	s.probes.Go(func() { s.replace(c) })
	return true
}

// stuckLocked puts aside what is stuck for good, and says whether anything is. Where
// not one device answers, a lock in the driver may keep all of them waiting for one:
// the one whose call is oldest.
func (s *Supervised) stuckLocked(devices []result, now time.Time) bool {
	if s.changing || now.Before(s.notUntil) {
		return false
	}
	var culprits []*result
	answered := 0
	for i := range devices {
		r := &devices[i]
		switch {
		case r.Stuck == nil:
			answered++
		case r.Stuck.Age >= patience(r.Stuck.Call, s.o.Deadline):
			culprits = append(culprits, r)
		}
	}
	if answered == 0 && len(culprits) > 1 {
		oldest := slices.MaxFunc(culprits, func(a, b *result) int { return int(a.Stuck.Age - b.Stuck.Age) })
		culprits = []*result{oldest}
	}
	for _, r := range culprits {
		s.aside[r.Index] = &aside{call: r.Stuck.Call, every: s.o.ProbeAfter, next: now.Add(s.o.ProbeAfter)}
	}
	return len(culprits) > 0
}

// dueLocked returns the devices to probe now.
func (s *Supervised) dueLocked(now time.Time) []int {
	var due []int
	for i, a := range s.aside {
		if !a.probing && !now.Before(a.next) {
			a.probing = true
			due = append(due, i)
		}
	}
	return due
}

// replace starts a child that leaves alone what was put aside, and exchanges the two
// when it answers: until then the old one reads the others.
func (s *Supervised) replace(old *child) {
	c := s.prober()
	lives := c != nil && s.answersAtAll(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changing = false
	s.pauseLocked()
	switch {
	case c == nil: // the driver was let go of, or no process can be started
	case !lives || s.child != old:
		c.kill()
	default:
		old.kill()
		s.child = c
		s.leaving = append(slices.DeleteFunc(s.leaving, func(l *child) bool { return l == c || l.dead() }), old)
		s.subscribe(c)
	}
}

// answersAtAll waits until a new child has taken its first sample. What that says is
// judged when it is the child.
func (s *Supervised) answersAtAll(c *child) bool {
	ctx, cancel := context.WithTimeout(s.life, s.longest())
	defer cancel()
	_, err := c.ask(ctx, request{Op: opSample, Skip: s.skipped(), Only: -1})
	return err == nil
}

// probe asks one device, in a process of its own, so that it harms no other.
func (s *Supervised) probe(index int) {
	answers := s.answers(index)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.aside[index]
	switch {
	case a == nil: // the devices were counted anew
	case answers:
		delete(s.aside, index)
	default:
		a.probing = false
		a.every = min(2*a.every, longestProbe)
		a.next = time.Now().Add(a.every)
	}
}

func (s *Supervised) answers(index int) bool {
	ctx, cancel := context.WithTimeout(s.life, s.longest())
	defer cancel()
	c := s.prober()
	if c == nil {
		return false
	}
	r, err := c.ask(ctx, request{Op: opSample, Only: index})
	c.kill()
	return err == nil && r.Stuck == nil && len(r.Devices) == 1 && r.Devices[0].Stuck == nil
}

// prober starts a process for a probe, but not once the driver was let go of.
func (s *Supervised) prober() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return nil
	}
	c, err := startChild(s.life, &s.o, s.events.tell)
	if err != nil {
		return nil
	}
	s.leaving = append(slices.DeleteFunc(s.leaving, (*child).dead), c)
	return c
}
