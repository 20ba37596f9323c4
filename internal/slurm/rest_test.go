package slurm

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// fakeRESTD answers with what a real slurmrestd was seen to answer.
type fakeRESTD struct {
	t       *testing.T
	version string // folder of testdata
	offers  []string
	answers map[string]string // "GET /slurm/v0.0.42/nodes" -> file, or "500 file"
	refuse  string            // a token that is not accepted

	mu   sync.Mutex
	seen []string // "POST /slurm/v0.0.42/job/1 {...}"
}

func (f *fakeRESTD) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	call := strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
	f.mu.Lock()
	f.seen = append(f.seen, call)
	offers := f.offers
	f.mu.Unlock()
	tok := r.Header.Get("X-SLURM-USER-TOKEN")
	switch {
	case f.refuse != "" && tok == f.refuse:
		f.send(w, "511 expired-nodes")
	case r.URL.Path == "/openapi/v3":
		w.Header().Set("Content-Type", "application/json")
		paths := map[string]any{"/openapi/v3": map[string]any{"get": map[string]any{}}}
		for _, v := range offers {
			paths["/slurm/"+v+"/jobs/"] = map[string]any{"get": []any{"x", 1.5, nil}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"info": map[string]any{"paths": 1}, "paths": paths})
	default:
		answer, ok := f.answers[r.Method+" "+r.URL.Path]
		if !ok || !slices.Contains(offers, strings.Split(r.URL.Path+"///", "/")[2]) {
			answer = "404 badversion"
		}
		f.send(w, answer)
	}
}

