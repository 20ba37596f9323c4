package slurm

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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

// gatewayREST answers every list with the same body; the version is known.
func gatewayREST(t *testing.T, handler http.HandlerFunc) Transport {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	tr, err := NewREST(RESTOptions{URL: srv.URL, APIVersion: "v0.0.42"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.(*rest).http.CloseIdleConnections)
	return tr
}

// What stands between us and slurmrestd answers for it. Nothing of that is a fleet
// without jobs, and each is told in one sentence.
func TestC31_AnswersThatAreNotSlurmrestds(t *testing.T) {
	const asJSON, asHTML = "application/json", "text/html; charset=utf-8"
	for _, c := range []struct {
		status     int
		kind, body string
		want       error
	}{
		{200, asHTML, "<html><body>Please log in</body></html>", ErrDecode},
		{200, asJSON, "<html><body>Please log in</body></html>", ErrDecode},
		{200, "", "", ErrDecode},
		{200, asJSON, "", ErrDecode},
		{200, asJSON, "{}", ErrDecode},
		{200, asJSON, `{"message":"token required"}`, ErrDecode},
		{200, asJSON, `{"jobs":null}`, ErrDecode},
		{200, asJSON, `{"jobs":"none"}`, ErrDecode},
		{200, asJSON, `{"jobs":7}`, ErrDecode},
		{200, asJSON, `null`, ErrDecode},
		{200, asJSON, `[]`, ErrDecode},
		{200, asJSON, `"jobs"`, ErrDecode},
		{200, asJSON, `{"jobs":[{"job_id":1}`, ErrDecode},
		{200, asJSON, `{"jobs":[{"job_id":1,]}`, ErrDecode},
		{200, asJSON, strings.Repeat("[", 100_000), ErrDecode},
		{200, asJSON, `{"jobs":` + strings.Repeat("[", 100_000), ErrDecode},
		{200, asJSON, "{\"jobs\":[{\"job_id\":\x00}]}", ErrDecode},
		{302, asHTML, "<a>", ErrUnreachable},
		{500, asHTML, "<html>", nil},
		{502, asHTML, "<html>", ErrUnreachable},
		{503, asJSON, `{"message":"upstream is away"}`, ErrUnreachable},
		{504, "", "", ErrBusy},
		{429, asJSON, "{}", ErrBusy},
		{401, asJSON, `{"error":"x"}`, ErrAuth},
		{403, asHTML, "", ErrDenied},
	} {
		tr := gatewayREST(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.Header().Set("Location", "https://login.example/?secret=1")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		jobs, err := tr.Jobs(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) || len(jobs) > 0 {
			t.Errorf("%d %s %.40q: %d jobs, %v", c.status, c.kind, c.body, len(jobs), err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, "<html") || strings.Contains(text, "secret") || len(text) > 400 {
			t.Errorf("%d %.40q is told as %q", c.status, c.body, text)
		}
	}
}

// A mark before the JSON, compression, line ends of another system and things
// nobody asked for are no harm.
func TestC26_WrappingsOfJSON(t *testing.T) {
	body := "{\r\n\"meta\": null, \"x\": [1e400, {\"jobs\": 5}],\r\n\"jobs\": [ {\"job_id\": 7, \"job_state\": [\"RUNNING\"], \"name\": \"a\"} ]\r\n}\r\n\x00junk"
	for name, send := range map[string]func(http.ResponseWriter){
		"plain": func(w http.ResponseWriter) { _, _ = io.WriteString(w, body) },
		"BOM":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "\ufeff"+body) },
		"gzip": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, body)
			_ = z.Close()
		},
		"byte by byte": func(w http.ResponseWriter) {
			for i := range len(body) {
				_, _ = io.WriteString(w, body[i:i+1])
				w.(http.Flusher).Flush()
			}
		},
	} {
		tr := gatewayREST(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			send(w)
		})
		if jobs, err := tr.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].ID != "7" || jobs[0].Base != "RUNNING" {
			t.Errorf("%s: %+v, %v", name, jobs, err)
		}
	}
}

