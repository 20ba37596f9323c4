package tui

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/gpuctl/gpuctl/internal/tui/fixture"
	"github.com/gpuctl/gpuctl/internal/tui/keys"
	"github.com/gpuctl/gpuctl/internal/tui/tuitest"
)

// The README's picture is what the console draws of the fixture fleet.
func TestReadmePicture(t *testing.T) {
	dark := func(o *Options) { o.Prefs.Theme = "dark" }
	onScreen(t, 150, 34, fixture.Fleet(), dark, func(s *tuitest.Screen, _ *console) {
		s.Settle()
		var drawn bytes.Buffer
		if err := s.WriteSVG(&drawn, "gpuctl: findings, nodes, jobs and the queue on one screen"); err != nil {
			t.Fatal(err)
		}
		document(t, "console.svg", drawn.Bytes())
	})
}

// The list of keys is the one table that also dispatches them.
func TestKeysDocument(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprint(&b, "# Keys\n\nMade from the table that dispatches them; `make generate` writes it anew.\n\n")
	if err := keys.New(bindings()).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	document(t, "keys.md", b.Bytes())
}

// document checks that a file of docs is what the program says now; -update writes it.
func document(t *testing.T, name string, now []byte) {
	t.Helper()
	path := "../../docs/" + name
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, now, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(kept, now) {
		t.Errorf("docs/%s is not what the program says now (%v): make generate", name, err)
	}
}
