package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// What a count cannot be is told, and is not one GPU.
func TestC46_CountsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"gpu:-1", "gpu:h100:-1", "gpu:h100:8X", "gpu:99999999999999999999", "gpu:h100:0x8", "gpu:h100: 8", "gpu:h100:1.5", ":8", "(S:0)",
	} {
		list, odd := parseGRES(text)
		if n, _ := countGPUs(list); n != 0 || len(odd) != 1 || len(list) != 1 || list[0].Raw != text {
			t.Errorf("%q: %d GPUs, %+v, odd %q", text, n, list, odd)
		}
	}
	for text, want := range map[string]int{
		"gpu:4090:2": 2, "gpu:h100:no_consume:8(S:0-1)": 8, "gpu:h100:2K": 2048, "gpu:H100-SXM5:8": 8, "gpu:tesla:v100:2": 2,
		"gpu:(null):8(IDX:0-7)": 8, "gpu:h100:8,gpu:a100:4,shard:h100:16,mps:400,gpu:1g.5gb:28": 12, "gres/gpu": 1, "gpu::8": 8,
		"shard:h100:4(2/4,2/4,0/4),gpu:h100:2(IDX:0-1)": 2,
	} {
		list, odd := parseGRES(text)
		if n, _ := countGPUs(list); n != want || len(odd) != 0 {
			t.Errorf("%q: %d GPUs, odd %q", text, n, odd)
		}
	}
}

// What follows a parenthesis that was cut off is lost: that is told.
func TestC44_ParenthesisCutOff(t *testing.T) {
	list, odd := parseGRES("gpu:h100:8(S:0-1,shard:h100:16")
	if n, _ := countGPUs(list); n != 8 || len(odd) != 1 {
		t.Errorf("%+v, odd %q", list, odd)
	}
}

func TestC01_UnknownSuffixKeepsTheBase(t *testing.T) {
	for text, want := range map[string]nodeState{
		"idle?":      {Base: "IDLE", Flags: []string{"?"}},
		"mixed&*":    {Base: "MIXED", Flags: []string{"&", "NOT_RESPONDING"}},
		"DOWN&+":     {Base: "DOWN", Flags: []string{"&"}},
		"idle%!":     {Base: "IDLE", Flags: []string{"POWERING_DOWN", "POWER_DOWN"}},
		"down*+dra§": {Base: "DOWN", Flags: []string{"NOT_RESPONDING", "DRA", "§"}},
	} {
		got := parseNodeState(text)
		if got.Base != want.Base || !slices.Equal(got.Flags, want.Flags) {
			t.Errorf("%q: %+v", text, got)
		}
		v := fleet.View{Base: got.Base, Flags: got.Flags}
		if v.Condition() == fleet.CondFree {
			t.Errorf("%q counts as free", text)
		}
	}
}

func TestC14_MoreInUseThanThereAre(t *testing.T) {
	views, _ := textNodes("NodeName=gn1 State=MIXED\n   Gres=gpu:h100:12\n   GresUsed=gpu:h100:20(IDX:0-11)\n   FreeMem=-1\n   BootTime=1970-01-01T00:00:00\n\n")
	v := views[0]
	if v.GPUs != (fleet.GPUCount{Total: 12, Allocated: 12, Model: "h100"}) || !slices.Contains(v.Oddities, "20 GPUs are in use of 12") {
		t.Errorf("got %+v, %q", v.GPUs, v.Oddities)
	}
	if v.Memory.Free != -1 || !v.Booted.IsZero() {
		t.Errorf("free memory %d, booted %s: neither is known", v.Memory.Free, v.Booted)
	}
}

// A reason may hold what looks like the beginning of another node.
func TestC10_ReasonThatLooksLikeANode(t *testing.T) {
	views, _ := textNodes("MOTD of today\nNodeName=gn1 Arch=x86_64\n   State=IDLE\n   Reason=line1\nNodeName=ghost State=DOWN\nline3 [root@2026-11-30T19:47:55]\n\n" +
		"NodeName=gn2 Arch=x86_64\n   State=MIXED\n\n")
	if len(views) != 2 || views[0].Base != "IDLE" || views[1].Node != "gn2" {
		t.Fatalf("got %+v", views)
	}
	if r := views[0].Reason; r.Author != "root" || !strings.Contains(r.Text, "ghost") || !strings.HasSuffix(r.Text, "line3") {
		t.Errorf("got %+v", r)
	}
}

func TestC18_NoValueIsNoNumber(t *testing.T) {
	j := oneJob(t, "jobarrayid", "1", "state", "PENDING", "numnodes", "4294967294", "numtasks", "4294967294", "timelimit", "Partition_Limit")
	if j.NodeCount != 0 || len(j.Oddities) != 0 || j.Limit.Kind != fleet.LimitPartition {
		t.Errorf("got %+v", j)
	}
}

