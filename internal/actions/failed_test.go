package actions_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/actionstest"
)

// Whoever was asked says that it did not come about: that it looks right is chance,
// and there is nothing to wait for.
func TestFailedStepIsNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.a.SetFault("a1", actionstest.Fault{Do: fmt.Errorf("%w: restored", actions.ErrFailed), Lost: true})
		began := time.Now()
		events, err := r.engine.Run(t.Context(), r.plan(t, actions.MIGApply, actionstest.Nodes("a", "a1")...), actions.Confirmation{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for e := range events {
			if e.Finished != nil && (e.Finished.Result != actions.Failed || e.Finished.Detail != "failed: restored" || e.Finished.After != "it is so") {
				t.Errorf("%+v", e.Finished)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}
