package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// writable answers the writes of one version as a real server did when it did them.
func writable(t *testing.T, version, api string) *fakeRESTD {
	f := recordedRESTD(t, version, api)
	for _, id := range []string{"1", "8", "8_4", "8_1", "8_[2-5]", "9", "10", "11", "13"} {
		f.answers["POST /slurm/"+api+"/job/"+id] = api + "-x-release"
		f.answers["DELETE /slurm/"+api+"/job/"+id] = api + "-job-delete"
	}
	for _, path := range []string{"node/gpu-node005", "nodes"} {
		f.answers["POST /slurm/"+api+"/"+path] = api + "-node-drain"
	}
	f.answers["DELETE /slurm/"+api+"/jobs"] = api + "-job-delete"
	f.answers["POST /slurm/"+api+"/jobs/requeue"] = api + "-x-jobs-requeue-hold"
	return f
}

// write is one write and the calls that it must make.
type write struct {
	name string
	do   func(Transport) error
	want []string
}

func checkWrites(t *testing.T, f *fakeRESTD, writes []write) {
	t.Helper()
	tr := f.start(RESTOptions{})
	if _, _, err := tr.(*rest).ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.calls()
	for _, w := range writes {
		err := w.do(tr)
		got := slices.DeleteFunc(f.calls(), func(c string) bool { return strings.HasPrefix(c, "GET ") })
		if err != nil || !slices.Equal(got, w.want) {
			t.Errorf("%s: %q, want %q: %v", w.name, got, w.want, err)
		}
	}
}

func TestWritesOf2205(t *testing.T) {
	p, zero, text := int64(77), int64(0), "saved at step 17"
	const job = " /slurm/v0.0.38/job/"
	checkWrites(t, writable(t, "22.05", "v0.0.38"), []write{
		{"start now", update("1", JobChange{StartNow: true}), []string{"POST" + job + `1 {"begin_time":"now"}`}},
		{"priority", update("1", JobChange{Priority: &p}), []string{"POST" + job + `1 {"priority":77}`}},
		{"priority 0", update("1", JobChange{Priority: &zero}), []string{"POST" + job + `1 {"hold":true}`}},
		{"comment, partition", update("1", JobChange{Comment: &text, Partition: "high"}), []string{"POST" + job + `1 {"comment":"saved at step 17","partition":"high"}`}},
		{"limit", update("1", JobChange{TimeLimit: "1-00:00:00"}), []string{"POST" + job + `1 {"time_limit":1440}`}},
		{"more time", update("1", JobChange{TimeLimit: "+60"}), []string{"POST" + job + `1 {"time_limit":180}`}},
		{"no limit", update("1", JobChange{TimeLimit: "UNLIMITED"}), []string{"POST" + job + `1 {"time_limit":-1}`}},
		{"exclude", update("1", JobChange{Exclude: []string{"gn1", "gn2"}}), []string{"POST" + job + `1 {"exclude_nodes":"gn1,gn2"}`}},
		{"exclude none", update("1", JobChange{Exclude: []string{}}), []string{"POST" + job + `1 {"exclude_nodes":""}`}},
		{"hold a task", func(tr Transport) error { return tr.Hold(t.Context(), "8_4") }, []string{"POST" + job + `8_4 {"hold":true}`}},
		{"release the rest", func(tr Transport) error { return tr.Release(t.Context(), "8_[2-5%2]") }, []string{"POST" + job + `8_%5B2-5%5D {"hold":false}`}},
		{"het component", func(tr Transport) error { return tr.Hold(t.Context(), "9+1") }, []string{"POST" + job + `10 {"hold":true}`}},
		{"cancel", func(tr Transport) error { return tr.Signal(t.Context(), "8_4", "", false) }, []string{"DELETE" + job + `8_4`}},
		{"signal", func(tr Transport) error { return tr.Signal(t.Context(), "1", "SIGUSR1", true) }, []string{"DELETE" + job + `1?signal=USR1`}},
	})
}

