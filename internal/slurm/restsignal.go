package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Requeue implements Transport.
func (t *rest) Requeue(ctx context.Context, id string, hold bool) error {
	target, err := actionID(id)
	if err != nil {
		return err
	}
	if strings.Contains(target, "+") {
		return fmt.Errorf("requeue %s: %w: a het job is requeued as a whole, by its leader's id", id, ErrUnsupported)
	}
	if _, err := t.ready(ctx, OpRequeue); err != nil {
		return err
	}
	body := map[string]any{"jobs": []string{target}}
	if hold {
		body["flags"] = []string{"HOLD"}
	}
	return t.send(ctx, request{method: http.MethodPost, path: "/jobs/requeue", body: body})
}

// Suspend implements Transport: no version can.
func (t *rest) Suspend(context.Context, string) error { return t.Can(OpSuspend) }

// Resume implements Transport: no version can.
func (t *rest) Resume(context.Context, string) error { return t.Can(OpSuspend) }

// Signal implements Transport.
func (t *rest) Signal(ctx context.Context, id, signal string, batch bool) error {
	target, err := actionID(id)
	if err != nil {
		return err
	}
	op := OpCancel
	if signal != "" {
		op, err = OpSignal, checkSignal(signal)
		signal = strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	}
	if err != nil {
		return err
	}
	v, err := t.ready(ctx, op)
	switch {
	case err != nil:
		return err
	case v < nestedAPI:
		return t.signalOld(ctx, v, id, signal, batch)
	case strings.Contains(target, "["):
		return t.send(ctx, signalTasks(target, signal, batch))
	}
	q := request{method: http.MethodDelete, path: jobPath(target), endedOK: signal == ""}
	if signal != "" {
		q.query = url.Values{"signal": {signal}, "flags": {signalFlag(batch)}}
	}
	return t.send(ctx, q)
}

// signalFlag says whom a signal reaches. Without any flag it would reach the batch
// script as well, which ends one that does not expect it.
func signalFlag(batch bool) string {
	if batch {
		return "FULL_JOB"
	}
	return "FULL_STEPS_ONLY"
}

// signalTasks signals or cancels a set of waiting tasks, which only the call for
// many jobs can name.
func signalTasks(target, signal string, batch bool) request {
	body := map[string]any{"jobs": []string{target}}
	if signal != "" {
		body["signal"] = signal
		body["flags"] = []string{signalFlag(batch)}
	}
	return request{method: http.MethodDelete, path: "/jobs", body: body, endedOK: signal == ""}
}

// signalOld signals or cancels in v0.0.38, where a signal always reaches the batch
// script.
func (t *rest) signalOld(ctx context.Context, v int, id, signal string, batch bool) error {
	if signal != "" && !batch {
		return t.cannot("signal a job's steps and not its batch script")
	}
	targets, err := t.updateTargets(ctx, v, id)
	if err != nil {
		return err
	}
	var errs []error
	for _, target := range targets {
		q := request{method: http.MethodDelete, path: jobPath(target), endedOK: signal == ""}
		if signal != "" {
			q.query = url.Values{"signal": {signal}}
		}
		errs = append(errs, t.send(ctx, q))
	}
	return errors.Join(errs...)
}
