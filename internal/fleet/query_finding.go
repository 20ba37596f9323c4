package fleet

import "time"

// FindingRow is a Finding as a Query sees it. One FindingRow may be used for many
// findings, one after the other.
type FindingRow struct {
	*Finding
	Now time.Time
}

// FindingFields lists the fields of a FindingRow.
func FindingFields() []Field { return fieldsOf(findingColumns) }

// Field implements Row.
func (r *FindingRow) Field(name string) (Value, bool) { return lookUp(findingColumns, name, r) }

var findingColumns = []column[*FindingRow]{
	{field(KindText, "rule and subject", "id"), func(r *FindingRow) Value { return TextValue(r.ID) }},
	{field(KindText, "rule", "rule"), func(r *FindingRow) Value { return TextValue(r.Rule) }},
	{field(KindState, "critical, warning or info", "severity"), func(r *FindingRow) Value { return StateValue(r.Severity.String(), nil, "") }},
	{field(KindText, "node, job, gpu, source or cluster", "kind"), func(r *FindingRow) Value { return TextValue(string(r.Subject.Kind)) }},
	{field(KindText, "what it is about", "name"), func(r *FindingRow) Value { return TextValue(r.Subject.Name) }},
	{field(KindText, "cluster", "cluster"), func(r *FindingRow) Value { return TextValue(r.Subject.Cluster) }},
	{field(KindText, "what is wrong", "title"), func(r *FindingRow) Value { return TextValue(r.Title) }},
	{field(KindNumber, "GPUs it costs", "gpus"), func(r *FindingRow) Value { return NumberValue(r.Blast.GPUs) }},
	{field(KindNumber, "jobs it costs", "jobs"), func(r *FindingRow) Value { return NumberValue(r.Blast.Jobs) }},
	{field(KindText, "users it costs", "user", "users"), func(r *FindingRow) Value { return TextsValue(r.Blast.Users) }},
	{field(KindDuration, "time since it began", "age"), func(r *FindingRow) Value { return AgeValue(r.Now, r.Since) }},
}

// Words implements Row: severity, subject, title, evidence and users.
func (r *FindingRow) Words(yield func(string) bool) {
	for _, s := range [...]string{r.Severity.String(), r.Subject.Name, r.Subject.Cluster, r.Title, r.Rule, r.Advice} {
		if !yield(s) {
			return
		}
	}
	for _, list := range [...][]string{r.Evidence, r.Blast.Users} {
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}
}

// EventRow is a line of the timeline as a Query sees it. One EventRow may be used
// for many events, one after the other.
type EventRow struct {
	*Event
	Now time.Time
}

// EventFields lists the fields of an EventRow.
func EventFields() []Field { return fieldsOf(eventColumns) }

// Field implements Row.
func (r *EventRow) Field(name string) (Value, bool) { return lookUp(eventColumns, name, r) }

var eventColumns = []column[*EventRow]{
	{field(KindText, "node, job, gpu, source or cluster", "kind"), func(r *EventRow) Value { return TextValue(string(r.Subject.Kind)) }},
	{field(KindText, "what it is about", "name"), func(r *EventRow) Value { return TextValue(r.Subject.Name) }},
	{field(KindText, "cluster", "cluster"), func(r *EventRow) Value { return TextValue(r.Subject.Cluster) }},
	{field(KindText, "source that reported it", "source"), func(r *EventRow) Value { return TextValue(r.Source) }},
	{field(KindText, "state, reason, started, ended, requeued, source, action", "what"), func(r *EventRow) Value { return TextValue(r.What) }},
	{field(KindText, "value before", "before"), func(r *EventRow) Value { return TextValue(r.Before) }},
	{field(KindText, "value after", "after"), func(r *EventRow) Value { return TextValue(r.After) }},
	{field(KindText, "who did it", "author", "user"), func(r *EventRow) Value { return TextValue(r.Author) }},
	{field(KindDuration, "time since", "age"), func(r *EventRow) Value { return AgeValue(r.Now, r.At) }},
}

// Words implements Row: subject, what, before, after and author.
func (r *EventRow) Words(yield func(string) bool) {
	for _, s := range [...]string{r.Subject.Name, r.Subject.Cluster, r.What, r.Before, r.After, r.Author, r.Source} {
		if !yield(s) {
			return
		}
	}
}
