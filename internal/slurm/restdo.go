package slurm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// request is one call of slurmrestd.
type request struct {
	method string
	db     bool   // of slurmdbd's part of the API
	path   string // behind the version: "/jobs"
	bare   bool   // path is the whole path
	api    string // the version to ask in; do fills it in
	query  url.Values
	body   any
	// endedOK: that a job has ended already is no error (it was to be cancelled).
	endedOK bool
}

// String is the call for error messages.
func (q request) String() string { return q.method + " " + q.path }

// do makes one call and reads its answer. A token that was refused is renewed once,
// and a URL that is not known makes it ask for the version once more; in both cases
// slurmrestd did nothing. read may thus be called twice and starts afresh each time.
//
// update_time is never used: a 304 in some versions, an empty list with a warning in
// others, it saves little of an answer that is to be complete.
func (t *rest) do(ctx context.Context, q request, read func(io.Reader) (answer, error)) (answer, error) {
	var err error
	if q.api, err = t.version(ctx); err != nil {
		return answer{}, err
	}
	tok, err := t.token(ctx)
	if err != nil {
		return answer{}, err
	}
	a, err := t.once(ctx, q, read)
	switch {
	case err == nil:
	case errors.Is(err, ErrAuth) && tok != "":
		t.opts.Token.Rejected(tok)
		if again, terr := t.token(ctx); terr == nil && again != tok {
			return t.once(ctx, q, read)
		}
	case errors.Is(err, errNoPath) && q.db:
		return a, fmt.Errorf("%w: slurmrestd serves no part of slurmdbd: %s", ErrNoAccounting, err.Error())
	case errors.Is(err, errNoPath):
		t.forget(q.api)
		if again, verr := t.version(ctx); verr == nil && again != q.api {
			q.api = again
			return t.once(ctx, q, read)
		}
	}
	return a, err
}

// token is the token to use now; empty when none is used.
func (t *rest) token(ctx context.Context) (string, error) {
	if t.opts.Token == nil {
		return "", nil
	}
	return t.opts.Token.Token(ctx)
}

// once makes one call, once. read is given the JSON of the answer.
func (t *rest) once(ctx context.Context, q request, read func(io.Reader) (answer, error)) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.opts.Timeout, errSlow)
	defer cancel()
	tok, err := t.token(ctx)
	if err != nil {
		return answer{}, err
	}
	req, err := t.build(ctx, q, tok)
	if err != nil {
		return answer{}, err
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", q, t.connectError(ctx, err))
	}
	defer resp.Body.Close()
	a, err := t.read(resp, read)
	_, _ = io.CopyN(io.Discard, resp.Body, 1024) // to its end, so that the connection can serve again
	if err == nil {
		err = restVerdict(q, resp.StatusCode, a)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", q, t.explain(ctx, q, tok, err))
	}
	t.learn(a.Meta)
	return a, nil
}

// build makes the HTTP request.
func (t *rest) build(ctx context.Context, q request, tok string) (*http.Request, error) {
	target := t.base + q.path
	if !q.bare {
		part := "/slurm/"
		if q.db {
			part = "/slurmdb/"
		}
		target = t.base + part + q.api + q.path
	}
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", q, ErrInput, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if tok != "" {
		req.Header.Set("X-SLURM-USER-TOKEN", tok)
		req.Header.Set("X-SLURM-USER-NAME", t.user(tok))
	}
	return req, nil
}

// read hands the JSON of an answer to read, within the size cap. What is not JSON
// is slurmrestd's own plain text, and becomes an error.
func (t *rest) read(resp *http.Response, read func(io.Reader) (answer, error)) (answer, error) {
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		return answer{}, fmt.Errorf("%w: HTTP %d to %s://%s: redirects are not followed; is there a gateway that wants a login?",
			ErrUnreachable, resp.StatusCode, to.Scheme, to.Host)
	}
	if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		const most = 4096
		text, err := io.ReadAll(io.LimitReader(resp.Body, most))
		if err != nil {
			return answer{}, err
		}
		return answer{}, plainError(resp.StatusCode, strings.TrimSpace(string(text)))
	}
	body := bufio.NewReader(&capped{r: resp.Body, left: t.most, most: t.most})
	if mark, err := body.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = body.Discard(3) // a byte order mark, which some gateways add
	}
	return read(body)
}

// capped is a reader that fails after a number of bytes.
type capped struct {
	r          io.Reader
	left, most int64
}

// Read reads on, or says that the cap was reached.
func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: it is larger than %d MiB", ErrDecode, c.most>>20)
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// learn remembers what an answer tells of the server.
func (t *rest) learn(m meta) {
	if m.Release == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slurm, t.storage = m.Release, m.Storage
}

// send makes a call that changes something. Only the remarks of the answer count.
func (t *rest) send(ctx context.Context, q request) error {
	_, err := t.do(ctx, q, func(r io.Reader) (answer, error) {
		return decodeAnswer(r, "", func(json.RawMessage) {})
	})
	return err
}
