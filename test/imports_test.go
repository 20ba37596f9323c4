// Package test checks the whole project: which package may import which.
package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gpuctl/gpuctl/"

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// room is a row of the import table of ARCHITECTURE.md. A pattern that ends in
// /... stands for everything below it as well.
type room struct {
	name  string
	may   []string // packages of this module; "everything" for all but cmd
	alien []string // modules that only this room and those that name them may import
}

// table lists the rooms; the first that matches a package holds.
func table() []room {
	const (
		fleet, triage, themes = "internal/fleet", "internal/triage", "themes"
		actions, sources      = "internal/actions", "internal/sources"
		slurm, kube, remote   = "internal/slurm", "internal/kube", "internal/remote"
		agent, wire           = "internal/agent", "internal/agent/wire"
		pci, kmsg, host       = "internal/agent/pci", "internal/agent/kmsg", "internal/agent/host"
		faults, mig           = "internal/agent/faults", "internal/agent/mig"
		everything            = "everything"
	)
	ui := []string{"charm.land/bubbletea", "charm.land/bubbles", "charm.land/lipgloss"}
	ssh, k8s, nvml := []string{"golang.org/x/crypto/ssh"}, []string{"k8s.io/"}, []string{"github.com/NVIDIA/go-nvml"}
	return []room{
		{"cmd/...", []string{everything}, ui},
		{"test/...", []string{everything}, slices.Concat(ui, ssh, k8s)},
		{fleet, nil, nil},
		{themes, nil, nil},
		{triage, []string{fleet}, nil},
		{"internal/config", []string{fleet}, nil},
		{remote, nil, ssh},
		{slurm, []string{fleet, remote}, nil},
		{kube, []string{fleet}, k8s},
		{wire, []string{fleet}, nil},
		{"internal/agent/client", []string{wire, fleet, remote}, nil},
		{"internal/agent/nvml", []string{agent, mig, fleet}, nvml},
		{pci, nil, nil},
		{kmsg, []string{pci, fleet}, nil},
		{host, []string{fleet}, nil},
		{faults, []string{kmsg, pci, fleet}, nil},
		{"internal/agent/metrics", []string{agent, wire, fleet}, nil},
		{mig, []string{wire, fleet}, nil},
		{"internal/agent/mig/migtest", []string{mig, fleet}, nil},
		{"internal/agent/agenttest", []string{agent, host, mig, wire, fleet}, nil},
		{agent, []string{faults, host, kmsg, mig, pci, wire, fleet}, nil},
		{sources, []string{fleet}, nil},
		{"internal/sources/slurm", []string{sources, fleet, slurm}, nil},
		{"internal/sources/kube", []string{sources, fleet, kube}, k8s},
		{"internal/sources/node", []string{sources, fleet, wire, "internal/agent/client"}, nil},
		{"internal/sources/prom", []string{sources, fleet}, nil},
		{"internal/sources/tape", []string{sources, fleet}, nil},
		{actions, []string{fleet}, nil},
		{"internal/actions/slurm", []string{actions, fleet, slurm}, nil},
		{"internal/actions/kube", []string{actions, fleet, kube}, k8s},
		{"internal/actions/mig", []string{actions, fleet, mig, wire, "internal/agent/client"}, nil},
		{"internal/actions/checkpoint", []string{actions, fleet, triage, remote}, nil},
		{"internal/actions/recover", []string{actions, fleet, triage, remote}, nil},
		{"internal/actions/audit", []string{actions}, nil},
		{"internal/actions/actionstest", []string{actions, fleet}, nil},
		{"internal/sim/...", []string{"internal/agent/...", "internal/sim/...", fleet}, k8s},
		{"internal/tui/...", []string{fleet, triage, actions, "internal/tui/...", themes}, ui},
	}
}

func matches(pattern, path string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return path == base || below && strings.HasPrefix(path, base+"/")
}

// roomOf returns the room of a package of this module.
func roomOf(path string) (room, bool) {
	for _, r := range table() {
		if matches(r.name, path) {
			return r, true
		}
	}
	return room{}, false
}