func TestWritesOfNewerVersions(t *testing.T) {
	for version, api := range map[string]string{"24.11": "v0.0.42", "26.05": "v0.0.45"} {
		p := int64(77)
		slurm := " /slurm/" + api + "/"
		job := slurm + "job/"
		checkWrites(t, writable(t, version, api), []write{
			{"start now", update("1", JobChange{StartNow: true}), []string{"POST" + job + `1 {"begin_time":{"infinite":false,"number":1,"set":true}}`}},
			{"priority", update("1", JobChange{Priority: &p}), []string{"POST" + job + `1 {"priority":{"infinite":false,"number":77,"set":true}}`}},
			{"less time", update("1", JobChange{TimeLimit: "-60"}), []string{"POST" + job + `1 {"time_limit":{"infinite":false,"number":60,"set":true}}`}},
			{"no limit", update("1", JobChange{TimeLimit: "UNLIMITED"}), []string{"POST" + job + `1 {"time_limit":{"infinite":true,"set":true}}`}},
			{"exclude", update("1", JobChange{Exclude: []string{"gn1", "gn2"}}), []string{"POST" + job + `1 {"excluded_nodes":["gn1","gn2"]}`}},
			{"exclude none", update("1", JobChange{Exclude: []string{}}), []string{"POST" + job + `1 {"excluded_nodes":[""]}`}},
			{"a running task", func(tr Transport) error { return tr.Hold(t.Context(), "8_0") }, []string{"POST" + job + `11 {"hold":true}`}},
			{"the whole rest", func(tr Transport) error { return tr.Release(t.Context(), "8_[2-5%2]") }, []string{"POST" + job + `8 {"hold":false}`}},
			{"het component", func(tr Transport) error { return tr.Hold(t.Context(), "9+1") }, []string{"POST" + job + `10 {"hold":true}`}},
			{"cancel", func(tr Transport) error { return tr.Signal(t.Context(), "8_4", "", false) }, []string{"DELETE" + job + `8_4`}},
			{"cancel tasks", func(tr Transport) error { return tr.Signal(t.Context(), "8_[2-5%2]", "", false) }, []string{"DELETE" + slurm + `jobs {"jobs":["8_[2-5]"]}`}},
			{"signal all", func(tr Transport) error { return tr.Signal(t.Context(), "1", "USR1", true) }, []string{"DELETE" + job + `1?flags=FULL_JOB&signal=USR1`}},
			{"signal steps", func(tr Transport) error { return tr.Signal(t.Context(), "1", "USR1", false) }, []string{"DELETE" + job + `1?flags=FULL_STEPS_ONLY&signal=USR1`}},
			{"drain", func(tr Transport) error {
				return tr.UpdateNodes(t.Context(), []string{"gpu-node005"}, NodeChange{State: "DRAIN", Reason: "ECC"})
			}, []string{"POST" + slurm + `node/gpu-node005 {"reason":"ECC","state":["DRAIN"]}`}},
			{"drain two", func(tr Transport) error {
				return tr.UpdateNodes(t.Context(), []string{"gn1", "gn2"}, NodeChange{State: "DRAIN", Reason: "ECC"})
			}, []string{"POST" + slurm + `nodes {"name":["gn1","gn2"],"reason":"ECC","state":["DRAIN"]}`}},
			{"comment", func(tr Transport) error {
				return tr.UpdateNodes(t.Context(), []string{"gpu-node005"}, NodeChange{Comment: "c"})
			}, []string{"POST" + slurm + `node/gpu-node005 {"comment":"c"}`}},
		})
	}
}

func update(id string, c JobChange) func(Transport) error {
	return func(tr Transport) error { return tr.UpdateJob(context.Background(), id, c) }
}

func TestRequeueNeedsV45(t *testing.T) {
	checkWrites(t, writable(t, "26.05", "v0.0.45"), []write{
		{"requeue", func(tr Transport) error { return tr.Requeue(t.Context(), "1", false) }, []string{`POST /slurm/v0.0.45/jobs/requeue {"jobs":["1"]}`}},
		{"requeue and hold", func(tr Transport) error { return tr.Requeue(t.Context(), "1", true) }, []string{`POST /slurm/v0.0.45/jobs/requeue {"flags":["HOLD"],"jobs":["1"]}`}},
	})
}

