package page

import (
	"cmp"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/tone"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// GPUs is the page of all devices, as far as schedulers and node agents know them.
func GPUs(th *theme.Theme, m *words.Moment) Page {
	l := &list[*fleet.GPU]{name: "GPUs", moment: m, fields: fleet.GPUFields()}
	l.rows = func(s *fleet.Snapshot) []*fleet.GPU {
		var rows []*fleet.GPU
		for _, n := range s.Nodes {
			for i := range n.GPUs {
				rows = append(rows, &n.GPUs[i])
			}
		}
		return rows
	}
	l.item = func(g *fleet.GPU) Item {
		return Item{Subject: fleet.Subject{Kind: fleet.KindGPU, Name: g.ID()}, Node: g.Node}
	}
	l.key = func(it Item) string { return it.Subject.Name }
	l.match = func(q fleet.Query, s *fleet.Snapshot, _ time.Time) func(*fleet.GPU) bool {
		row := &fleet.GPURow{}
		return func(g *fleet.GPU) bool {
			row.GPU, row.Host = g, s.Node(g.Node)
			return q.Match(row)
		}
	}
	l.Table = table.New(th, gpuColumns(gpuPage{l, th}), (*fleet.GPU).ID)
	return l
}

// gpuPage writes the cells of the page.
type gpuPage struct {
	*list[*fleet.GPU]
	th *theme.Theme
}

func gpuColumns(p gpuPage) []table.Column[*fleet.GPU] {
	text := func(get func(*fleet.GPU) string) func(*fleet.GPU) table.Cell {
		return func(g *fleet.GPU) table.Cell { return table.Cell{Text: get(g), Style: p.tone(g, theme.Text)} }
	}
	dim := func(get func(*fleet.GPU) string) func(*fleet.GPU) table.Cell {
		return func(g *fleet.GPU) table.Cell { return table.Cell{Text: get(g), Style: p.tone(g, theme.Dim)} }
	}
	return []table.Column[*fleet.GPU]{
		{ID: "gpu", Title: "GPU", Min: 8, Cell: text(words.GPUName), Compare: byPlace},
		{ID: "state", Title: "STATE", NeverCut: true, Priority: 1, Cell: p.stateCell, Compare: byState},
		{ID: "temp", Title: "TEMP", Align: table.Right, Priority: 2, Cell: p.tempCell, Compare: byReading(func(g *fleet.GPU) fleet.Reading { return g.Temp })},
		{ID: "power", Title: "POWER", Align: table.Right, Priority: 3, Cell: text(func(g *fleet.GPU) string { return words.Reading(g.Power, "W") }), Compare: byReading(func(g *fleet.GPU) fleet.Reading { return g.Power })},
		{ID: "util", Title: "UTIL", Align: table.Right, Priority: 2, Cell: text(words.Util), Compare: byReading(func(g *fleet.GPU) fleet.Reading { return g.Util })},
		{ID: "mem", Title: "MEM", Align: table.Right, Priority: 3, Cell: text(words.GPUMemory), Compare: byReading(func(g *fleet.GPU) fleet.Reading { return g.MemUsed })},
		{ID: "owner", Title: "OWNER", Min: 6, Max: 16, Priority: 1, Cell: p.ownerCell, Compare: p.byText(words.GPUOwner)},
		{ID: "user", Title: "USER", Min: 6, Max: 12, Priority: 2, Cell: text(func(g *fleet.GPU) string { return words.GPUUser(p.host(g), g) }), Compare: p.byText(words.GPUUser)},
		{ID: "faults", Title: "FAULTS", Min: 8, Max: 32, Priority: 1, Cell: p.faultCell, Compare: p.byText(func(_ *fleet.Node, g *fleet.GPU) string { return words.Faults(g) })},
		{ID: "mig", Title: "MIG", Min: 8, Max: 32, Priority: 5, Cell: dim(func(g *fleet.GPU) string { return words.MIG(g.MIG) }), Compare: p.byText(func(_ *fleet.Node, g *fleet.GPU) string { return words.MIG(g.MIG) })},
		{ID: "model", Title: "MODEL", Max: 24, Priority: 6, Cell: dim(func(g *fleet.GPU) string { return words.Or(g.Model) }), Compare: p.byText(func(_ *fleet.Node, g *fleet.GPU) string { return g.Model })},
		{ID: "uuid", Title: "UUID", Priority: 7, Cell: dim(func(g *fleet.GPU) string { return words.ShortUUID(g.UUID) })},
		{ID: "pci", Title: "PCI", Priority: 8, Cell: dim(func(g *fleet.GPU) string { return words.Or(g.PCI) })},
		{ID: "clock", Title: "CLOCK", Align: table.Right, Priority: 9, Cell: dim(func(g *fleet.GPU) string { return words.Reading(g.SMClock, "MHz") }), Compare: byReading(func(g *fleet.GPU) fleet.Reading { return g.SMClock })},
	}
}

// host is the node of a device; a node that is gone has nothing to tell.
func (p gpuPage) host(g *fleet.GPU) *fleet.Node {
	if n := p.snap.Node(g.Node); n != nil {
		return n
	}
	return &fleet.Node{Name: g.Node}
}

// tone greys what is no longer so: of a device that does not answer, or whose agent is
// not reached.
func (p gpuPage) tone(g *fleet.GPU, t theme.Name) theme.Name {
	if a := p.host(g).Agent; g.Silent() || a != nil && a.Gone != "" {
		return theme.Stale
	}
	return t
}

func (p gpuPage) stateCell(g *fleet.GPU) table.Cell {
	t := tone.GPU(g)
	if !g.Silent() {
		return table.Cell{Text: p.th.Glyphs.Of(t) + " " + words.GPUState(g), Style: p.tone(g, t)}
	}
	return table.Cell{Text: p.th.Glyphs.Of(t) + " " + words.GPUState(g), Style: t}
}

func (p gpuPage) tempCell(g *fleet.GPU) table.Cell {
	return table.Cell{Text: words.Reading(g.Temp, "C"), Style: p.tone(g, tone.Temp(g))}
}

func (p gpuPage) ownerCell(g *fleet.GPU) table.Cell {
	n := p.host(g)
	return table.Cell{Text: words.GPUOwner(n, g), Style: p.tone(g, tone.Use(n.UseOf(g)))}
}

func (p gpuPage) faultCell(g *fleet.GPU) table.Cell {
	return table.Cell{Text: words.Faults(g), Style: theme.Crit}
}

func byPlace(a, b *fleet.GPU) int {
	return cmp.Or(fleet.CompareNatural(a.Node, b.Node), cmp.Compare(a.Index, b.Index))
}

// byState puts what does not answer first, and what nobody watches last.
func byState(a, b *fleet.GPU) int { return cmp.Compare(stateRank(a), stateRank(b)) }

func stateRank(g *fleet.GPU) int {
	switch g.Health.State {
	case fleet.GPULost:
		return 0
	case fleet.GPUMissing:
		return 1
	case fleet.GPUHanging:
		return 2
	case fleet.GPUAnswers:
		return 3
	case fleet.GPUUnwatched:
	}
	return 4
}

// byReading puts what has no value before any that has.
func byReading(get func(*fleet.GPU) fleet.Reading) func(a, b *fleet.GPU) int {
	number := func(g *fleet.GPU) float64 {
		if r := get(g); r.Quality == fleet.Known {
			return r.Value
		}
		return -1
	}
	return func(a, b *fleet.GPU) int { return cmp.Compare(number(a), number(b)) }
}

func (p gpuPage) byText(get func(*fleet.Node, *fleet.GPU) string) func(a, b *fleet.GPU) int {
	return func(a, b *fleet.GPU) int { return fleet.CompareNatural(get(p.host(a), a), get(p.host(b), b)) }
}
