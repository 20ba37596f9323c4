package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

func checkGRES(t *testing.T, text string, want ...fleet.GRES) {
	t.Helper()
	got, odd := parseGRES(text)
	if len(odd) != 0 {
		t.Errorf("%s: odd %q", text, odd)
	}
	for i := range got {
		got[i].Raw = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", text, diff)
	}
}

func checkGPUs(t *testing.T, text string, n int, model string) {
	t.Helper()
	list, _ := parseGRES(text)
	if got, m := countGPUs(list); got != n || m != model {
		t.Errorf("%s: got %d %q, want %d %q", text, got, m, n, model)
	}
}

func TestC44_CommaInsideParentheses(t *testing.T) {
	checkGRES(t, "gpu:a100:8(S:1,3,5,7),shard:16",
		fleet.GRES{Name: "gpu", Type: "a100", Count: 8, Sockets: "(S:1,3,5,7)"},
		fleet.GRES{Name: "shard", Count: 16})
}

func TestC46_TypelessAndIndices(t *testing.T) {
	checkGRES(t, "gpu:8", fleet.GRES{Name: "gpu", Count: 8})
	checkGRES(t, "gpu:5(IDX:0-3,7)", fleet.GRES{Name: "gpu", Count: 5, Indices: []int{0, 1, 2, 3, 7}})
	checkGRES(t, "gpu:h100:0(IDX:N/A)", fleet.GRES{Name: "gpu", Type: "h100"})
	checkGRES(t, "gpu:(null):0(IDX:N/A)", fleet.GRES{Name: "gpu"})
}

func TestC47_TypeCountAndIndices(t *testing.T) {
	checkGRES(t, "gpu:k80:4(IDX:0-3)", fleet.GRES{Name: "gpu", Type: "k80", Count: 4, Indices: []int{0, 1, 2, 3}})
}

func TestC48_TypelessWithSockets(t *testing.T) {
	checkGRES(t, "gpu:8(S:0-3)", fleet.GRES{Name: "gpu", Count: 8, Sockets: "(S:0-3)"})
}

func TestC49_NullIsNone(t *testing.T) {
	for _, none := range []string{"(null)", "", "N/A", " "} {
		if list, odd := parseGRES(none); list != nil || odd != nil {
			t.Errorf("%q: got %v %v", none, list, odd)
		}
	}
}

func TestC51_MIGTypes(t *testing.T) {
	checkGRES(t, "gpu:nvidia_h100_nvl_1g.12gb:1", fleet.GRES{Name: "gpu", Type: "nvidia_h100_nvl_1g.12gb", Count: 1})
	checkGRES(t, "mig:nvidia_a100_3g.40gb:7", fleet.GRES{Name: "mig", Type: "nvidia_a100_3g.40gb", Count: 7})
	checkGPUs(t, "gpu:nvidia_h100_nvl_1g.12gb:7,gpu:h100:4", 4, "h100")
	checkGPUs(t, "gpu:1g.5gb:28", 0, "")
	checkGPUs(t, "gres/gpu=11,gres/gpu:1g.5gb=7,gres/gpu:h100=4", 4, "h100")
}

func TestC53_UnitsAreNeverMixed(t *testing.T) {
	checkGPUs(t, "gpu:h100:4,gpu:a100:2,shard:64,mps:400", 6, "mixed")
	checkGPUs(t, "shard:h100:64", 0, "")
}

func TestGPUsAreNotDoubled(t *testing.T) {
	checkGPUs(t, "gres/gpu=8,gres/gpu:h100=8", 8, "h100")
	checkGPUs(t, "gres/gpu:h100=8,gres/gpu=8", 8, "h100")
	checkGPUs(t, "gres/gpu=8", 8, "")
	checkGPUs(t, "gres:gpu:8", 8, "")
	checkGPUs(t, "gres/gpu:h100:2", 2, "h100")
	checkGPUs(t, "gpu", 1, "")
}

func TestTRES(t *testing.T) {
	got := parseTRES("cpu=4,mem=10G,node=2,billing=4,gres/gpu=16,gres/gpu:h100=16,license/x=1")
	if got.CPUs != 4 || got.MiB != 10240 || got.Nodes != 2 || len(got.GRES) != 2 || got.Odd != nil {
		t.Errorf("got %+v", got)
	}
	if n, model := countGPUs(got.GRES); n != 16 || model != "h100" {
		t.Errorf("got %d %q", n, model)
	}
	for in, want := range map[string]int64{"7812.50G": 8000000, "1000000M": 1000000, "512": 512, "2T": 2 << 20, "2048K": 2} {
		if got, err := parseMemory(in); got != want || err != nil {
			t.Errorf("%s: got %d, %v", in, got, err)
		}
	}
	if got := parseTRES("cpu=4,what,mem=lots"); got.CPUs != 4 || len(got.Odd) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestOddGRESIsKeptRaw(t *testing.T) {
	list, odd := parseGRES("gpu:h100:8,:::,gpu=many,shard:4")
	if len(list) != 4 || len(odd) != 2 || list[1].Raw != ":::" || list[2].Name != "" {
		t.Errorf("got %+v %q", list, odd)
	}
	if n, _ := countGPUs(list); n != 8 {
		t.Errorf("counted %d", n)
	}
}

func FuzzParseGRES(f *testing.F) {
	for _, s := range []string{"gpu:h100:8(S:0-1)", "gpu:8(IDX:0-3,7)", "gres/gpu:h100=8", "(null)", "a(b(c),d)e,f", "gpu:(null):0(IDX:N/A)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := parseGRES(text)
		for _, g := range list {
			if g.Raw == "" || g.Count < 0 {
				t.Fatalf("%+v", g)
			}
		}
		if n, _ := countGPUs(list); n < 0 {
			t.Fatalf("%d GPUs", n)
		}
	})
}

func FuzzParseTRES(f *testing.F) {
	f.Add("cpu=4,mem=7812.50G,gres/gpu=8")
	f.Add("mem=NaN,cpu=1e9,node=9999999999999G")
	f.Fuzz(func(t *testing.T, text string) {
		if r := parseTRES(text); r.MiB < 0 || r.CPUs < 0 || r.Nodes < 0 {
			t.Fatalf("%+v", r)
		}
	})
}