// packages returns every package that the module needs, by import path.
func packages(t *testing.T) map[string]pkg {
	t.Helper()
	lookAtSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// lookAtSources looks at every source file: go test takes a result from its cache
// until a file changes that the test itself has looked at.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// ours returns the packages of this module with their paths below it.
func ours(t *testing.T) map[string]pkg {
	t.Helper()
	own := map[string]pkg{}
	for path, p := range packages(t) {
		if short, ok := strings.CutPrefix(path, module); ok {
			own[short] = p
		}
	}
	if len(own) < 5 {
		t.Fatalf("go list found only %d packages", len(own))
	}
	return own
}

// TestImportTable checks every arrow between packages of this module.
func TestImportTable(t *testing.T) {
	for path, p := range ours(t) {
		r, ok := roomOf(path)
		if !ok {
			t.Errorf("%s has no row in the import table: say in ARCHITECTURE.md and in %s what it may import", path, "test/imports_test.go")
			continue
		}
		for _, imp := range p.Imports {
			if to, own := strings.CutPrefix(imp, module); own && !allowed(r, to) {
				t.Errorf("wrong arrow: %s -> %s; %s may import %s", path, to, r.name, list(r.may))
			}
		}
	}
}

func allowed(r room, to string) bool {
	if slices.Contains(r.may, "everything") {
		// Nobody imports a command; test beds are for tests.
		return !strings.HasPrefix(to, "cmd/") && (strings.HasPrefix(r.name, "test") || !strings.HasPrefix(to, "test/"))
	}
	return slices.ContainsFunc(r.may, func(m string) bool { return matches(m, to) })
}

func list(may []string) string {
	if len(may) == 0 {
		return "nothing of this module"
	}
	return "only " + strings.Join(may, ", ")
}

// TestForeignModules checks that the big modules stay in the rooms made for them, and
// that the nouns and the themes need none at all.
func TestForeignModules(t *testing.T) {
	all := packages(t)
	var fenced []string
	for _, r := range table() {
		fenced = append(fenced, r.alien...)
	}
	for path, p := range all {
		short, own := strings.CutPrefix(path, module)
		if !own {
			continue
		}
		r, _ := roomOf(short)
		for _, imp := range p.Imports {
			fence := slices.IndexFunc(fenced, func(f string) bool { return strings.HasPrefix(imp, f) })
			if fence >= 0 && !slices.Contains(r.alien, fenced[fence]) {
				t.Errorf("wrong arrow: %s -> %s; only %s may import it", short, imp, list(roomsWith(fenced[fence])))
			}
			if (short == "internal/fleet" || short == "themes") && !all[imp].Standard {
				t.Errorf("wrong arrow: %s -> %s; it may import the standard library only", short, imp)
			}
		}
	}
}

func roomsWith(alien string) []string {
	var names []string
	for _, r := range table() {
		if slices.Contains(r.alien, alien) {
			names = append(names, r.name)
		}
	}
	return names
}

// TestReach checks what no chain of imports inside this module may lead to.
func TestReach(t *testing.T) {
	own := ours(t)
	for _, c := range []struct {
		from string
		to   []string
		why  string
	}{
		{"internal/tui", []string{"os/exec", "golang.org/x/crypto/ssh", "k8s.io/", "github.com/NVIDIA/go-nvml", "net/http"}, "the console draws snapshots, it reaches nothing itself"},
		{"internal/sources", []string{module + "internal/actions"}, "what reads the world must not change it"},
		{"internal/actions", []string{module + "internal/sources"}, "what changes the world reads back through the client"},
	} {
		for path := range own {
			if path != c.from && !strings.HasPrefix(path, c.from+"/") {
				continue
			}
			if chain := reach(own, path, c.to); chain != nil {
				t.Errorf("wrong arrows: %s; %s", strings.Join(chain, " -> "), c.why)
			}
		}
	}
}

// reach returns a chain of imports from a package to something it must not reach.
func reach(own map[string]pkg, from string, forbidden []string) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, imp := range own[at].Imports {
			if slices.ContainsFunc(forbidden, func(f string) bool { return strings.HasPrefix(imp, f) }) {
				return append(chainTo(came, at), strings.TrimPrefix(imp, module))
			}
			short, mine := strings.CutPrefix(imp, module)
			if _, seen := came[short]; mine && !seen {
				came[short] = at
				queue = append(queue, short)
			}
		}
	}
	return nil
}

func chainTo(came map[string]string, at string) []string {
	var chain []string
	for ; at != ""; at = came[at] {
		chain = append([]string{at}, chain...)
	}
	return chain
}

// TestWrongArrowsAreFound checks the checks.
func TestWrongArrowsAreFound(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"cmd/gpuctl", "internal/tui", true},
		{"cmd/gpuctl", "test/slurmtest", false},
		{"test/e2e", "test/slurmtest", true},
		{"test/e2e", "cmd/gpuctl", false},
		{"internal/sources/slurm", "internal/slurm", true},
		{"internal/sources/slurm", "internal/actions", false},
		{"internal/actions/slurm", "internal/actions/mig", false},
		{"internal/fleet", "internal/config", false},
		{"internal/tui/page", "internal/tui/table", true},
		{"internal/tui/page", "internal/slurm", false},
	} {
		r, ok := roomOf(c.from)
		if !ok || allowed(r, c.to) != c.want {
			t.Errorf("%s -> %s: allowed is %v, want %v", c.from, c.to, !c.want, c.want)
		}
	}
	own := map[string]pkg{
		"internal/tui":   {Imports: []string{module + "internal/fleet"}},
		"internal/fleet": {Imports: []string{"sort", "os/exec"}},
	}
	got := reach(own, "internal/tui", []string{"os/exec"})
	if want := []string{"internal/tui", "internal/fleet", "os/exec"}; !slices.Equal(got, want) {
		t.Errorf("chain %v, want %v", got, want)
	}
}