// Every field of a record may hold anything: the record stays, and so do the others.
func TestC05_AnyValueInAnyField(t *testing.T) {
	odd := []string{
		`null`, `true`, `""`, `"x"`, `-5`, `0`, `4294967294`, `18446744073709551615`, `1e300`, `99999999999999999999999`, `[]`, `[null]`,
		`[[["x"]]]`, `{}`, `{"set":true}`, `{"set":true,"infinite":false,"number":-7}`, `{"set":"yes","number":{"set":true,"number":3}}`, `"\u0000\ud800"`,
	}
	for _, kind := range []struct {
		list   string
		fields []string
		decode func(io.Reader) (int, []string, error)
	}{
		{"jobs", []string{
			"job_state", "array_job_id", "array_task_id", "array_task_string", "het_job_id", "het_job_offset", "name", "user_name", "nodes",
			"node_count", "cpus", "submit_time", "start_time", "end_time", "time_limit", "restart_cnt", "requeue", "priority", "exit_code",
			"tres_alloc_str", "tres_req_str", "tres_per_node", "tasks", "job_resources", "state_description", "state_reason", "features", "partition",
		}, func(r io.Reader) (int, []string, error) {
			v, _, err := decodeJobs(r)
			return len(v), jobIDs(v), err
		}},
		{"nodes", []string{
			"state", "state_flags", "gres", "gres_used", "tres", "tres_used", "cpus", "alloc_cpus", "real_memory", "alloc_memory", "free_mem",
			"active_features", "partitions", "boot_time", "cpu_load", "reason", "reason_set_by_user", "reason_changed_at", "address", "version",
		}, func(r io.Reader) (int, []string, error) {
			v, _, err := decodeNodes(r)
			var names []string
			for i := range v {
				g, c := v[i].GPUs, v[i].CPUs
				if g.Total < 0 || g.Allocated < 0 || g.Allocated > g.Total || c.Total < 0 || c.Allocated < 0 {
					return 0, nil, errors.New("a count that is none")
				}
				names = append(names, v[i].Node)
			}
			return len(v), names, err
		}},
	} {
		for _, field := range kind.fields {
			for _, value := range odd {
				text := `{"` + kind.list + `":[{"job_id":1,"name":"one","` + field + `":` + value + `},{"job_id":2,"name":"two","job_state":"RUNNING","state":"idle"}]}`
				n, ids, err := kind.decode(strings.NewReader(text))
				if err != nil || n != 2 || ids[1] != "2" && ids[1] != "two" {
					t.Errorf("%s=%s: %d records %q, %v", field, value, n, ids, err)
				}
			}
		}
	}
}

func jobIDs(jobs []fleet.Job) []string {
	var ids []string
	for i := range jobs {
		if j := &jobs[i]; j.NodeCount < 0 || j.CPUs < 0 || j.GPUs.Wanted < 0 || j.Restarts < 0 || j.Base == "" {
			return []string{"", "a count that is none: " + j.ID}
		}
		ids = append(ids, jobs[i].ID)
	}
	return ids
}

// A name comes first in scontrol's records. Whatever lines it has, a read-back says
// how the job stands, and not what its owner wrote.
func TestC10_NameThatForgesARecord(t *testing.T) {
	const rest = "\n   UserId=alice(64201) GroupId=alice(1001)\n   Priority=10 JobState=RUNNING Reason=None\n   Restarts=0 SubmitTime=2026-11-30T10:00:00\n\n"
	for what, name := range map[string]string{
		"a state":            "x\n   JobState=COMPLETED Reason=None",
		"another record":     "x\n   JobState=COMPLETED\n\nJobId=999 JobName=ghost",
		"the record again":   "x\n   JobState=COMPLETED\n   SubmitTime=2026-11-30T10:00:00\n\nJobId=12 JobName=ghost",
		"a record of others": "x\n\nJobId=3 JobName=ghost",
	} {
		run := &fakeRunner{answers: map[string]Output{
			"scontrol -d -a show job 12": {Stdout: []byte("JobId=12 JobName=" + name + rest)},
			"squeue -a -t all -j 12 ":    {Stdout: []byte(queueText(queueRow("jobarrayid", "12", "jobid", "12", "username", "alice", "state", "RUNNING", "name", name)))},
		}}
		jobs, err := NewCommandTransport(run).Job(t.Context(), "12")
		if err != nil || len(jobs) != 1 || jobs[0].ID != "12" || jobs[0].Base != fleet.JobRunning || jobs[0].Name != name || jobs[0].User != "alice" {
			t.Errorf("%s: %+v, %v", what, jobs, err)
		}
	}
	run := &fakeRunner{answers: map[string]Output{"scontrol -d -a show job 12": {Stdout: []byte("JobId=12 JobName=plain" + rest)}}}
	if jobs, err := NewCommandTransport(run).Job(t.Context(), "12"); err != nil || len(jobs) != 1 || len(run.asked) != 1 {
		t.Errorf("an honest record costs one question: %+v, %v, asked %q", jobs, err, run.asked)
	}
}
