package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Nodes is the page of all hosts.
func Nodes(th *theme.Theme, m *words.Moment) Page {
	l := &list[*fleet.Node]{name: "Nodes", moment: m, fields: fleet.NodeFields()}
	l.rows = func(s *fleet.Snapshot) []*fleet.Node { return s.Nodes }
	l.item = nodeItem
	l.key = func(it Item) string { return it.Subject.Name }
	l.match = func(q fleet.Query, s *fleet.Snapshot, now time.Time) func(*fleet.Node) bool {
		row := &fleet.NodeRow{Snap: s, Now: now}
		return func(n *fleet.Node) bool {
			row.Node = n
			return q.Match(row)
		}
	}
	l.Table = table.New(th, nodeColumns(l, th), func(n *fleet.Node) string { return n.Name })
	return l
}

// nodeItem is a node as a target: on the scheduler whose word is worst.
func nodeItem(n *fleet.Node) Item {
	it := Item{Subject: fleet.Subject{Kind: fleet.KindNode, Name: n.Name}}
	if v := worstView(n); v != nil {
		it.Subject.Cluster = v.Cluster
	}
	return it
}

func worstView(n *fleet.Node) *fleet.View {
	var worst *fleet.View
	for i := range n.Views {
		if v := &n.Views[i]; worst == nil || v.Condition() < worst.Condition() {
			worst = v
		}
	}
	return worst
}

// first is the view that has the say on what only one can tell.
func first(n *fleet.Node) fleet.View {
	if len(n.Views) == 0 {
		return fleet.View{Load: math.NaN()}
	}
	return n.Views[0]
}

func nodeColumns(l *list[*fleet.Node], th *theme.Theme) []table.Column[*fleet.Node] {
	text := func(get func(*fleet.Node) string) func(*fleet.Node) table.Cell {
		return func(n *fleet.Node) table.Cell { return l.nodeCell(n, theme.Text, get(n)) }
	}
	dim := func(get func(*fleet.Node) string) func(*fleet.Node) table.Cell {
		return func(n *fleet.Node) table.Cell { return l.nodeCell(n, theme.Dim, get(n)) }
	}
	return []table.Column[*fleet.Node]{
		{ID: "name", Title: "NAME", Min: 8, Cell: text(nodeName), Compare: byNodeName},
		{ID: "state", Title: "STATE", NeverCut: true, Priority: 1, Cell: l.stateCell(th), Compare: byCondition},
		{ID: "gpus", Title: "GPUS", Align: table.Right, Priority: 1, Cell: text(usedGPUs), Compare: nodeNumber(func(n *fleet.Node) int { return n.GPUCount().Allocated })},
		{ID: "free", Title: "FREE", Align: table.Right, Priority: 2, Cell: text(freeGPUs), Compare: nodeNumber((*fleet.Node).Usable)},
		{ID: "model", Title: "MODEL", Priority: 5, Cell: text(model), Compare: nodeText(model)},
		{ID: "jobs", Title: "JOBS", Align: table.Right, Priority: 4, Cell: text(func(n *fleet.Node) string { return fmt.Sprint(len(l.snap.JobsOn(n.Name))) }), Compare: nodeNumber(func(n *fleet.Node) int { return len(l.snap.JobsOn(n.Name)) })},
		{ID: "users", Title: "USERS", Min: 6, Max: 16, Priority: 4, Cell: text(l.usersHere)},
		{ID: "reason", Title: "REASON", Min: 16, Max: 60, Priority: 2, Cell: l.reasonCell, Compare: nodeText(func(n *fleet.Node) string { return Reason(n).Text })},
		{ID: "by", Title: "BY", Min: 6, Max: 12, Priority: 5, Cell: dim(func(n *fleet.Node) string { return Reason(n).Author }), Compare: nodeText(func(n *fleet.Node) string { return Reason(n).Author })},
		{ID: "age", Title: "AGE", Align: table.Right, Priority: 3, Cell: dim(l.reasonAge), Compare: func(a, b *fleet.Node) int { return earlier(Reason(a).At, Reason(b).At) }},
		{ID: "queues", Title: "PARTITIONS", Min: 10, Max: 24, Priority: 6, Cell: dim(func(n *fleet.Node) string { return words.Queues(first(n).Queues) })},
		{ID: "cpu", Title: "CPU", Align: table.Right, Priority: 7, Cell: dim(cpu), Compare: nodeNumber(func(n *fleet.Node) int { return first(n).CPUs.Allocated })},
		{ID: "mem", Title: "MEM", Align: table.Right, Priority: 7, Cell: dim(mem), Compare: nodeNumber(func(n *fleet.Node) int { return int(first(n).Memory.Allocated) })},
		{ID: "load", Title: "LOAD", Align: table.Right, Priority: 8, Cell: dim(loadText), Compare: func(a, b *fleet.Node) int { return cmp.Compare(first(a).Load, first(b).Load) }},
		{ID: "cluster", Title: "CLUSTER", Min: 8, Max: 20, Priority: 6, Cell: dim(clusters), Compare: nodeText(clusters)},
		{ID: "version", Title: "VERSION", Priority: 9, Cell: dim(func(n *fleet.Node) string { return first(n).Version }), Compare: nodeText(func(n *fleet.Node) string { return first(n).Version })},
		{ID: "resv", Title: "RESERVED", Min: 10, Max: 20, Priority: 9, Cell: dim(func(n *fleet.Node) string { return first(n).Resv }), Compare: nodeText(func(n *fleet.Node) string { return first(n).Resv })},
	}
}

