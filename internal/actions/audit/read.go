package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
)

// Filter picks records; its empty fields pick all.
type Filter struct {
	Cluster string
	Target  string
	User    string
	Verb    actions.Verb
}

func (f Filter) match(r *Record) bool {
	return (f.Cluster == "" || slices.Contains(strings.Split(r.Cluster, "+"), f.Cluster)) &&
		(f.Target == "" || r.Target.Name == f.Target || slices.Contains(r.Targets, f.Target)) &&
		(f.User == "" || r.Who.User == f.User || r.Who.Sudo == f.User) &&
		(f.Verb == "" || r.Verb == f.Verb)
}

// Read returns the records since then that the filter picks, oldest first, and how
// many lines could not be understood. A log that does not exist yet is empty.
func (l *Log) Read(since time.Time, filter Filter) (records []Record, notUnderstood int, err error) {
	paths, err := filepath.Glob(filepath.Join(l.dir, filePrefix+"*"+fileSuffix))
	if err != nil {
		return nil, 0, fmt.Errorf("audit log in %s: %w", l.dir, err)
	}
	oldest := filePrefix + since.UTC().Format(monthForm) + fileSuffix
	for _, path := range paths {
		if !since.IsZero() && filepath.Base(path) < oldest {
			continue
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("audit log in %s: %w", l.dir, err)
		}
		all, bad := parse(data)
		notUnderstood += bad
		for i := range all {
			if !all[i].At.Before(since) && filter.match(&all[i]) {
				records = append(records, all[i])
			}
		}
	}
	// Several gpuctl write side by side, each with the time it had before the lock.
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	return records, notUnderstood, nil
}

// parse reads JSON lines; what is no record is counted.
func parse(data []byte) (records []Record, bad int) {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil || r.At.IsZero() || r.Phase == "" {
			bad++
			continue
		}
		records = append(records, r)
	}
	return records, bad
}

// Touched implements actions.Auditor. What was refused took no node away.
func (l *Log) Touched(cluster string, since time.Time) ([]string, error) {
	records, _, err := l.Read(since, Filter{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	type stepKey struct {
		plan string
		step int
	}
	refused := map[stepKey]bool{}
	for _, r := range records {
		if r.Phase == actions.PhaseAfter && r.Result == actions.Refused {
			refused[stepKey{r.Plan, r.Step}] = true
		}
	}
	var nodes []string
	for _, r := range records {
		if r.Phase == actions.PhaseBefore && r.Verb.TakesNodesAway() && !refused[stepKey{r.Plan, r.Step}] && !slices.Contains(nodes, r.Target.Name) {
			nodes = append(nodes, r.Target.Name)
		}
	}
	return nodes, nil
}
