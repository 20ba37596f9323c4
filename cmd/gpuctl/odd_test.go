package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// fakeSlurm puts commands first in PATH that print what they are given, and a home
// that is empty. What a command writes elsewhere is up to its script.
func fakeSlurm(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("GPUCTL_CONFIG", "")
}

// prints makes a script that prints text byte by byte.
func prints(text string) string {
	var octal strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&octal, `\0%03o`, text[i])
	}
	return "printf '%b' '" + octal.String() + "'\n"
}

// scontrolScript answers as a cluster of one node.
const scontrolScript = `case "$*" in
*"show config"*) printf 'Configuration data as of 2026-11-30T19:47:50\nSLURM_VERSION = 24.11.5\nClusterName = gpulab\nSlurmUser = slurm(64030)\n' ;;
*"show node"*) printf 'NodeName=gn1 Arch=x86_64\n   Gres=gpu:h100:8\n   State=IDLE\n   Partitions=low\n\n' ;;
*"show partition"*) printf 'PartitionName=low\n   State=UP\n\n' ;;
esac
`

// queueOf is what squeue prints of the rows: the cells of the first columns, which are
// id, id, user, account, partition, QOS and state, and of the last, which is the name.
func queueOf(names ...string) string {
	const columns, sep, end = 35, "\x1f", "\x1e\n"
	text := strings.Repeat("COLUMN"+sep, columns-1) + "WORK_DIR" + end
	for i, name := range names {
		id := fmt.Sprint(5000 + i)
		cells := append([]string{id, id, "alice", "research", "low", "normal", "RUNNING"}, make([]string, columns-7)...)
		cells[columns-3] = name
		text += strings.Join(cells, sep) + end
	}
	return text
}

func gpuctl(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// Whatever a user calls a job, every format shows it, on one line, and no terminal
// acts on it.
func TestC10_NamesThatActOnTerminals(t *testing.T) {
	names := []string{
		"line1\nline2", "tab\there", "esc\x1b[31mred\x1b]0;title\x07", "bad\xff\xfeutf", "a|b\"c'd=e", "日本語", "x\u202eRTL",
		strings.Repeat("x", 300), "", "cr\rover", "c1\u009b31m", "del\x7f", "\ufeffbom", "sep\x1fa", "rec\x1eb", "tag\U000e0041",
	}
	fakeSlurm(t, map[string]string{"scontrol": scontrolScript, "squeue": prints(queueOf(names...)), "sacctmgr": "", "sacct": "", "sdiag": ""})
	for _, format := range []string{"table", "wide", "name", "json", "yaml"} {
		code, out, errs := gpuctl(t, "get", "jobs", "-o", format)
		if code != exitDone || errs != "" {
			t.Errorf("%s: exit %d, %s", format, code, errs)
		}
		for i := range names {
			if id := fmt.Sprint(5000 + i); !strings.Contains(out, id) {
				t.Errorf("%s: job %s is missing", format, id)
			}
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) && format != "yaml" {
				t.Errorf("%s: %q reaches the terminal", format, r)
			}
		}
		if rows := strings.Count(out, "\n"); (format == "table" || format == "wide") && rows != len(names)+1 {
			t.Errorf("%s: %d lines", format, rows)
		}
	}
	sameInBoth(t, names)
}

// sameInBoth checks that JSON and YAML say the same, and the names as they are.
func sameInBoth(t *testing.T, names []string) {
	t.Helper()
	type jobs struct {
		Items []struct{ ID, Name string }
	}
	var asJSON, asYAML jobs
	_, text, _ := gpuctl(t, "get", "jobs", "-o", "json", "--sort-by", "id")
	if err := json.Unmarshal([]byte(text), &asJSON); err != nil {
		t.Fatal(err)
	}
	_, text, _ = gpuctl(t, "get", "jobs", "-o", "yaml", "--sort-by", "id")
	if err := yaml.Unmarshal([]byte(text), &asYAML); err != nil {
		t.Fatal(err)
	}
	if len(asJSON.Items) != len(names) || len(asYAML.Items) != len(names) {
		t.Fatalf("%d jobs in JSON, %d in YAML", len(asJSON.Items), len(asYAML.Items))
	}
	for i, j := range asJSON.Items {
		want := strings.ToValidUTF8(names[i], "\ufffd\ufffd"[:3*strings.Count(names[i], "\xff")*2])
		if asYAML.Items[i] != j || !strings.ContainsAny(names[i], "\x1f") && j.Name != want {
			t.Errorf("%q: JSON %+q, YAML %+q", names[i], j, asYAML.Items[i])
		}
	}
}

func TestC09_BannerOnBothOutputs(t *testing.T) {
	banner := "echo 'Welcome to = gpulab'; echo; echo 'bash: module: command not found' >&2; echo 'Unauthorized access needs permission to fail' >&2\n"
	fakeSlurm(t, map[string]string{
		"scontrol": banner + scontrolScript, "squeue": banner + prints(queueOf("train")), "sacctmgr": banner, "sacct": banner, "sdiag": banner,
	})
	for word, want := range map[string]string{"jobs": "5000\n", "nodes": "gn1\n", "clusters": "local\n", "queue": ""} {
		if code, out, errs := gpuctl(t, "get", word, "-o", "name"); code != exitDone || out != want {
			t.Errorf("%s: exit %d, %q, %s", word, code, out, errs)
		}
	}
}