func TestCanSaysWhatAVersionLacks(t *testing.T) {
	for _, tc := range []struct {
		version, api string
		lacks        []Op
	}{
		{"22.05", "v0.0.38", []Op{OpUpdateNode, OpRequeue, OpSuspend}},
		{"24.11", "v0.0.42", []Op{OpRequeue, OpSuspend}},
		{"26.05", "v0.0.45", []Op{OpSuspend}},
	} {
		tr := recordedRESTD(t, tc.version, tc.api).start(RESTOptions{})
		if _, _, err := tr.(*rest).ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, op := range []Op{OpUpdateNode, OpUpdateJob, OpRequeue, OpHold, OpRelease, OpSuspend, OpSignal, OpCancel} {
			err := tr.Can(op)
			if lacks := slices.Contains(tc.lacks, op); lacks != errors.Is(err, ErrUnsupported) {
				t.Errorf("%s %s: %v", tc.api, op, err)
			}
		}
	}
	tr := recordedRESTD(t, "22.05", "v0.0.38").start(RESTOptions{})
	if _, _, err := tr.(*rest).ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "not supported: slurmrestd v0.0.38 (Slurm 22.05.8) cannot change a node; add ssh or local to the cluster's transports"
	if err := tr.Can(OpUpdateNode); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := tr.UpdateNodes(t.Context(), []string{"gn1"}, NodeChange{State: "RESUME"}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("and it does not try: %v", err)
	}
}

func TestC22_PartOfTheRestIsNotTheRest(t *testing.T) {
	f := writable(t, "24.11", "v0.0.42")
	tr := f.start(RESTOptions{})
	for _, id := range []string{"8_4", "8_[3-4]"} {
		if err := tr.Hold(t.Context(), id); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := tr.Hold(t.Context(), "8_*"); !errors.Is(err, ErrInput) {
		t.Errorf("tasks not named: %v", err)
	}
	for _, call := range f.calls() {
		if strings.HasPrefix(call, "POST") {
			t.Errorf("%s was sent", call)
		}
	}
}

func TestWholeArrayMeansEveryRecord(t *testing.T) {
	checkWrites(t, writable(t, "24.11", "v0.0.42"), []write{
		{"array", func(tr Transport) error { return tr.Release(t.Context(), "9") }, []string{
			`POST /slurm/v0.0.42/job/9 {"hold":false}`, `POST /slurm/v0.0.42/job/10 {"hold":false}`,
		}},
	})
}

func TestBadInputIsNotSent(t *testing.T) {
	f := writable(t, "26.05", "v0.0.45")
	tr := f.start(RESTOptions{})
	neg := int64(-1)
	for name, err := range map[string]error{
		"id":         tr.Hold(t.Context(), "1; rm"),
		"path":       tr.Signal(t.Context(), "../jobs", "", false),
		"signal":     tr.Signal(t.Context(), "1", "NOPE", false),
		"limit":      tr.UpdateJob(t.Context(), "1", JobChange{TimeLimit: "soon"}),
		"no limit":   tr.UpdateJob(t.Context(), "1", JobChange{TimeLimit: "+UNLIMITED"}),
		"priority":   tr.UpdateJob(t.Context(), "1", JobChange{Priority: &neg}),
		"nothing":    tr.UpdateJob(t.Context(), "1", JobChange{}),
		"partition":  tr.UpdateJob(t.Context(), "1", JobChange{Partition: "a b"}),
		"node":       tr.UpdateNodes(t.Context(), []string{"gn[1-4]"}, NodeChange{State: "RESUME"}),
		"no reason":  tr.UpdateNodes(t.Context(), []string{"gn1"}, NodeChange{State: "DRAIN"}),
		"no node":    tr.UpdateNodes(t.Context(), nil, NodeChange{State: "RESUME"}),
		"too little": tr.UpdateJob(t.Context(), "1", JobChange{TimeLimit: "-120"}),
	} {
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, call := range f.calls() {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("%s was sent", call)
		}
	}
}

func TestC32_RefusalsOfEveryVersion(t *testing.T) {
	for _, tc := range []struct {
		version, method, answer string
		want                    error
	}{
		{"22.05", "POST", "200 v0.0.38-job-hold", nil}, // priority 0, refused without a known number
		{"22.05", "POST", "200 v0.0.38-x-begin", ErrInput},
		{"22.05", "POST", "500 v0.0.38-job-update-byother", ErrDenied},
		{"22.05", "DELETE", "500 v0.0.38-job-delete-byother", ErrDenied},
		{"22.05", "DELETE", "500 v0.0.38-job-signal", ErrState},
		{"22.05", "GET", "500 v0.0.38-job-missing", ErrNotFound},
		{"22.05", "GET", "500 v0.0.38-node-missing", ErrNotFound},
		{"22.05", "POST", "405 v0.0.38-node-drain", ErrUnsupported},
		{"22.05", "GET", "401 noauth", ErrAuth},
		{"22.05", "GET", "200 expired-jobs", ErrAuth},
		{"22.05", "GET", "304 v0.0.38-nodes-update_time-now", ErrDecode},
		{"24.11", "DELETE", "200 v0.0.42-job-delete-byother", ErrDenied},
		{"24.11", "DELETE", "200 v0.0.42-jobs-delete-many", ErrNotFound},
		{"24.11", "POST", "500 v0.0.42-node-drain-as-operator", ErrDenied},
		{"24.11", "POST", "500 v0.0.42-job-update-byother", ErrDenied},
		{"24.11", "GET", "511 expired-nodes", ErrAuth},
		{"24.11", "GET", "502 expired-jobs", ErrUnreachable},
		{"24.11", "GET", "200 v0.0.42-node-missing", ErrNotFound},
		{"24.11", "GET", "404 badversion", errNoPath},
		{"26.05", "DELETE", "200 v0.0.45-x-delete-running-byother", ErrDenied},
		{"26.05", "DELETE", "200 v0.0.45-job-delete-again", ErrState},
		{"26.05", "POST", "422 v0.0.45-jobs-requeue", ErrState},
		{"26.05", "POST", "422 v0.0.45-x-requeue-byother", ErrDenied},
		{"26.05", "POST", "422 v0.0.45-submit-bad-partition", ErrNotFound},
		{"26.05", "GET", "404 v0.0.45-job-missing", ErrNotFound},
		{"26.05", "GET", "404 badversion", errNoPath},
	} {
		f := &fakeRESTD{t: t, version: tc.version, offers: []string{"v0.0.42"}, answers: map[string]string{tc.method + " /slurm/v0.0.42/x": tc.answer}}
		tr := f.start(RESTOptions{APIVersion: "v0.0.42"}).(*rest)
		err := tr.send(t.Context(), request{method: tc.method, path: "/x"})
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s %s: %v, want %v", tc.method, tc.answer, err, tc.want)
		}
	}
}

