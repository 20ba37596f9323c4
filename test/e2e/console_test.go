package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// pane is the console in a real terminal multiplexer.
type pane struct {
	t      *testing.T
	socket string
}

// openConsole starts gpuctl in tmux. When it ends, the shell says with which code and
// whether the terminal is as it was.
func openConsole(t *testing.T, r *rig, w, h int, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: the console is not tried in a real terminal")
	}
	p := &pane{t: t, socket: fmt.Sprintf("gpuctl-e2e-%d", time.Now().UnixNano())}
	cmd := r.command(t.Context(), args...)
	line := "stty -g >" + r.dir + "/before; " + shellWords(cmd.Args) + "; echo \"exit=$?\"; stty -g >" + r.dir + "/after; cmp " + r.dir + "/before " + r.dir + "/after && echo terminal=same; sleep 600"
	p.tmux("new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "sh", "-c", line)
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", p.socket, "kill-server").Run() })
	return p
}

func shellWords(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *pane) screen() string { return p.tmux("capture-pane", "-p") }

func (p *pane) keys(k ...string) { p.tmux(append([]string{"send-keys"}, k...)...) }

// shows waits until the screen has every text, and returns it.
func (p *pane) shows(texts ...string) string {
	p.t.Helper()
	var screen string
	for range 300 {
		screen = p.screen()
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(screen, text)
		}
		if !missing {
			return screen
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("the screen never showed %q:\n%s", texts, screen)
	return ""
}

// press presses a key until the screen has every text. On a busy machine the cluster
// may count as stale for a moment, and actions are then off.
func (p *pane) press(key string, texts ...string) {
	p.t.Helper()
	for range 5 {
		p.keys(key)
		for range 50 {
			screen := p.screen()
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) }) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	p.t.Fatalf("%s never showed %q:\n%s", key, texts, p.screen())
}

// patient makes the rig's config poll every five seconds: two consoles at once on two
// busy cores are late for two.
func patient(r *rig) *rig {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "config.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("config.yaml", strings.Replace(string(text), "interval: 2s", "interval: 5s", 1))
	return r
}

func TestConsoleInARealTerminal(t *testing.T) {
	c := bed.Cluster(t)
	idle(t, c)
	for node, size := range map[string][2]int{"gpu-node002": {80, 24}, "gpu-node003": {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			job := submit(t, c, "alice", "--nodelist="+node, "--gres=gpu:8", "-J", "llama")
			p := openConsole(t, patient(newRig(t, "gpuadm", overSSH(c, "gpuadm"))), size[0], size[1])
			p.keys("2")
			p.shows("gpu-node008", "lab", "MIXED")
			p.keys("/")
			p.keys(strings.TrimPrefix(node, "gpu-"), "Enter")
			p.shows(node)
			p.press("d", "reason", "ticket")
			p.keys("-l", "XID 79")
			time.Sleep(time.Second) // keys that come faster than a person types do not answer a dialog
			p.keys("Enter")
			p.shows("scontrol update nodename="+node, "run it")
			time.Sleep(time.Second)
			p.keys("y")
			p.shows("MIXED+DRAIN", "wait until "+node+" is empty")
			if out := as(t, c, "root", "scontrol", "show", "node", node); !strings.Contains(out, "XID 79") {
				t.Errorf("the node does not drain:\n%s", out)
			}
			p.tmux("resize-window", "-x", "100", "-y", "30")
			p.shows("MIXED+DRAIN")
			as(t, c, "root", "scancel", job)
			p.shows("IDLE+DRAIN", "verified")
			p.keys("q")
			p.shows("exit=0", "terminal=same")
		})
	}
}

// The console ends, and leaves the terminal as it was, however it is ended.
func TestC105_TerminalIsRestored(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	for _, sig := range []string{"TERM", "HUP"} {
		p := openConsole(t, r, 80, 24)
		p.shows("lab")
		if _, err := r.cluster.As(t.Context(), "root", "pkill", "-"+sig, "-f", "^"+r.bin+" --config "+r.dir); err != nil {
			t.Fatal(err)
		}
		p.shows("exit=", "terminal=same")
	}
}

func TestC108_ConsoleWithoutATerminalSaysSo(t *testing.T) {
	r := newRig(t, "gpuadm", local)
	if a := r.want(2); !strings.Contains(a.stderr, "needs a terminal") {
		t.Errorf("%s", a.stderr)
	}
}