// An answer that is none is told in one sentence, and is no empty list that scripts
// would believe.
func TestC115_AnswersThatAreNone(t *testing.T) {
	whole := queueOf("train", "test")
	for name, script := range map[string]string{
		"cut short":         prints(whole[:len(whole)-20]),
		"nothing":           "",
		"exit 1 with data":  prints(whole) + "echo 'squeue: error: odd' >&2; exit 1",
		"killed":            prints(whole) + "kill -9 $$",
		"another format":    "echo '1 train alice'",
		"unknown complaint": "echo 'squeue: error: something new' >&2",
		"slow controller":   "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			fakeSlurm(t, map[string]string{"scontrol": scontrolScript, "squeue": script, "sacctmgr": "", "sacct": "", "sdiag": ""})
			code, out, errs := gpuctl(t, "get", "jobs", "-o", "name")
			if code != exitSource || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "squeue") || strings.Contains(errs, "\x1f") {
				t.Errorf("exit %d, %q, %s", code, out, errs)
			}
		})
	}
}

// Every wrong use is one sentence on standard error and exit code 2.
func TestUsageMistakes(t *testing.T) {
	fakeSlurm(t, map[string]string{"scontrol": scontrolScript, "squeue": prints(queueOf())})
	for _, line := range []string{
		"get", "foo", "get foo", "get nodes --nope", "get nodes -o xml", "get nodes -o=", "--nope", "get nodes --filter (((",
		"get nodes --filter nosuch==1", "get nodes --sort-by zz", "get nodes gn[1-", "completion tcsh", "help nosuch", "help mig nosuch",
		"describe", "describe node", "describe foo x", "config foo", "mig foo", "gpu foo", "audit --since -1h", "audit --since x", "version x",
		"get nodes --context nosuch", "get nodes --config /nonexistent", "drain", "drain gn1 --reason", "drain gn1 --reason x --timeout -1s",
		"get nodes --log-level loud", "get nodes --log-file /nonexistent/x",
	} {
		code, out, errs := gpuctl(t, strings.Fields(line)...)
		if code != exitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "gpuctl: ") {
			t.Errorf("%s: exit %d, %q, %q", line, code, out, errs)
		}
	}
	for _, line := range []string{"help", "help mig get", "config", "mig", "gpu", "completion bash", "completion zsh", "completion fish", "--version", "version", "drain --help"} {
		if code, out, errs := gpuctl(t, strings.Fields(line)...); code != exitDone || out == "" || errs != "" {
			t.Errorf("%s: exit %d, %q", line, code, errs)
		}
	}
}

func TestC125_NoHomeToWriteIn(t *testing.T) {
	fakeSlurm(t, map[string]string{"scontrol": scontrolScript, "squeue": prints(queueOf("train")), "sacctmgr": "", "sacct": "", "sdiag": ""})
	for _, home := range []string{os.DevNull, "", "/nonexistent", "/proc/1/nothing"} {
		t.Setenv("HOME", home)
		if code, out, errs := gpuctl(t, "get", "jobs", "-o", "name"); code != exitDone || out != "5000\n" || errs != "" {
			t.Errorf("HOME=%s: exit %d, %q, %s", home, code, out, errs)
		}
	}
}

func TestC102_LocaleWithoutUTF8(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"C", "", "en_US.UTF-8", true},
		{"", "", "POSIX", true},
		{"", "", "en_US.ISO-8859-1", true},
		{"", "C.UTF-8", "C", false},
		{"", "", "de_DE.utf8", false},
		{"", "", "", false},
		{"en_US.UTF-8", "C", "C", false},
		{"", "", "en_US", true},
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := narrowCharset(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Clocks that disagree make no negative times.
func TestC20_NoNegativeTimes(t *testing.T) {
	now := time.Now()
	for _, j := range []*fleet.Job{
		{Base: "COMPLETED", Started: now, Ended: now.Add(-time.Hour)},
		{Base: "RUNNING", Started: now.Add(14 * time.Hour)},
		{Base: "PENDING", Started: now.Add(14 * time.Hour)},
		{Base: "COMPLETING", Started: now.AddDate(300, 0, 0)},
	} {
		if got := elapsed(j, now); strings.HasPrefix(got, "-") && got != "-" {
			t.Errorf("%s: %s", j.Base, got)
		}
	}
}

// A list that could not be written is not a list.
func TestC115_OutputThatTakesNothing(t *testing.T) {
	fakeSlurm(t, map[string]string{"scontrol": scontrolScript, "squeue": prints(queueOf("train")), "sacctmgr": "", "sacct": "", "sdiag": ""})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"get jobs", "get jobs -o name", "get jobs -o json", "describe node gn1", "version", "config path", "help"} {
		var errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), full, &errs); code != exitFailed || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: exit %d, %s", line, code, &errs)
		}
	}
}