func TestCancellingAnEndedJobIsNoError(t *testing.T) {
	f := recordedRESTD(t, "26.05", "v0.0.45")
	f.answers["DELETE /slurm/v0.0.45/job/1"] = "v0.0.45-job-delete-again"
	tr := f.start(RESTOptions{})
	if err := tr.Signal(t.Context(), "1", "", false); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if err := tr.Signal(t.Context(), "1", "USR1", false); !errors.Is(err, ErrState) {
		t.Errorf("signal: %v", err)
	}
}

// 22.05 reports every array task that it changed among the errors.
func TestArrayUpdateOf2205IsNoError(t *testing.T) {
	const done = `{"errors":[{"description":"job array update from [localhost]:60118 failed","source":"_parse_job_list"}]}`
	const refused = `{"errors":[{"description":"job array update from [localhost]:60118 failed"},
		{"description":"job array update from [localhost]:60118 failed","error_number":2010,"error":"Invalid user id"}]}`
	for text, want := range map[string]error{done: nil, refused: ErrDenied, `{"errors":null}`: nil, `{"errors":[{}]}`: nil} {
		a, err := decodeAnswer(strings.NewReader(text), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := restVerdict(request{method: "POST"}, 200, a); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestErrorsOfUnknownShapeAreErrors(t *testing.T) {
	for _, text := range []string{`{"errors":["it broke"]}`, `{"errors":"it broke"}`, `{"errors":[{"description":"it broke"}]}`} {
		a, err := decodeAnswer(strings.NewReader(text), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := restVerdict(request{method: "POST"}, 200, a); err == nil || !strings.Contains(err.Error(), "it broke") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNoAccounting(t *testing.T) {
	f := recordedRESTD(t, "26.05", "v0.0.45")
	f.answers["GET /slurmdb/v0.0.45/jobs"] = "502 expired-jobs" // "Unable to connect to database"
	tr := f.start(RESTOptions{})
	if _, err := tr.Accounting(t.Context(), time.Unix(1796067960, 0)); !errors.Is(err, ErrUnreachable) {
		t.Errorf("slurmdbd is down: %v", err)
	}
	delete(f.answers, "GET /slurmdb/v0.0.45/jobs") // slurmrestd -s v0.0.38: the other half is not there
	if _, err := tr.Accounting(t.Context(), time.Unix(1796067960, 0)); !errors.Is(err, ErrNoAccounting) {
		t.Errorf("slurmrestd without slurmdbd: %v", err)
	}
	tr.(*rest).learn(meta{Release: "26.05.5", Storage: "accounting_storage/none"})
	if err := tr.(*rest).noAccounting(ErrUnreachable); !errors.Is(err, ErrNoAccounting) {
		t.Errorf("no slurmdbd: %v", err)
	}
}
