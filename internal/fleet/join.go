package fleet

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// join makes Nodes of what the sources say of hosts. A node that did not change
// keeps its pointer.
type join struct {
	hosts map[string]string // StoreOptions.Hosts
	prev  map[string]*joined
	jobs  map[rawJob]*Job      // that hold something now; made while agents report
	at    map[reportKey]string // node names of the reports
}

// joined is a node with what it was made of.
type joined struct {
	node    *Node
	views   []*View
	holders []holder    // one for each view
	sources []reportKey // whose reports are of this host
	report  *HostReport // the best of them; nil without an agent
	index   int         // in Snapshot.Nodes
}

// holder is who holds the allocated GPUs of a view, as far as jobs tell.
type holder struct {
	jobs  int   // that hold GPUs here
	owner Owner // of the first of them
}

// nodes joins the views and reports of all feeds, in natural order of host names.
func (j *join) nodes(feeds []*feed) []*Node {
	holders := holdersOf(feeds)
	hosts := map[string]*joined{}
	host := func(name string) *joined {
		if hosts[name] == nil {
			hosts[name] = &joined{}
		}
		return hosts[name]
	}
	names := make([]map[viewKey]string, len(feeds))
	for i, f := range feeds {
		names[i] = j.names(f)
	}
	j.place(feeds, names)
	for i, f := range feeds {
		for key, v := range f.views {
			h := host(names[i][key])
			h.views = append(h.views, v)
		}
		for name, r := range f.hosts {
			h := host(j.at[reportKey{f.source, name}])
			h.sources = append(h.sources, reportKey{f.source, name})
			if r.better(h.report) {
				h.report = r
			}
		}
	}
	out := make([]*Node, 0, len(hosts))
	for name, h := range hosts {
		j.finish(h, name, holders, j.prev[name])
		out = append(out, h.node)
	}
	slices.SortFunc(out, func(a, b *Node) int { return CompareNatural(a.Name, b.Name) })
	for i, n := range out {
		hosts[n.Name].index = i
	}
	j.prev = hosts
	return out
}

// finish makes the node, or takes the one before when nothing changed.
func (j *join) finish(h *joined, name string, holders map[viewKey]holder, prev *joined) {
	slices.SortFunc(h.views, func(a, b *View) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node))
	})
	h.holders = make([]holder, len(h.views))
	for i, v := range h.views {
		h.holders[i] = holders[keyOf(v)]
	}
	if prev != nil && slices.Equal(prev.views, h.views) && slices.Equal(prev.holders, h.holders) {
		h.node = j.updated(prev, h.report)
		return
	}
	n := &Node{Name: name, Views: make([]View, len(h.views))}
	for i, v := range h.views {
		n.Views[i] = *v
	}
	n.Disagree = disagreement(n.Views)
	j.equip(n, h.holders, h.report)
	h.node = n
}

// names gives every view of a feed its host name: what the options say, else the
// short name in lower case; the full one when two nodes of a cluster share the
// short one, and as it is written when they share that too.
func (j *join) names(f *feed) map[viewKey]string {
	names := make(map[viewKey]string, len(f.views))
	for key := range f.views {
		names[key] = j.hostName(key)
	}
	tellApart(names, strings.ToLower)
	tellApart(names, func(name string) string { return name })
	return names
}

// tellApart gives the nodes of a cluster that have the same name another.
func tellApart(names map[viewKey]string, other func(string) string) {
	uses := make(map[viewKey]int, len(names)) // by cluster and name
	for key, name := range names {
		uses[viewKey{key.cluster, name}]++
	}
	for key, name := range names {
		if uses[viewKey{key.cluster, name}] > 1 {
			names[key] = other(key.node)
		}
	}
}

func (j *join) hostName(key viewKey) string {
	if name, ok := j.hosts[key.cluster+"/"+key.node]; ok {
		return name
	}
	if name, ok := j.hosts[key.node]; ok {
		return name
	}
	name := strings.ToLower(key.node)
	if _, err := netip.ParseAddr(name); err == nil {
		return name // the first part of an address is no name
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// holdersOf counts the jobs that hold GPUs, by node.
func holdersOf(feeds []*feed) map[viewKey]holder {
	out := map[viewKey]holder{}
	for _, f := range feeds {
		for _, j := range f.sorted {
			if !j.Active() || j.GPUs.Held == 0 {
				continue
			}
			for _, n := range j.Nodes {
				key := viewKey{j.Key.Cluster, n}
				h := out[key]
				if h.jobs++; h.jobs == 1 {
					h.owner = Owner{Job: j.Key, Name: j.Name, User: j.User, Source: f.source}
				}
				out[key] = h
			}
		}
	}
	return out
}

// disagreement says in words that one scheduler gives work to a host which another
// keeps work from; empty when they agree.
func disagreement(views []View) string {
	var words []string
	open, shut := false, false
	for i := range views {
		v := &views[i]
		var word string
		switch v.Condition() {
		case CondFree, CondBusy:
			word, open = "open", true
		case CondDraining:
			word, shut = "draining", true
			if v.Drained() {
				word = "drained"
			}
		case CondFaulty:
			word, shut = strings.ToLower(stateWords(v)), true
		default:
			continue
		}
		words = append(words, word+" in "+v.Cluster)
	}
	if !open || !shut {
		return ""
	}
	return strings.Join(words, ", ")
}
