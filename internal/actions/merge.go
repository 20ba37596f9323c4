package actions

import "reflect"

// merge adds the plan of one cluster, with its steps numbered on from ours.
func (p *Plan) merge(part *Plan) {
	p.mergeInverse(part)
	offset := len(p.Steps)
	for _, s := range part.Steps {
		s.N += offset
		needs := make([]int, len(s.Needs))
		for i, n := range s.Needs {
			needs[i] = n + offset
		}
		s.Needs = needs
		p.Steps = append(p.Steps, s)
	}
	p.Clusters = append(p.Clusters, part.Clusters...)
	p.Targets = append(p.Targets, part.Targets...)
	p.Impact.add(part.Impact)
	p.Warnings = addNew(p.Warnings, part.Warnings...)
	p.Blockers = addBlockers(p.Blockers, part.Blockers...)
	p.UndoneBy = addNew(p.UndoneBy, part.UndoneBy...)
	p.Timeout = max(p.Timeout, part.Timeout)
	if part.Guard != "" { // what its maker asks for at least
		p.Guard = stricter(p.Guard, part.Guard)
	}
}

// add sums the impact of another cluster.
func (i *Impact) add(more Impact) {
	i.Nodes += more.Nodes
	i.Jobs = append(i.Jobs, more.Jobs...)
	i.Users = addNew(i.Users, more.Users...)
	i.GPUs += more.GPUs
	i.GPUHours += more.GPUHours
	switch {
	case i.Note == "" || i.Note == more.Note:
		i.Note = more.Note
	case more.Note != "":
		i.Note += "; " + more.Note
	}
}

// mergeInverse keeps an inverse only if one request takes all of it back.
func (p *Plan) mergeInverse(part *Plan) {
	switch {
	case len(part.Steps) == 0:
	case len(p.Steps) == 0:
		p.Inverse = part.Inverse
	case p.Inverse == nil || part.Inverse == nil ||
		p.Inverse.Verb != part.Inverse.Verb || !reflect.DeepEqual(p.Inverse.Options, part.Inverse.Options):
		if p.Inverse != nil || part.Inverse != nil {
			p.Warnings = addNew(p.Warnings, "this cannot be undone in one go: the clusters need different ways back")
		}
		p.Inverse = nil
	default:
		both := *p.Inverse
		both.Targets = append(append([]Target(nil), both.Targets...), part.Inverse.Targets...)
		p.Inverse = &both
	}
}

// addBlockers appends the blockers that are not in the list yet.
func addBlockers(list []Blocker, more ...Blocker) []Blocker {
	for _, b := range more {
		known := false
		for _, have := range list {
			known = known || have == b
		}
		if !known {
			list = append(list, b)
		}
	}
	return list
}
