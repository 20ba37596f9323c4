package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/fixture"
)

// listed prints the rows of a resource that names mean and that pass a filter.
func listed(t *testing.T, s *fleet.Snapshot, word, format, filter string, names ...string) string {
	t.Helper()
	r, err := findResource(word)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.selected(s, fixture.Now(), names)
	if err != nil {
		t.Fatal(err)
	}
	q, err := r.query(filter)
	if err != nil {
		t.Fatal(err)
	}
	rows = slices.DeleteFunc(rows, func(x row) bool { return !q.Match(x.match) })
	var out bytes.Buffer
	if err := printRows(&out, format, r, rows, s, fixture.Now()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGetGPUs(t *testing.T) {
	s := fixture.Watched()
	got := listed(t, s, "gpus", "table", "", "gpu-node017:3", "gpu-node018:5", "gpu-node046:0", "gpu-node046:1", "gpu-node050:0")
	want := `NODE         INDEX  UUID          MODEL                  STATE    TEMP  POWER  UTIL       MEM          OWNER  USER   FAULTS
gpu-node017  3      GPU-11111114  NVIDIA H100 80GB HBM3  lost     ?     ?      ?          ?/80.0G      4711   alice  XID 79, recovery-action
gpu-node018  5      GPU-12121217  NVIDIA H100 80GB HBM3  hanging  63C   637W   94%        71.0G/80.0G  4711   alice  -
gpu-node046  0      GPU-2e2e2e2e  NVIDIA H100 80GB HBM3  ok       31C   68W    n/a (MIG)  0M/80.0G     4720   bob    -
gpu-node046  1      GPU-2e2e2e2f  NVIDIA H100 80GB HBM3  ok       32C   69W    0%         0M/80.0G     free   -      -
gpu-node050  0      -             h100                   -        -     -      -          -            free   -      -
`
	if got != want {
		t.Errorf("%s", got)
	}
	if got := listed(t, s, "gpu", "name", "state:faulty"); got != "GPU-11111114-aaaa-bbbb-cccc-000000000003\nGPU-12121217-aaaa-bbbb-cccc-000000000005\n" {
		t.Error(got)
	}
	if got := listed(t, s, "gpu", "name", "owner:none && temp>=38", "gpu-node046"); got != "GPU-2e2e2e35-aaaa-bbbb-cccc-000000000007\n" {
		t.Error(got)
	}
}

func TestGetMIG(t *testing.T) {
	got := listed(t, fixture.Watched(), "mig", "table", "")
	want := `NODE         GPU  PROFILE  PLACEMENT  INSTANCE  COMPUTE  MEM          OWNER  USER
gpu-node046  0    3g.40gb  0:4        1         3        31.0G/40.0G  4720   bob
gpu-node046  0    1g.10gb  4:1        9         1        10.0G        free   -
gpu-node046  0    1g.10gb  5:1        10        1        10.0G        ?      ?
`
	if got != want {
		t.Errorf("%s", got)
	}
	if noMIG(fixture.Fleet()) == noMIG(fixture.Watched()) {
		t.Error("it does not say why there is none")
	}
}

// What has no value is null, and the item says why.
func TestAbsentIsNull(t *testing.T) {
	s := fixture.Watched()
	var out struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal([]byte(listed(t, s, "gpus", "json", "", "gpu-node046:0", "gpu-node017:3", "gpu-node050:0")), &out); err != nil {
		t.Fatal(err)
	}
	mig, lost, bare := out.Items[0], out.Items[1], out.Items[2]
	if v, there := mig["utilization_percent"]; v != nil || !there || mig["absent"].(map[string]any)["utilization_percent"] != "n/a" {
		t.Errorf("MIG: %v", mig)
	}
	if lost["temperature_celsius"] != nil || lost["state"] != "lost" || lost["absent"].(map[string]any)["power_watts"] != "GPU is lost" || len(lost["findings"].([]any)) != 1 {
		t.Errorf("lost: %v", lost)
	}
	for _, name := range []string{"state", "temperature_celsius", "mig", "pci", "read_at"} {
		if v, there := bare[name]; v != nil || !there {
			t.Errorf("%s of an unwatched GPU: %v", name, v)
		}
	}
	if bare["use"] != "free" || mig["use"] != "held" {
		t.Errorf("use: %v, %v", bare["use"], mig["use"])
	}
}

func TestDescribeGPU(t *testing.T) {
	s := fixture.Watched()
	var out strings.Builder
	describeGPU(&out, s, "gpu-node017:3", fixture.Now())
	for _, want := range []string{"critical: gpu-node017 GPU 3 fell off the bus (XID 79)", "state          lost", "job            4711 llama-70b alice"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, &out)
		}
	}
	out.Reset()
	describeNode(&out, s, s.Node("gpu-node017"), fixture.Now())
	if !strings.Contains(out.String(), "gpu 3          NVIDIA H100 80GB HBM3  lost  ?  ?  ?  ?/80.0G  job 4711 of alice  XID 79") ||
		!strings.Contains(out.String(), "critical: gpu-node017 GPU 3 fell off the bus") {
		t.Error(out.String())
	}
}
