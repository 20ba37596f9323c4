package triage

import (
	"fmt"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// sourceTrouble finds sources that cannot be believed now. A source that is down
// costs everything it would tell of: nobody sees it.
func sourceTrouble(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for i := range s.Sources {
		src := &s.Sources[i]
		var f fleet.Finding
		switch src.Status {
		case fleet.SourceDown:
			f = finding(RuleSourceDown, fleet.Critical, fleet.KindSource, src.Cluster, src.Name)
			f.Title = src.Name + " does not answer: everything shown of it is old"
			f.Advice = "gpuctl doctor tells what is wrong with the connection; actions on it are off until it answers"
			f.Blast = clusterBlast(s, src.Cluster)
		case fleet.SourceStale:
			f = finding(RuleSourceStale, fleet.Warning, fleet.KindSource, src.Cluster, src.Name)
			f.Title = src.Name + " is late: what is shown of it may have changed"
			f.Advice = "it is tried again by itself; actions on it are off until it answers"
		default:
			continue
		}
		f.Since = src.ErrorSince
		if src.LastError != "" {
			f.Evidence = append(f.Evidence, src.LastError)
		}
		if !src.LastSuccess.IsZero() {
			f.Evidence = append(f.Evidence, "last answer at "+src.LastSuccess.UTC().Format("15:04:05Z"))
		}
		out = append(out, f)
	}
	return out
}

func clusterBlast(s *fleet.Snapshot, cluster string) fleet.Blast {
	var b fleet.Blast
	for _, n := range s.Nodes {
		if v := n.View(cluster); v != nil {
			b.GPUs += v.GPUs.Total
		}
	}
	for _, j := range s.Jobs {
		if j.Key.Cluster == cluster && j.Active() {
			b.Jobs++
		}
	}
	return b
}

// maxEvidence is how many records a finding quotes.
const maxEvidence = 5

// notUnderstood finds sources with records that could not be read in full.
func notUnderstood(s *fleet.Snapshot) []fleet.Finding {
	odd := map[string][]string{} // by cluster
	note := func(cluster, name string, oddities []string) {
		if len(oddities) > 0 && len(odd[cluster]) < maxEvidence {
			odd[cluster] = append(odd[cluster], name+": "+strings.Join(oddities, "; "))
		}
	}
	for _, n := range s.Nodes {
		for i := range n.Views {
			note(n.Views[i].Cluster, n.Name, n.Views[i].Oddities)
		}
	}
	for _, j := range s.Jobs {
		note(j.Key.Cluster, "job "+j.ID, j.Oddities)
	}
	var out []fleet.Finding
	for i := range s.Sources {
		src := &s.Sources[i]
		if src.NotUnder == 0 || src.Status == fleet.SourceDown {
			continue
		}
		f := finding(RuleNotUnderstood, fleet.Info, fleet.KindSource, src.Cluster, src.Name)
		f.Title = fmt.Sprintf("%d records of %s hold something not understood", src.NotUnder, src.Name)
		if src.NotUnder == 1 {
			f.Title = fmt.Sprintf("1 record of %s holds something not understood", src.Name)
		}
		f.Evidence = odd[src.Cluster]
		f.Advice = "they are shown as far as they go; please report them, with the version"
		if src.Version != "" {
			f.Advice += " " + src.Version
		}
		out = append(out, f)
	}
	return out
}

// disagreements finds hosts that one scheduler gives work to and another does not.
// While a source is down nobody can tell.
func disagreements(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, n := range s.Nodes {
		if n.Disagree == "" {
			continue
		}
		f := finding(RuleDisagree, fleet.Warning, fleet.KindNode, "", n.Name)
		f.Title = n.Name + ": " + n.Disagree
		known := true
		for i := range n.Views {
			v := &n.Views[i]
			known = known && !down(s, v.Cluster)
			f.Evidence = append(f.Evidence, v.Cluster+": "+stateOf(v))
			f.Since = laterTime(f.Since, v.Reason.At)
		}
		if !known {
			continue
		}
		f.Blast = blastOf(s.JobsOn(n.Name))
		f.Blast.GPUs = n.GPUCount().Total
		f.Advice = "drain it where it is open, or undrain it where it is not"
		f.Actions = []string{"drain", "undrain"}
		out = append(out, f)
	}
	return out
}
