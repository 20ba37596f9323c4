package page

import (
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/table"
	"github.com/gpuctl/gpuctl/internal/tui/theme"
	"github.com/gpuctl/gpuctl/internal/tui/words"
)

// Item is what a row is about: the thing that the detail pane shows and that
// actions go to.
type Item struct {
	Subject fleet.Subject
	Job     fleet.JobKey   // of a job
	Node    string         // of a GPU
	Finding *fleet.Finding // of a finding
	Event   *fleet.Event   // of a line of the timeline
}

// Page is one list of the console, whatever its rows are.
type Page interface {
	// Name is the page's title and its key in preferences.
	Name() string
	// Load takes the rows from a snapshot. The page keeps reading Now and Zone of
	// its moment, which the console sets.
	Load(s *fleet.Snapshot)
	// Filter narrows the rows down. A text that is no filter is taken literally, and
	// the error says why; when no row shows it either, all rows stay, for a slip of
	// the keyboard must not look like an empty fleet.
	Filter(text string) error
	// Understands says what is wrong with a filter; nil: nothing.
	Understands(text string) error
	// Filtered tells whether a filter is at work.
	Filtered() bool
	// Fields lists what a filter of this page may name.
	Fields() []fleet.Field
	// Count is the number of rows shown and of rows there are.
	Count() (shown, all int)
	// Selected is the row under the cursor; false when there is none.
	Selected() (Item, bool)
	// Targets are the marked rows, or else the one under the cursor.
	Targets() []Item
	// Select puts the cursor on what an item is about; false when it is not here.
	Select(Item) bool

	View(width, height int) string
	SetEmpty(text string)
	Move(n int)
	Page(n int)
	Top()
	Bottom()
	Scroll(n int)
	SelectLine(y int) bool
	ToggleMark()
	MarkAll()
	UnmarkAll()
	HasMarks() bool
	Position() string
	Choices() []table.Choice
	Hide(ids []string)
	Hidden() []string
	SetSort(spec string) bool
	Sort() string
	Reverse()
}

// list is a Page of rows of one type.
type list[T any] struct {
	*table.Table[T]
	name   string
	moment *words.Moment
	fields []fleet.Field
	// rows takes the rows of a snapshot, in their natural order.
	rows func(s *fleet.Snapshot) []T
	item func(T) Item
	key  func(Item) string
	// match says whether a row passes a filter.
	match func(q fleet.Query, s *fleet.Snapshot, now time.Time) func(T) bool

	snap  *fleet.Snapshot
	all   []T
	query fleet.Query
	stale map[string]bool // clusters whose data are old
}

func (l *list[T]) Name() string          { return l.name }
func (l *list[T]) Fields() []fleet.Field { return l.fields }

func (l *list[T]) Load(s *fleet.Snapshot) {
	l.snap = s
	l.stale = staleClusters(s)
	l.all = l.rows(s)
	l.apply()
}

func (l *list[T]) Filter(text string) error {
	q, err := l.parse(text)
	if err != nil {
		q = fleet.LiteralQuery(text)
	}
	l.query = q
	l.apply()
	if err != nil && l.Len() == 0 {
		l.query = fleet.Query{}
		l.apply()
	}
	return err
}

func (l *list[T]) parse(text string) (fleet.Query, error) {
	q, err := fleet.ParseQuery(text)
	if err == nil {
		err = q.Check(l.fields)
	}
	return q, err
}

func (l *list[T]) Understands(text string) error {
	_, err := l.parse(text)
	return err
}

func (l *list[T]) Filtered() bool { return !l.query.Empty() }

// apply shows the rows that pass the filter.
func (l *list[T]) apply() {
	if l.query.Empty() || l.snap == nil {
		l.SetRows(l.all)
		return
	}
	pass := l.match(l.query, l.snap, l.moment.Now)
	shown := make([]T, 0, len(l.all))
	for _, r := range l.all {
		if pass(r) {
			shown = append(shown, r)
		}
	}
	l.SetRows(shown)
}

func (l *list[T]) Count() (shown, all int) { return l.Len(), len(l.all) }

func (l *list[T]) Selected() (Item, bool) {
	r, ok := l.Table.Selected()
	if !ok {
		return Item{}, false
	}
	return l.item(r), true
}

func (l *list[T]) Targets() []Item {
	rows := l.Table.Targets()
	items := make([]Item, 0, len(rows))
	for _, r := range rows {
		items = append(items, l.item(r))
	}
	return items
}

func (l *list[T]) Select(it Item) bool { return l.SelectKey(l.key(it)) }

// staleClusters lists the clusters whose data may not be believed now.
func staleClusters(s *fleet.Snapshot) map[string]bool {
	stale := map[string]bool{}
	for i := range s.Sources {
		if src := &s.Sources[i]; !src.Usable() {
			stale[src.Cluster] = true
		}
	}
	return stale
}

// aged is the tone, or Stale when the data of the row's cluster are old.
func (l *list[T]) aged(cluster string, tone theme.Name) theme.Name {
	if l.stale[cluster] {
		return theme.Stale
	}
	return tone
}

func jobItem(j *fleet.Job) Item {
	return Item{Subject: fleet.Subject{Kind: fleet.KindJob, Cluster: j.Key.Cluster, Name: j.ID}, Job: j.Key}
}

func jobKey(k fleet.JobKey) string {
	return k.Cluster + "/" + k.ID + "/" + strconv.FormatInt(k.Submit, 10)
}

// keyOfJobItem is the row key of the job an item is about.
func keyOfJobItem(it Item) string { return jobKey(it.Job) }