// send answers with a recorded file, with the HTTP code before its name.
func (f *fakeRESTD) send(w http.ResponseWriter, answer string) {
	status := http.StatusOK
	if code, file, ok := strings.Cut(answer, " "); ok {
		_, _ = fmt.Sscan(code, &status)
		answer = file
	}
	raw := answerOf(f.t, f.version+"/"+answer)
	if json.Valid(raw) {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

// calls are the calls seen since the last time, without asking for the version.
func (f *fakeRESTD) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := slices.DeleteFunc(f.seen, func(c string) bool { return strings.HasPrefix(c, "GET /openapi") })
	f.seen = nil
	return got
}

// start serves f and returns a transport to it.
func (f *fakeRESTD) start(opts RESTOptions) Transport {
	f.t.Helper()
	srv := httptest.NewServer(f)
	f.t.Cleanup(srv.Close)
	if opts.URL == "" {
		opts.URL = srv.URL
	}
	tr, err := NewREST(opts)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(tr.(*rest).http.CloseIdleConnections)
	return tr
}

// recordedRESTD answers every plain read of one version.
func recordedRESTD(t *testing.T, version, api string, offers ...string) *fakeRESTD {
	f := &fakeRESTD{t: t, version: version, offers: append(offers, api), answers: map[string]string{}}
	for path, file := range map[string]string{
		"nodes": "nodes", "node/gpu-node001": "node", "jobs": "jobs", "job/1": "job", "diag": "diag", "ping": "ping",
		"conf": "conf", "partitions": "partitions", "reservations": "reservation-maint1", "node/nosuch": "node-missing",
	} {
		f.answers["GET /slurm/"+api+"/"+path] = api + "-" + file
	}
	for _, path := range []string{"8", "9", "10", "13"} {
		f.answers["GET /slurm/"+api+"/job/"+path] = api + "-jobs"
	}
	for path, file := range map[string]string{"jobs": "db-jobs", "qos": "db-qos", "user/gpuop": "db-users", "clusters": "db-clusters"} {
		f.answers["GET /slurmdb/"+api+"/"+path] = api + "-" + file
	}
	return f
}

func TestReadsOfEveryVersion(t *testing.T) {
	for version, api := range map[string]string{"22.05": "v0.0.38", "24.11": "v0.0.42", "26.05": "v0.0.45"} {
		t.Run(version, func(t *testing.T) {
			f := recordedRESTD(t, version, api, "v0.0.36", "v0.0.37")
			tr := f.start(RESTOptions{Token: fixedToken(makeToken("gpuop", time.Now().Add(time.Hour)))})
			h, err := tr.Hello(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(h.Version, version) || h.Native != "gpulab" || h.User != "gpuop" ||
				h.Role != fleet.RoleOperator || h.API != api || !h.Accounting {
				t.Errorf("%+v", h)
			}
			if want := map[bool]string{true: "3600 sec", false: ""}[api == "v0.0.45"]; h.Config["MinJobAge"] != want {
				t.Errorf("config %v", h.Config)
			}
			counts := map[string]int{"nodes": 8, "jobs": 22, "partitions": 2, "reservations": 1, "qos": 2}
			if d := cmp.Diff(counts, countAll(t, tr)); d != "" {
				t.Error(d)
			}
			if v, err := tr.Node(t.Context(), "gpu-node001"); err != nil || v.Node != "gpu-node001" || v.Raw == "" {
				t.Errorf("node: %+v: %v", v, err)
			}
			if _, err := tr.Node(t.Context(), "nosuch"); !errors.Is(err, ErrNotFound) {
				t.Errorf("unknown node: %v", err)
			}
			if s, err := tr.Stats(t.Context()); err != nil || s.JobsRunning != 10 || s.RPCs[0].Count < s.RPCs[1].Count {
				t.Errorf("stats: %+v: %v", s, err)
			}
			runs, err := tr.Accounting(t.Context(), time.Unix(1796067960, 0))
			if err != nil || len(runs) == 0 || slices.ContainsFunc(runs, func(j fleet.Job) bool { return j.Ended.IsZero() }) {
				t.Errorf("accounting: %d runs: %v", len(runs), err)
			}
		})
	}
}

func countAll(t *testing.T, tr Transport) map[string]int {
	t.Helper()
	nodes, e1 := tr.Nodes(t.Context())
	jobs, e2 := tr.Jobs(t.Context())
	parts, e3 := tr.Partitions(t.Context())
	resv, e4 := tr.Reservations(t.Context())
	qos, e5 := tr.QOS(t.Context())
	if err := errors.Join(e1, e2, e3, e4, e5); err != nil {
		t.Error(err)
	}
	return map[string]int{"nodes": len(nodes), "jobs": len(jobs), "partitions": len(parts), "reservations": len(resv), "qos": len(qos)}
}

func TestC22_JobByAnyID(t *testing.T) {
	for version, api := range map[string]string{"22.05": "v0.0.38", "24.11": "v0.0.42", "26.05": "v0.0.45"} {
		f := recordedRESTD(t, version, api)
		tr := f.start(RESTOptions{})
		for id, want := range map[string][]string{
			"8_1":       {"8_1"},
			"8_[2-5%2]": {"8_[2-5%2]"},
			"8_*":       {"8_[2-5%2]"},
			"8_4":       {"8_[2-5%2]"},
			"9+1":       {"9+1"},
		} {
			jobs, err := tr.Job(t.Context(), id)
			var got []string
			for _, j := range jobs {
				got = append(got, j.ID)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: job %s is %q, want %q: %v", version, id, got, want, err)
			}
		}
		for _, id := range []string{"8_77", "9+7"} {
			if _, err := tr.Job(t.Context(), id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: job %s: %v", version, id, err)
			}
		}
	}
}

func TestC31_VersionIsDiscovered(t *testing.T) {
	for _, tc := range []struct {
		offered []int
		want    string
	}{
		{[]int{36, 37, 38}, "v0.0.38"},
		{[]int{40, 41, 42}, "v0.0.42"},
		{[]int{42, 43, 44, 45}, "v0.0.45"},
		{[]int{44, 45, 46, 47}, "v0.0.45"},
		{[]int{46, 47, 48}, "v0.0.46"},
		{[]int{35, 36}, ""},
		{nil, ""},
	} {
		got, err := chooseVersion(tc.offered)
		if got != tc.want || (err != nil) != (tc.want == "") || err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v: %q, want %q: %v", tc.offered, got, tc.want, err)
		}
	}
}

func TestC31_UpgradedServerIsAskedAgain(t *testing.T) {
	f := recordedRESTD(t, "24.11", "v0.0.42", "v0.0.40")
	f.offers = []string{"v0.0.40"}
	f.answers["GET /slurm/v0.0.40/nodes"] = "v0.0.40-nodes"
	tr := f.start(RESTOptions{})
	if v, err := tr.Nodes(t.Context()); err != nil || len(v) != 8 {
		t.Fatalf("%d nodes: %v", len(v), err)
	}
	f.mu.Lock()
	f.offers = []string{"v0.0.42"}
	f.mu.Unlock()
	if v, err := tr.Nodes(t.Context()); err != nil || len(v) != 8 {
		t.Fatalf("after the upgrade: %d nodes: %v", len(v), err)
	}
	want := []string{"GET /slurm/v0.0.40/nodes", "GET /slurm/v0.0.40/nodes", "GET /slurm/v0.0.42/nodes"}
	if got := f.calls(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	pinned := f.start(RESTOptions{APIVersion: "v0.0.40"})
	if _, err := pinned.Nodes(t.Context()); !errors.Is(err, errNoPath) {
		t.Errorf("a version that was asked for is not changed: %v", err)
	}
}

func TestC31_NoNodesArePassedOn(t *testing.T) {
	srv := httptest.NewServer(jsonHandler(`{"nodes":[],"errors":[],"warnings":[]}`))
	defer srv.Close()
	tr := mustREST(t, RESTOptions{URL: srv.URL, APIVersion: "v0.0.42"})
	if v, err := tr.Nodes(t.Context()); len(v) != 0 || err != nil {
		t.Errorf("%v: %v", v, err)
	}
}

func jsonHandler(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func mustREST(t *testing.T, opts RESTOptions) Transport {
	t.Helper()
	tr, err := NewREST(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.(*rest).http.CloseIdleConnections)
	return tr
}

func TestBadAddressesAreRefused(t *testing.T) {
	for _, opts := range []RESTOptions{
		{},
		{URL: "slurm.example:6820"},
		{URL: "ftp://slurm"},
		{URL: "http://"},
		{URL: "http://a:b@slurm"},
		{URL: "http://slurm", APIVersion: "v0.0.37"},
		{URL: "http://slurm", APIVersion: "latest"},
	} {
		if _, err := NewREST(opts); !errors.Is(err, ErrInput) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	if _, err := NewREST(RESTOptions{URL: "https://slurm", CAFile: filepath.Join(t.TempDir(), "ca.pem")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing authority: %v", err)
	}
}

func TestUnixSocketWithoutToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "restd.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := recordedRESTD(t, "22.05", "v0.0.38")
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-SLURM-USER-TOKEN") != "" || r.Header.Get("X-SLURM-USER-NAME") != "" {
			t.Error("a token over the socket")
		}
		f.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	tr := mustREST(t, RESTOptions{Socket: path})
	if h, err := tr.Hello(t.Context()); err != nil || h.User != socketOwner(path) || h.User == "" {
		t.Errorf("%+v: %v", h, err)
	}
	if via := tr.Via(); via != "rest unix:"+path {
		t.Error(via)
	}
	dials := 0
	over := mustREST(t, RESTOptions{Dial: func(ctx context.Context) (net.Conn, error) {
		dials++
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}})
	if v, err := over.Nodes(t.Context()); err != nil || len(v) != 8 || dials == 0 {
		t.Errorf("through a dialer: %d nodes, %d dials: %v", len(v), dials, err)
	}
}

func TestTLSWithItsOwnAuthority(t *testing.T) {
	f := recordedRESTD(t, "26.05", "v0.0.45")
	srv := httptest.NewUnstartedServer(f)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	stranger := mustREST(t, RESTOptions{URL: srv.URL})
	if _, err := stranger.Nodes(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("unknown authority: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	trusted := mustREST(t, RESTOptions{URL: srv.URL, CAFile: file})
	if v, err := trusted.Nodes(t.Context()); err != nil || len(v) != 8 {
		t.Errorf("%d nodes: %v", len(v), err)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	if _, err := mustREST(t, RESTOptions{URL: "http://" + addr}).Hello(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestSlowServerIsBusyNotDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := mustREST(t, RESTOptions{APIVersion: "v0.0.42", Dial: func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // takes the request and says nothing
			return ours, nil
		}})
		begin := time.Now()
		_, err := tr.Nodes(t.Context())
		if !errors.Is(err, ErrBusy) || time.Since(begin) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := tr.Nodes(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrBusy) {
			t.Errorf("the caller gave up: %v", err)
		}
	})
}

func TestHugeAndGarbledAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"nodes":[`)
			for range 3000 {
				_, _ = io.WriteString(w, `{"name":"gn001","comment":"`+strings.Repeat("x", 1000)+`"},`)
			}
			_, _ = io.WriteString(w, `{"name":"gn001"}]}`)
		},
		"cut short": jsonHandler(`{"nodes":[{"name":"gn001"},{"na`),
		"text":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"page":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		srv := httptest.NewServer(handler)
		tr := mustREST(t, RESTOptions{URL: srv.URL, APIVersion: "v0.0.42"})
		tr.(*rest).most = 1 << 20
		if v, err := tr.Nodes(t.Context()); !errors.Is(err, ErrDecode) || v != nil {
			t.Errorf("%s: %d nodes: %v", name, len(v), err)
		}
		srv.Close()
	}
}
