package slurm

import (
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func TestC07_ReasonsOfNodes(t *testing.T) {
	at := time.Date(2026, 11, 30, 19, 47, 55, 0, time.UTC)
	for in, want := range map[string]fleet.Reason{
		"":       {},
		"none":   {},
		"(null)": {},
		"Not responding [slurm@2026-11-30T19:47:55]":    {Text: "Not responding", Author: "slurm", At: at},
		"none [root@2026-11-30T19:47:55]":               {Text: "none", Author: "root", At: at},
		"bad [GPU 3] link [gpuadm@2026-11-30T19:47:55]": {Text: "bad [GPU 3] link", Author: "gpuadm", At: at},
		"see [a@b] [x@y@2026-11-30T19:47:55]":           {Text: "see [a@b]", Author: "x@y", At: at},
		"ends in [brackets]":                            {Text: "ends in [brackets]"},
		"waits for [root@noon]":                         {Text: "waits for [root@noon]"},
		"None of these work":                            {Text: "None of these work"},
		"Not responding [slurm@Unknown]":                {Text: "Not responding", Author: "slurm"},
	} {
		if got := parseReason(in); got != want {
			t.Errorf("%q: got %+v, want %+v", in, got, want)
		}
	}
}

func TestC23_PendingReasons(t *testing.T) {
	for in, want := range map[string]fleet.PendingReason{
		"None":        {},
		"(null)":      {},
		"Resources":   {Code: "Resources"},
		"(Priority)":  {Code: "Priority"},
		"JobHeldUser": {Code: "JobHeldUser"},
		"ReqNodeNotAvail, UnavailableNodes:gpu-node[003-004]":  {Code: "ReqNodeNotAvail", Text: "UnavailableNodes:gpu-node[003-004]"},
		"ReqNodeNotAvail,_UnavailableNodes:gpu_node7":          {Code: "ReqNodeNotAvail", Text: "UnavailableNodes:gpu_node7"},
		"ReqNodeNotAvail, May be reserved for other job":       {Code: "ReqNodeNotAvail", Text: "May be reserved for other job"},
		"ReqNodeNotAvail,_May_be_reserved_for_other_job":       {Code: "ReqNodeNotAvail", Text: "May be reserved for other job"},
		"launch_failed_requeued_held":                          {Code: "launch_failed_requeued_held"},
		"launch failed requeued held":                          {Code: "launch_failed_requeued_held"},
		"job requeued in held state":                           {Code: "job_requeued_in_held_state"},
		"BeginTime,JobHeldAdmin":                               {Code: "BeginTime", Text: "JobHeldAdmin"},
		"Nodes required for job are DOWN, DRAINED or reserved": {Code: "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved"},
		"Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved": {Code: "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved"},
	} {
		if got := parsePendingReason(in); got != want {
			t.Errorf("%q: got %+v, want %+v", in, got, want)
		}
	}
}

func FuzzParseReason(f *testing.F) {
	f.Add("a [b] [root@2026-11-30T19:47:55]")
	f.Add("[]")
	f.Fuzz(func(t *testing.T, text string) {
		parseReason(text)
		parsePendingReason(text)
	})
}
