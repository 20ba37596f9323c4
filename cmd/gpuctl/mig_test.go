package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/actions"
)

// What makes no sense is said before anything is connected.
func TestMIGUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mig.yaml")
	if err := os.WriteFile(file, []byte(`{version: v1, mig-configs: {all-disabled: [{devices: all, mig-enabled: false}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"mig plan gn1 3g --gpu 0": "looks like 3g.40gb",
		"mig apply gn1 3g.40gb":   "--gpu all",
		"gpu reset gn1":           "--gpu all",
		"mig plan gn1":            "gpuctl mig plan NODE LAYOUT",
		"mig apply gn1 balanced --gpu all --file " + file:     "no config \"balanced\"; it has all-disabled",
		"mig apply gn1 balanced --gpu all --file /no/such/fi": "no such file",
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, errs.String())
		}
	}
}

// The way back is printed as commands that exist.
func TestMIGUndoIsACommand(t *testing.T) {
	var out bytes.Buffer
	p := &actions.Plan{
		Verb: actions.MIGApply, Targets: []actions.TargetPlan{{Target: actions.Target{Kind: "node", Name: "gn1"}}},
		Inverse: &actions.Request{Verb: actions.MIGApply, Options: actions.Options{GPUs: []actions.GPUWish{{UUID: "GPU-1", Layout: "3g.40gb@0"}}}},
	}
	printNotes(&out, p)
	if got := out.String(); got != "undo    gpuctl mig apply gn1 --gpu GPU-1 3g.40gb@0\n" {
		t.Error(got)
	}
}