// nodeCell greys a cell when every scheduler of the node is out of reach.
func (l *list[T]) nodeCell(n *fleet.Node, t theme.Name, text string) table.Cell {
	for i := range n.Views {
		if !l.stale[n.Views[i].Cluster] {
			return table.Cell{Text: text, Style: t}
		}
	}
	return table.Cell{Text: text, Style: theme.Stale}
}

func (l *list[T]) stateCell(th *theme.Theme) func(*fleet.Node) table.Cell {
	return func(n *fleet.Node) table.Cell {
		cell := l.nodeCell(n, tone.Condition(n.Condition()), words.NodeState(n))
		cell.Text = th.Glyphs.Of(cell.Style) + " " + cell.Text
		if n.Disagree != "" {
			cell.Text += " " + th.Glyphs.Warn + " disagree"
		}
		return cell
	}
}

func (l *list[T]) reasonCell(n *fleet.Node) table.Cell {
	return l.nodeCell(n, theme.Text, Reason(n).Text)
}

func (l *list[T]) reasonAge(n *fleet.Node) string {
	if at := Reason(n).At; !at.IsZero() {
		return words.Coarse(l.moment.Now, at)
	}
	return ""
}

// usersHere names whose jobs are on the node.
func (l *list[T]) usersHere(n *fleet.Node) string {
	var users []string
	for _, j := range l.snap.JobsOn(n.Name) {
		if !slices.Contains(users, j.User) {
			users = append(users, j.User)
		}
	}
	return strings.Join(users, ",")
}

func nodeName(n *fleet.Node) string { return n.Name }

func usedGPUs(n *fleet.Node) string {
	g := n.GPUCount()
	if g.Total == 0 {
		return words.None
	}
	return fmt.Sprintf("%d/%d", g.Allocated, g.Total)
}

func freeGPUs(n *fleet.Node) string {
	if n.GPUCount().Total == 0 {
		return words.None
	}
	return fmt.Sprint(n.Usable())
}

func model(n *fleet.Node) string { return words.Or(n.GPUCount().Model) }

func clusters(n *fleet.Node) string {
	names := make([]string, 0, len(n.Views))
	for i := range n.Views {
		names = append(names, n.Views[i].Cluster)
	}
	return strings.Join(names, ",")
}

func cpu(n *fleet.Node) string {
	v := first(n)
	return fmt.Sprintf("%d/%d", v.CPUs.Allocated, v.CPUs.Total)
}

func mem(n *fleet.Node) string {
	v := first(n)
	return words.MiB(v.Memory.Allocated) + "/" + words.MiB(v.Memory.Total)
}

func loadText(n *fleet.Node) string {
	if l := first(n).Load; !math.IsNaN(l) {
		return fmt.Sprintf("%.1f", l)
	}
	return words.None
}

func byNodeName(a, b *fleet.Node) int { return fleet.CompareNatural(a.Name, b.Name) }

// byCondition puts the worst first, and equal words together.
func byCondition(a, b *fleet.Node) int {
	return cmp.Or(cmp.Compare(a.Condition(), b.Condition()), cmp.Compare(words.NodeState(a), words.NodeState(b)))
}

func nodeNumber(get func(*fleet.Node) int) func(a, b *fleet.Node) int {
	return func(a, b *fleet.Node) int { return cmp.Compare(get(a), get(b)) }
}

func nodeText(get func(*fleet.Node) string) func(a, b *fleet.Node) int {
	return func(a, b *fleet.Node) int { return cmp.Compare(get(a), get(b)) }
}
