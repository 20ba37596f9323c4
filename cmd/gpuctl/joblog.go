package main

import (
	"context"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/tui"
)

// jobLog is the end of what a job wrote, read as the identity of the first way to
// the cluster that can read files.
func (s *session) jobLog(ctx context.Context, k fleet.JobKey) ([]tui.Section, error) {
	details, err := s.jobDetail(ctx, k.Cluster, k.ID)
	if err != nil {
		return nil, err
	}
	tailer := tailerOf(s.clients[k.Cluster])
	if tailer == nil {
		return nil, fmt.Errorf("job %s: slurmrestd reads no files; add ssh or local to the cluster's transports", k.ID)
	}
	var out []tui.Section
	for _, file := range outputs(details) {
		text, err := tailer.Tail(ctx, file)
		if err != nil {
			return nil, err
		}
		out = append(out, tui.Section{Title: file, Text: text})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("job %s: Slurm does not tell where it writes", k.ID)
	}
	return out, nil
}

func tailerOf(c *slurm.Client) slurm.Tailer {
	for _, t := range c.Transports() {
		if tailer, ok := t.(slurm.Tailer); ok {
			return tailer
		}
	}
	return nil
}

// outputs are the files that the records write to, each once.
func outputs(details []slurm.JobDetail) []string {
	var files []string
	seen := map[string]bool{"": true, "/dev/null": true}
	for i := range details {
		for _, f := range []string{details[i].StdOut, details[i].StdErr} {
			if !seen[f] {
				seen[f] = true
				files = append(files, f)
			}
		}
	}
	return files
}
