package slurm

import (
	"encoding/json"
	"io"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// decodeDetails reads an answer with "jobs" in full: what each job holds where,
// and its own JSON.
func decodeDetails(r io.Reader) ([]JobDetail, answer, error) {
	var out []JobDetail
	a, err := decodeAnswer(r, "jobs", func(raw json.RawMessage) {
		rec := newRecord(raw)
		d := JobDetail{Job: jobOf(rec), Command: rec.text("command")}
		d.Alloc = allocsOf(rec, d.Nodes)
		d.Raw = string(raw)
		out = append(out, d)
	})
	if err != nil {
		return nil, a, err
	}
	return out, a, nil
}

// decodeNodeDetails reads an answer with "nodes" and keeps the JSON of each.
func decodeNodeDetails(r io.Reader) ([]fleet.View, answer, error) {
	var out []fleet.View
	a, err := decodeAnswer(r, "nodes", func(raw json.RawMessage) {
		v := nodeOf(newRecord(raw))
		v.Raw = string(raw)
		out = append(out, v)
	})
	if err != nil {
		return nil, a, err
	}
	return out, a, nil
}

// allocsOf reads what a job holds on each of its nodes. gres_detail has one text a
// node, in the order of the nodes.
func allocsOf(r record, nodes []string) []NodeAlloc {
	res := r.at("job_resources")
	list := res.list("allocated_nodes")
	if list == nil {
		list = res.at("nodes").list("allocation")
	}
	detail := r.words("gres_detail")
	told := len(detail) == len(list) && len(nodes) == len(list)
	var out []NodeAlloc
	for i, n := range list {
		a := NodeAlloc{Node: n.text("nodename", "name")}
		if told {
			a.GRES, _ = parseGRES(detail[i])
		}
		out = append(out, a)
	}
	return out
}
