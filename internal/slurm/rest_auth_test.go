package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// turns is a source that gives one token after another as they are rejected.
type turns struct {
	tokens   []string
	rejected []string
}

func (s *turns) Token(context.Context) (string, error) { return s.tokens[0], nil }

func (s *turns) Rejected(tok string) {
	s.rejected = append(s.rejected, tok)
	if len(s.tokens) > 1 {
		s.tokens = s.tokens[1:]
	}
}

func TestRejectedTokenIsRenewedOnce(t *testing.T) {
	old, fresh := makeToken("gpuop", time.Now().Add(time.Hour)), makeToken("gpuop", time.Now().Add(2*time.Hour))
	f := recordedRESTD(t, "24.11", "v0.0.42")
	f.refuse = old
	src := &turns{tokens: []string{old, fresh}}
	tr := f.start(RESTOptions{Token: src, APIVersion: "v0.0.42"})
	if v, err := tr.Nodes(t.Context()); err != nil || len(v) != 8 {
		t.Errorf("%d nodes: %v", len(v), err)
	}
	if got := f.calls(); len(got) != 2 || !slices.Equal(src.rejected, []string{old}) {
		t.Errorf("%q, %d rejections", got, len(src.rejected))
	}
	f.refuse = fresh
	if _, err := tr.Nodes(t.Context()); !errors.Is(err, ErrAuth) {
		t.Errorf("%v", err)
	}
	if got := f.calls(); len(got) != 1 {
		t.Errorf("the same token was tried again: %q", got)
	}
}

func TestExpiredTokenIsNamed(t *testing.T) {
	exp := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tok := makeToken("gpuop", exp)
	for version, answer := range map[string]string{
		"22.05": "500 expired-nodes", // "Unspecified error"
		"24.11": "511 expired-nodes",
		"26.05": "502 expired-jobs", // "Unable to connect to database"
	} {
		f := recordedRESTD(t, version, "v0.0.42")
		f.answers["GET /slurm/v0.0.42/nodes"] = answer
		_, err := f.start(RESTOptions{Token: fixedToken(tok), APIVersion: "v0.0.42"}).Nodes(t.Context())
		if !errors.Is(err, ErrAuth) || errors.Is(err, ErrUnreachable) ||
			!strings.Contains(err.Error(), "expired at 2026-01-02T03:04:05Z") || strings.Contains(err.Error(), tok) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestC30_TokenOfAnotherUser(t *testing.T) {
	tok := makeToken("alice", time.Now().Add(time.Hour))
	f := recordedRESTD(t, "22.05", "v0.0.38")
	f.answers["GET /slurm/v0.0.38/nodes"] = "500 expired-nodes"
	_, err := f.start(RESTOptions{Token: fixedToken(tok), User: "bob"}).Nodes(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "token is for user alice, but requests are made as bob") {
		t.Errorf("%v", err)
	}
}

func TestC30_HeadersAgreeWithTheToken(t *testing.T) {
	var user, got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, got = r.Header.Get("X-SLURM-USER-NAME"), r.Header.Get("X-SLURM-USER-TOKEN")
		jsonHandler(`{"nodes":[]}`)(w, r)
	}))
	defer srv.Close()
	tok := makeToken("alice", time.Now().Add(time.Hour))
	for configured, want := range map[string]string{"": "alice", "alice": "alice", "root": "root"} {
		tr := mustREST(t, RESTOptions{URL: srv.URL, APIVersion: "v0.0.38", Token: fixedToken(tok), User: configured})
		if _, err := tr.Nodes(t.Context()); err != nil || user != want || got != tok {
			t.Errorf("%q, want %q: %v", user, want, err)
		}
	}
}

// 22.05 says "Unspecified error" of a bad token and of a dead slurmctld alike; what
// its slurmdbd says of the token tells them apart.
func TestUnspecifiedErrorOf2205(t *testing.T) {
	for dbd, want := range map[string]error{"500 expired-jobs": ErrAuth, "v0.0.38-db-qos": ErrUnreachable} {
		f := recordedRESTD(t, "22.05", "v0.0.38")
		f.answers["GET /slurm/v0.0.38/nodes"] = "500 expired-nodes"
		f.answers["GET /slurmdb/v0.0.38/tres"] = dbd
		_, err := f.start(RESTOptions{Token: fixedToken("garbage")}).Nodes(t.Context())
		if !errors.Is(err, want) || errors.Is(err, ErrAuth) && errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "garbage") {
			t.Errorf("%s: %v", dbd, err)
		}
		if _, err := f.start(RESTOptions{}).Nodes(t.Context()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("over a socket there is no token to blame: %v", err)
		}
	}
}

func TestNoTokenNothingSent(t *testing.T) {
	f := recordedRESTD(t, "24.11", "v0.0.42")
	tr := f.start(RESTOptions{Token: EnvToken("SLURM_TEST_NO_SUCH_VARIABLE")})
	if _, err := tr.Hello(t.Context()); !errors.Is(err, ErrAuth) {
		t.Errorf("%v", err)
	}
	if len(f.calls()) != 0 {
		t.Error("something was sent")
	}
}

func TestHelloSaysSlurmctldIsDown(t *testing.T) {
	for _, p := range []string{
		`{"hostname":"c1","pinged":"DOWN","responding":false},{"hostname":"c2","pinged":"DOWN","responding":false}`,
		`{"hostname":"c2","ping":"DOWN","status":1}`,
	} {
		answer := fmt.Sprintf(`{"pings":[%s],"statistics":{"req_time":1},"errors":[]}`, p)
		srv := httptest.NewServer(jsonHandler(answer))
		_, err := mustREST(t, RESTOptions{URL: srv.URL, APIVersion: "v0.0.42"}).Hello(t.Context())
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "c2") {
			t.Errorf("%v", err)
		}
		srv.Close()
	}
}
