package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// errSlow is the cause of our own deadline.
var errSlow = errors.New("no answer in time")

// errVague is 22.05's "Unspecified error", which stands for a token it does not
// accept as well as for a slurmctld that is down.
var errVague = errors.New("slurmrestd does not say what went wrong")

// Slurm's error numbers (slurm_errno.h) that are no error by themselves.
const (
	alreadyDone = 2021 // the job has ended
	emptyResult = 9003 // slurmdbd found nothing, which is an answer
)

// restVerdict says what an answer that was read means. HTTP codes are not believed:
// 22.05 answers 200 with its errors filled in, and newer versions put the refusal
// to cancel a job in status[] only.
func restVerdict(q request, status int, a answer) error {
	var list []remark
	for _, m := range append(a.Errors, a.Status...) {
		if m.Code != emptyResult && !(m.Code == alreadyDone && q.endedOK) {
			list = append(list, m)
		}
	}
	switch {
	case len(list) == 0 && len(a.Errors)+len(a.Status) > 0:
		return nil
	case len(list) == 0 && status >= http.StatusMultipleChoices:
		return plainError(status, "")
	case len(list) == 0:
		return nil
	case q.method == http.MethodGet && list[0].Code == 0 && list[0].Text == "No error":
		return fmt.Errorf("%w: %s", ErrNotFound, list[0].Detail) // 24.11 of an unknown node
	}
	err := remarksError(list)
	if classed(err) {
		return err
	}
	if strings.Contains(err.Error(), "Unspecified error") {
		return fmt.Errorf("%w: %w", errVague, err)
	}
	if class := statusClass(status); class != nil {
		return fmt.Errorf("%w: %w", class, err)
	}
	return err
}

// plainError is the error of an answer without JSON, or without remarks.
func plainError(status int, text string) error {
	if text == "" || strings.HasPrefix(text, "<") {
		text = http.StatusText(status)
	}
	class := statusClass(status)
	switch {
	case status < http.StatusMultipleChoices:
		return fmt.Errorf("%w: HTTP %d without JSON", ErrDecode, status)
	case status == http.StatusNotFound && strings.Contains(strings.ToLower(text), "find requested url"):
		class = errNoPath
	case class == nil:
		return fmt.Errorf("HTTP %d: %s", status, text)
	}
	return fmt.Errorf("%w: HTTP %d: %s", class, status, text)
}

// statusClass maps what is left to go by when an answer has no error number.
func statusClass(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusNetworkAuthenticationRequired, http.StatusProxyAuthRequired:
		return ErrAuth
	case http.StatusForbidden:
		return ErrDenied
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return ErrUnsupported
	case http.StatusBadRequest:
		return ErrInput
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return ErrUnreachable
	case http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return ErrBusy
	case http.StatusNotModified:
		return ErrDecode
	}
	return nil
}

// classed reports whether err has a class.
func classed(err error) bool {
	for _, class := range []error{
		ErrUnreachable, ErrBusy, ErrAuth, ErrDenied, ErrNotFound, ErrState, ErrUnsupported,
		ErrUnbelievable, ErrDecode, ErrNoAccounting, ErrInput,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// connectError classes a failure to get any answer.
func (t *rest) connectError(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return fmt.Errorf("%w: no answer from %s within %v", ErrBusy, t.base, t.opts.Timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// explain adds what we know of our side to an error of the server's: a deadline, a
// token that has expired, or one made for somebody else.
func (t *rest) explain(ctx context.Context, q request, tok string, err error) error {
	switch {
	case ctx.Err() != nil:
		return t.connectError(ctx, err)
	case tok != "" && !errors.Is(err, ErrDecode):
		err = t.explainToken(ctx, q, tok, err)
	}
	if errors.Is(err, errVague) && !classed(err) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// explainToken says so when the token is what is wrong. Versions report a refused
// token as many things: 500 "Unspecified error", "Unexpected message received",
// "Unable to connect to database".
func (t *rest) explainToken(ctx context.Context, q request, tok string, err error) error {
	suspect := errors.Is(err, ErrAuth) || errors.Is(err, ErrUnreachable) || !classed(err)
	c := readClaims(tok)
	user := t.user(tok)
	switch {
	case !suspect || errors.Is(err, errNoPath):
		return err // below, the answer's own class was wrong: only its words stay
	case !c.expires.IsZero() && !time.Now().Before(c.expires):
		return fmt.Errorf("%w: the token expired at %s: %s", ErrAuth, c.expires.Format(time.RFC3339), err.Error())
	case c.user != "" && c.user != user:
		return fmt.Errorf("%w: the token is for user %s, but requests are made as %s: make the two agree: %s",
			ErrAuth, c.user, user, err.Error())
	case !classed(err) && !q.db && versionNumber(q.api) < nestedAPI && t.tokenRefused(ctx, q):
		return fmt.Errorf("%w: the token is not accepted: %s", ErrAuth, err.Error())
	}
	return err
}

// tokenRefused asks slurmdbd whether it accepts the token: unlike slurmctld's part
// of 22.05, it says so.
func (t *rest) tokenRefused(ctx context.Context, q request) bool {
	probe := request{method: http.MethodGet, db: true, path: "/tres", api: q.api}
	_, err := t.once(ctx, probe, func(r io.Reader) (answer, error) {
		return decodeAnswer(r, "", func(json.RawMessage) {})
	})
	return errors.Is(err, ErrAuth)
}