func TestC03_ShortAndJoinedJobStates(t *testing.T) {
	for text, want := range map[string]jobState{
		"CG": {Base: "COMPLETING"}, "CF": {Base: "RUNNING", Flags: []string{"CONFIGURING"}},
		"PENDING,REQUEUED": {Base: "PENDING", Flags: []string{"REQUEUED"}}, "running+completing": {Base: "RUNNING", Flags: []string{"COMPLETING"}},
	} {
		if got := parseJobState(text); got.Base != want.Base || !slices.Equal(got.Flags, want.Flags) || len(got.Odd) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// Remarks about slurm.conf and what a login shell says are no failure.
func TestC115_NoiseOnStandardError(t *testing.T) {
	for _, noise := range []string{
		"error: Ignoring obsolete FastSchedule=1 option. Please remove from your configuration.",
		`squeue: error: The option "CacheGroups" is defunct, please remove it from slurm.conf.`,
		"*** Unauthorized access is prohibited. You need permission to log in. ***",
		"bash: module: command not found",
		"/etc/profile.d/k.sh: connect: Connection refused",
		"bash: fork: retry: Resource temporarily unavailable",
	} {
		if err := verdict([]string{"squeue"}, Output{Stderr: []byte(noise + "\n"), Stdout: []byte("data")}); err != nil {
			t.Errorf("%q: %v", noise, err)
		}
		if err := verdict([]string{"scontrol", "hold", "7"}, Output{Stderr: []byte(noise + "\n")}); err != nil {
			t.Errorf("%q: %v", noise, err)
		}
		err := verdict([]string{"scontrol", "show", "job", "7"}, Output{Exit: 1, Stderr: []byte(noise + "\nslurm_load_jobs error: Invalid job id specified\n")})
		if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrAuth) || errors.Is(err, ErrBusy) {
			t.Errorf("%q before a refusal: %v", noise, err)
		}
	}
	refused := Output{Stderr: []byte("bash: module: command not found\njob script retrieval failed: Invalid user id\n")}
	if err := verdict([]string{"scontrol", "write"}, refused); !errors.Is(err, ErrDenied) {
		t.Errorf("got %v", err)
	}
}

// A command that was killed says so; what it had printed is no message.
func TestC115_KilledCommand(t *testing.T) {
	err := verdict([]string{"squeue"}, Output{Exit: 137, Stdout: []byte("4711" + fieldSep + "alice")})
	if err == nil || err.Error() != "squeue: it was killed by signal 9 (killed)" {
		t.Errorf("got %v", err)
	}
}

func TestC32_LoginShellOnStandardOutput(t *testing.T) {
	run := ofVersion(t, "22.05")
	for cmd, out := range run.answers {
		run.answers[cmd] = Output{Stdout: []byte("Welcome\n  load = 3\n\n" + string(out.Stdout))}
	}
	c := NewCommandTransport(run)
	h, err := c.Hello(t.Context())
	if err != nil || h.User != "gpuop" || h.Role != fleet.RoleOperator || h.Offset != 5*time.Hour+30*time.Minute || h.Native != "gpulab" {
		t.Errorf("got %+v, %v", h, err)
	}
	plain := NewCommandTransport(ofVersion(t, "22.05"))
	for name, list := range map[string]func(context.Context, Transport) (int, error){
		"nodes": func(ctx context.Context, t Transport) (int, error) { v, err := t.Nodes(ctx); return len(v), err },
		"jobs":  func(ctx context.Context, t Transport) (int, error) { v, err := t.Jobs(ctx); return len(v), err },
		"qos":   func(ctx context.Context, t Transport) (int, error) { v, err := t.QOS(ctx); return len(v), err },
		"accounting": func(ctx context.Context, t Transport) (int, error) {
			v, err := t.Accounting(ctx, time.Time{})
			return len(v), err
		},
		"partitions": func(ctx context.Context, t Transport) (int, error) { v, err := t.Partitions(ctx); return len(v), err },
	} {
		want, _ := list(t.Context(), plain)
		if got, err := list(t.Context(), c); got != want || err != nil || got == 0 {
			t.Errorf("%s: %d of %d, %v", name, got, want, err)
		}
	}
}

// Half a list of nodes must not look like nodes that are gone.
func TestC06_NodesCutShort(t *testing.T) {
	run := ofVersion(t, "22.05")
	const ask = "scontrol -d -a show node"
	whole := string(run.answers[ask].Stdout)
	for _, cut := range []int{len(whole) - 1, len(whole) / 2, len(whole) / 3, 100} {
		run.answers[ask] = Output{Stdout: []byte(whole[:cut])}
		if views, err := NewCommandTransport(run).Nodes(t.Context()); !errors.Is(err, ErrDecode) {
			t.Errorf("cut at %d: %d nodes, %v", cut, len(views), err)
		}
	}
}
