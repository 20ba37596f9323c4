package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// tree is a root folder made of files and links ("-> target").
func tree(t *testing.T, files map[string]string) Host {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Host{Root: root}
}

func TestParseCgroup(t *testing.T) {
	const (
		id  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		uid = "11111111-2222-3333-4444-555555555555"
	)
	under := strings.ReplaceAll(uid, "-", "_")
	for name, tc := range map[string]struct {
		text string
		want Claim
	}{
		"slurm, v2":           {"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", Claim{Job: "4711"}},
		"slurm, v2, batch":    {"0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_special", Claim{Job: "4711"}},
		"slurm, many daemons": {"0::/system.slice/gn1_slurmstepd.scope/job_8/step_extern/user", Claim{Job: "8"}},
		"slurm, v1": {"12:memory:/slurm/uid_1000/job_4711/step_0/task_0\n11:pids:/system.slice/slurmd.service\n" +
			"4:devices:/slurm/uid_1000/job_4711/step_0\n1:name=systemd:/system.slice/slurmd.service\n", Claim{Job: "4711"}},
		"slurm, v1, many daemons": {"4:devices:/slurm_gn1/uid_0/job_9/step_batch\n", Claim{Job: "9"}},
		"slurmd in a pod": {
			"0::/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope/system.slice/slurmstepd.scope/job_7/step_0/user",
			Claim{Job: "7", Pod: uid, Container: id},
		},
		"pod, systemd, containerd": {
			"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope",
			Claim{Pod: uid, Container: id},
		},
		"pod, systemd, guaranteed, cri-o": {"0::/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id + ".scope/container\n", Claim{Pod: uid, Container: id}},
		"pod, systemd, old containerd":    {"9:devices:/system.slice/containerd.service/kubepods-besteffort-pod" + under + ".slice:cri-containerd:" + id, Claim{Pod: uid, Container: id}},
		"pod, cgroupfs":                   {"0::/kubepods/besteffort/pod" + uid + "/" + id, Claim{Pod: uid, Container: id}},
		"pod, cgroupfs, v1":               {"9:cpuset:/\n8:devices:/kubepods/pod" + uid + "/" + id + "\n", Claim{Pod: uid, Container: id}},
		"static pod":                      {"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + id, Claim{Pod: id[:32], Container: id}},
		"kind":                            {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope", Claim{Pod: uid, Container: id}},
		"docker":                          {"0::/system.slice/docker-" + id + ".scope", Claim{Container: id}},
		"docker, v1":                      {"9:devices:/docker/" + id, Claim{Container: id}},
		"a service":                       {"0::/system.slice/nvidia-dcgm.service\n", Claim{}},
		"a login":                         {"0::/user.slice/user-1000.slice/session-3.scope\n", Claim{}},
		"made by a user":                  {"0::/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_1/step_0\n", Claim{}},
		"made by a user, v1 form":         {"0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_1\n", Claim{}},
		"no number":                       {"0::/system.slice/slurmstepd.scope/job_abc/step_0\n", Claim{}},
		"not a job's":                     {"0::/system.slice/slurmstepd.scope/system\n", Claim{}},
		"root":                            {"0::/\n", Claim{}},
		"garbage":                         {"::::\n\n0\nx:y", Claim{}},
		"nothing":                         {"", Claim{}},
	} {
		if diff := cmp.Diff(tc.want, ParseCgroup(tc.text)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzParseCgroup(f *testing.F) {
	f.Add("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n")
	f.Add("9:devices:/kubepods/pod11111111-2222-3333-4444-555555555555/x\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := ParseCgroup(text)
		if c.Job != "" && !isNumber(c.Job) || len(c.Pod) > 36 || strings.ContainsAny(c.Pod+c.Container, "/_\n\x1b") {
			t.Fatalf("%+v", c)
		}
	})
}

func TestOwner(t *testing.T) {
	h := tree(t, map[string]string{
		"etc/passwd":      "root:x:0:0:root:/root:/bin/sh\n",
		"proc/10/cgroup":  "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
		"proc/11/cgroup":  "0::/system.slice/slurmd.service\n",
		"proc/11/environ": "HOME=/root\x00SLURM_JOB_ID=12\x00SLURM_JOB_IDX=99\x00",
		"proc/12/cgroup":  "0::/system.slice/x.service\n",
		"proc/12/environ": "SLURM_JOB_ID=12; rm\x00",
	})
	ignoreUser := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".User" }, cmp.Ignore())
	for name, tc := range map[string]struct {
		pid  int
		root bool
		want fleet.Owner
	}{
		"cgroup":                    {10, true, fleet.Owner{Job: fleet.JobKey{ID: "4711"}, Source: SourceCgroup, Proven: true}},
		"environment":               {11, true, fleet.Owner{Job: fleet.JobKey{ID: "12"}, Source: SourceEnvironment}},
		"environment, not root":     {11, false, fleet.Owner{Source: SourceCgroup, Proven: true}},
		"environment, not a number": {12, true, fleet.Owner{Source: SourceCgroup, Proven: true}},
	} {
		if diff := cmp.Diff(tc.want, h.Owner(tc.pid, tc.root), ignoreUser); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if h.UserName(0) != "root" || h.UserName(4242) != "uid 4242" {
		t.Error(h.UserName(0), h.UserName(4242))
	}
}

func TestC89_ProcessGone(t *testing.T) {
	h := tree(t, map[string]string{"proc/1/comm": "init\n"})
	if o := h.Owner(4242, true); o.Job.ID != "" || o.Pod != "" || o.User != "" {
		t.Errorf("%+v", o)
	}
	if _, err := h.ProcessName(4242); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	if h.Running(4242, time.Now()) {
		t.Error("gone, and runs")
	}
}

func TestRunning(t *testing.T) {
	stat := func(ticks string) string {
		return "7 (a) b) (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 " + ticks + " 1 1\n"
	}
	h := tree(t, map[string]string{
		"proc/uptime": "1000.00 900.00\n",
		"proc/7/stat": stat("90000"), // started 900 s after boot, 100 s ago
		"proc/8/stat": "8 (torn",
	})
	for _, tc := range []struct {
		pid  int
		at   time.Time
		want bool
	}{
		{7, time.Now(), true},
		{7, time.Now().Add(-50 * time.Second), true},
		{7, time.Now().Add(-200 * time.Second), false}, // another process with its number
		{8, time.Now(), true},
		{9, time.Now(), false},
	} {
		if got := h.Running(tc.pid, tc.at); got != tc.want {
			t.Errorf("pid %d at %s: %v", tc.pid, tc.at, got)
		}
	}
}

func TestC90_Holders(t *testing.T) {
	h := tree(t, map[string]string{
		"proc/20/fd/3":  "-> /dev/nvidia3",
		"proc/20/fd/4":  "-> /dev/nvidiactl",
		"proc/20/comm":  "nv-hostengine\n",
		"proc/21/fd/0":  "-> /dev/nvidia30",
		"proc/22/fd/0":  "-> /dev/nvidia3 (deleted)",
		"proc/22/comm":  "python3\n",
		"proc/23/fd":    "not a folder",
		"proc/self/fd":  "x",
		"proc/24/fd/99": "-> /dev/nvidia-uvm",
	})
	got, err := h.Holders(3)
	if err != nil || len(got) != 2 || got[0].PID != 20 || got[0].Name != "nv-hostengine" || got[1].PID != 22 {
		t.Errorf("%v %v", got, err)
	}
}

func TestC79_FabricManager(t *testing.T) {
	running := tree(t, map[string]string{"proc/5/comm": "nv-fabricmanage\n"})
	idle := tree(t, map[string]string{"proc/5/comm": "bash\n"})
	enabled := tree(t, map[string]string{"proc/5/comm": "bash\n", managerUnit: "-> /lib/systemd/system/nvidia-fabricmanager.service"})
	for name, tc := range map[string]struct {
		host              Host
		switches, waiting bool
		want              fleet.CheckResult
	}{
		"runs":                     {running, true, false, fleet.CheckOK},
		"dead with switches":       {idle, true, false, fleet.CheckBad},
		"dead, GPU not joined":     {idle, false, true, fleet.CheckWarn},
		"enabled and dead":         {enabled, false, false, fleet.CheckBad},
		"PCIe board, no fabric":    {idle, false, false, fleet.CheckNotApplicable},
		"processes cannot be seen": {tree(t, nil), true, false, fleet.CheckUnreadable},
	} {
		m := FabricManager{Host: tc.host}
		if c := m.Check(tc.switches, tc.waiting); c.Result != tc.want || c.Text == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	m := FabricManager{Host: running}
	m.Check(true, false)
	if err := os.Remove(running.path("proc/5/comm")); err != nil {
		t.Fatal(err)
	}
	if c := m.Check(true, false); c.Result != fleet.CheckBad {
		t.Errorf("it died: %+v", c)
	}
}

func TestFacts(t *testing.T) {
	h := tree(t, map[string]string{
		"proc/sys/kernel/random/boot_id": "b-1\n", "etc/machine-id": "m-1\n", "proc/sys/kernel/hostname": "gn001\n",
		"proc/uptime": "60.00 1.00\n", "sys/module/nvidia_drm/parameters/modeset": "Y\n",
	})
	booted, err := h.Booted()
	if h.BootID() != "b-1" || h.MachineID() != "m-1" || h.Name() != "gn001" || !h.DisplayDriver() || err != nil {
		t.Error(h.BootID(), h.MachineID(), h.Name(), h.DisplayDriver(), err)
	}
	if ago := time.Since(booted); ago < time.Minute || ago > 2*time.Minute {
		t.Error(ago)
	}
	for _, bad := range []string{"", "x", "-1 1", "NaN 1"} {
		if _, err := tree(t, map[string]string{"proc/uptime": bad}).Booted(); err == nil {
			t.Errorf("uptime %q", bad)
		}
	}
}
