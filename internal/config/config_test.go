package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func none(string) string { return "" }

func TestLoadOfDesignSample(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "c.yaml", `
clusters:
- name: ai_cluster
  slurm: {ssh: {host: login1}}
  guard: typed
- name: prod-a
  kubernetes: {context: prod-a}
agents: {via: ssh}
checkpoints:
- match: 'user==alice && name~llama'
  dir: /scratch/{user}/{name}/ckpt
  resume: {env: RESUME_FROM}
limits: {nodes_per_window: 4, window: 10m, percent: 10}
`)
	c, files, err := Load(Options{File: file, Getenv: none, SystemFile: filepath.Join(dir, "none")})
	if err != nil {
		t.Fatal(err)
	}
	if c.Clusters[0].Slurm.SSH.Host != "login1" || c.Limits.NodesPerWindow != 4 || time.Duration(c.Limits.Window) != 10*time.Minute {
		t.Errorf("%+v", c)
	}
	if len(files) != 2 || files[0].Read || !files[1].Read || files[1].Why != "--config" {
		t.Errorf("files %+v", files)
	}
}

func TestOneTextIsAListOfOne(t *testing.T) {
	c := Default()
	if err := decode([]byte("clusters: [{name: a, slurm: {ssh: {host: h, knownHosts: /k, identityFiles: [/a, /b]}}}]"), &c); err != nil {
		t.Fatal(err)
	}
	if s := c.Clusters[0].Slurm.SSH; len(s.KnownHosts) != 1 || len(s.IdentityFiles) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestWithoutAnyFileOrHome(t *testing.T) {
	c, _, err := Load(Options{Getenv: none, SystemFile: "/nonexistent/x"})
	if err != nil || len(c.Clusters) != 0 || c.State(none) != "" || c.Audit(none) != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestStrictestReadOnlyWins(t *testing.T) {
	dir := t.TempDir()
	system := write(t, dir, "system.yaml", "readOnly: true\nclusters: [{name: a, readOnly: true, slurm: {local: {}}}]\n")
	user := write(t, dir, "gpuctl/config.yaml", "readOnly: false\nclusters: [{name: a, readOnly: false, slurm: {local: {}}}]\n")
	env := func(k string) string {
		if k == "XDG_CONFIG_HOME" {
			return filepath.Dir(filepath.Dir(user))
		}
		return ""
	}
	c, _, err := Load(Options{Getenv: env, SystemFile: system})
	if err != nil || !c.ReadOnly || !c.Clusters[0].ReadOnly {
		t.Errorf("%+v, %v", c, err)
	}
}

// Each wrong file gives one sentence that names the place and what to write.
func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"clustres: []": "clustres is not known; did you mean clusters?",
		"clusters: [{name: a, slurm: {rest: {url: 'localhost:6820', token_file: x}}}]":    "clusters[0].slurm.rest.url",
		"clusters: [{name: a, slurm: {rest: {tokenfile: x}}}]":                            "neither url nor socket",
		"clusters: [{name: a, slurm: {rest: {url: 'http://h:1'}}}]":                       "no token",
		"clusters: [{name: a, slurm: {rest: {url: 'http://u:secret@h:1', tokenEnv: X}}}]": "has a user name in it; set user",
		"clusters: [{name: a, slurm: {ssh: {}}}]":                                         "clusters[0].slurm.ssh.host is missing",
		"clusters: [{name: a, slurm: {}}]":                                                "set local, ssh or rest",
		"clusters: [{name: a}]":                                                           "neither slurm nor kubernetes",
		"clusters: [{name: a, slurm: {local: {}}}, {name: a, slurm: {local: {}}}]":        "used twice",
		"clusters: [{slurm: {local: {}}}]":                                                "clusters[0].name is missing",
		"clusters: [{name: a, interval: 1s, slurm: {local: {}}}]":                         "at least 2s",
		"clusters: [{name: a, interval: 10, slurm: {local: {}}}]":                         "clusters[0].interval is a number; it must be a duration",
		"clusters: [{name: a, guard: maybe, slurm: {local: {}}}]":                         "none, confirm, typed",
		"agents: {via: carrier}":                                                          "ssh, socket, kube, https",
		"agents: {jump: login1}":                                                          "agents.via is missing",
		"agents: {via: ssh, nodes: 'gpu['}":                                               "agents.nodes",
		"agents: {via: ssh, port: 70000}":                                                 "from 1 to 65535",
		"agents: {via: ssh, concurrency: 1000}":                                           "from 1 to 256",
		"agents: {via: ssh, command: ['']}":                                               "names no command",
		"agents: {via: socket, socket: '/a/{node}', jump: bob@h}":                         "agents.user and agents.port",
		"agents: {via: socket}":                                                           "agents.socket is missing",
		"agents: {via: socket, socket: run/a}":                                            "absolute path",
		"agents: {via: socket, socket: /run/a.sock, nodes: [a, b]}":                       "write {node}",
		"agents: {via: https, certFile: /c, keyFile: /k}":                                 "agents.port is missing",
		"agents: {via: https, port: 9443, caFile: /ca, certFile: /crt}":                   "certFile and keyFile",
		"limits: {percent: 101}":                                                          "from 0 to 100",
		"clusters: 5":                                                                     "clusters is a number; it must be a list",
		"clusters: {a: b}":                                                                "clusters is a group of fields; it must be a list",
		"clusters: [5]":                                                                   "clusters[0] is a number; it must be a group of fields",
		"clusters: [{name: 7, slurm: {local: {}}}]":                                       "clusters[0].name is a number; it must be a text; put it in quotes",
		"clusters: [{name: a, slurm: {local: {conf: [x]}}}]":                              "clusters[0].slurm.local.conf is a list; it must be a text",
		"clusters: [{name: a, slurm: {ssh: {host: h, port: 2.5}}}]":                       "clusters[0].slurm.ssh.port is a number; it must be a whole number",
		"clusters: [{name: a, slurm: {ssh: {host: h, port: 1e30}}}]":                      "must be a whole number",
		"limits: {percent: abc}":                                                          "limits.percent is a text; it must be a number",
		"limits: {window: 10}":                                                            "limits.window is a number; it must be a duration with a unit",
		"readOnly: yess":                                                                  "readOnly is a text; it must be true or false",
		"nodes: [a]":                                                                      "nodes is a list; it must be a group of fields",
		"- x":                                                                             "the file is a list; it must be a group of fields",
		"x":                                                                               "the file is a text; it must be a group of fields",
		"checkpoints: [{match: 'a &&'}]":                                                  "checkpoints[0].match",
		"a: [":                                                                            "not YAML",
		"readOnly: true\nread_only: true":                                                 "set twice",
	} {
		c := Default()
		err := decode([]byte(text), &c)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestWaysToAgents(t *testing.T) {
	for _, text := range []string{
		"{via: ssh, jump: 'gpuop@login1:22', nodes: 'gpu[001-512]', command: [sudo, -n, gpuctl, agent, --stdio]}",
		"{via: socket, socket: '/run/gpuctl/{node}.sock', jump: login1}", "{via: socket, socket: /run/gpuctl/agent.sock, nodes: gpu1}",
		"{via: https, port: 9443, ca_file: /ca, cert_file: /crt, key_file: /key}", "{}",
	} {
		c := Default()
		if err := decode([]byte("agents: "+text), &c); err != nil {
			t.Error(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNamedFileMustExist(t *testing.T) {
	_, _, err := Load(Options{File: "/nonexistent/c.yaml", Getenv: none, SystemFile: "/nonexistent/x"})
	if err == nil || !strings.Contains(err.Error(), "--config") {
		t.Error(err)
	}
}

func TestSampleAndPrintAreConfigs(t *testing.T) {
	c := Default()
	if err := decode([]byte(Sample), &c); err != nil || c.Validate() != nil {
		t.Fatal(err, c.Validate())
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again := Default()
	if err := decode(text, &again); err != nil || again.Clusters[0].Name != "my-cluster" || again.Clusters[0].Slurm.Local == nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Sample)
	f.Add("clusters: [{name: a, slurm: {rest: {url: x, tokenCommand: [a, b]}}}]")
	f.Add("limits: {nodes_per_window: -1, window: 1e9, percent: .nan}")
	f.Add("nodes: {a/b: c}\nclusters: null")
	f.Fuzz(func(_ *testing.T, text string) {
		c := Default()
		if decode([]byte(text), &c) == nil {
			_ = c.Validate()
		}
	})
}

// A home that is none, or another's, is no reason not to start; the system's file is.
func TestC125_HomeThatCannotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root reads every file: only the home that is no folder is tried")
	}
	dir := t.TempDir()
	locked := write(t, dir, "locked/.config/gpuctl/config.yaml", "readOnly: true\n")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{os.DevNull, filepath.Join(dir, "none"), locked, filepath.Join(dir, "locked")} {
		env := func(k string) string { return map[string]string{"HOME": home}[k] }
		_, files, err := Load(Options{Getenv: env, SystemFile: filepath.Join(dir, "none")})
		if err != nil {
			t.Errorf("%s: %v", home, err)
		}
		if _, cannot := os.ReadFile(files[1].Path); files[1].Read != (cannot == nil) {
			t.Errorf("%s: %+v", home, files[1])
		}
	}
	if _, _, err := Load(Options{Getenv: none, SystemFile: dir}); err == nil {
		t.Error("a system file that cannot be read may forbid something")
	}
}
