package node

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/client"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// smiFields is what nvidia-smi is asked for. One unknown field fails the whole query,
// so all of them are as old as the first drivers with MIG.
var smiFields = [...]string{
	"index", "uuid", "name", "serial", "pci.bus_id", "vbios_version", "driver_version",
	"temperature.gpu", "power.draw", "power.limit", "utilization.gpu", "memory.used", "memory.total", "clocks.sm",
	"mig.mode.current", "mig.mode.pending",
}

// smiCommand is the fixed command that is run on a node without an agent.
func smiCommand() []string {
	return []string{"nvidia-smi", "--query-gpu=" + strings.Join(smiFields[:], ","), "--format=csv,noheader,nounits"}
}

// exitNoCommand is the shell's word for a command that is not there.
const exitNoCommand = 127

// maxSMI bounds what is believed of one host.
const maxSMI = 1024

// lostLine is how nvidia-smi tells of a device that it cannot open, in place of a row.
var lostLine = regexp.MustCompile(`(?i)device handle for gpu ?(?:[0-9]+: )?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]): (.*)`)

// readSMI reads what nvidia-smi answered. A line that cannot be read costs its own
// device only.
func readSMI(host string, at time.Time, out client.Output) (fleet.HostReport, error) {
	r := fleet.HostReport{Host: host, Agent: fleet.AgentInfo{
		Host: host, Expected: -1, At: at, Via: fleet.ViaSMI, Status: fleet.SourceLive,
	}}
	for line := range strings.Lines(string(out.Stdout) + "\n" + string(out.Stderr)) {
		line = strings.TrimSpace(strings.ToValidUTF8(line, "?"))
		if line != "" && len(r.GPUs) < maxSMI && len(r.Agent.Problems) < maxSMI {
			readLine(&r, line)
		}
	}
	number(r.GPUs, at)
	slices.SortStableFunc(r.GPUs, func(a, b fleet.GPU) int { return a.Index - b.Index })
	r.Agent.Present = len(r.GPUs)
	if out.Exit == 0 || len(r.GPUs) > 0 {
		return r, nil
	}
	why := fmt.Sprintf("nvidia-smi ended with exit status %d", out.Exit)
	if out.Exit == exitNoCommand {
		why = "nvidia-smi is not there either"
	}
	if n := len(r.Agent.Problems); n > 0 {
		why += ": " + r.Agent.Problems[n-1]
	}
	return r, errors.New(why)
}

// number gives the devices that are told without an index those that are free.
func number(gpus []fleet.GPU, at time.Time) {
	taken := map[int]bool{}
	for i := range gpus {
		gpus[i].At = at
		taken[gpus[i].Index] = true
	}
	next := 0
	for i := range gpus {
		if gpus[i].Index >= 0 {
			continue
		}
		for taken[next] {
			next++
		}
		gpus[i].Index, taken[next] = next, true
	}
}

// readLine reads one line: a device, a device that is lost, or words.
func readLine(r *fleet.HostReport, line string) {
	if m := lostLine.FindStringSubmatch(line); m != nil {
		r.GPUs = append(r.GPUs, fleet.GPU{
			Node: r.Host, Index: -1, Minor: -1, PCI: longPCI(m[1]),
			Health: fleet.GPUHealth{State: fleet.GPULost, Why: strings.TrimSpace(m[2])},
		})
		return
	}
	f := strings.Split(line, ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	index, err := strconv.Atoi(f[0])
	if len(f) != len(smiFields) || err != nil || index < 0 {
		r.Agent.Problems = append(r.Agent.Problems, "nvidia-smi: "+line[:min(len(line), 200)])
		return
	}
	if driver, ok := text(f[6]); ok {
		r.Agent.Driver = driver
	}
	r.GPUs = append(r.GPUs, readDevice(r.Host, index, f))
}

func readDevice(host string, index int, f []string) fleet.GPU {
	g := fleet.GPU{
		Node: host, Index: index, Minor: -1, // which it does not tell
		Health: fleet.GPUHealth{State: fleet.GPUAnswers},
		Temp:   reading(f[7], 1), Power: reading(f[8], 1), PowerCap: reading(f[9], 1), Util: reading(f[10], 1),
		MemUsed: reading(f[11], 1<<20), MemTotal: reading(f[12], 1<<20), SMClock: reading(f[13], 1),
		MIG: fleet.MIGState{Current: migMode(f[14]), Pending: migMode(f[15])},
	}
	g.UUID, _ = text(f[1])
	g.Model, _ = text(f[2])
	g.Serial, _ = text(f[3])
	g.PCI, _ = text(f[4])
	g.VBIOS, _ = text(f[5])
	if g.MIG.Current == fleet.MIGEnabled && g.Util.Quality != fleet.Known {
		g.Util = fleet.Absent(fleet.NotApplicable, "MIG")
	}
	for _, s := range f[1:] {
		if strings.Contains(s, "GPU is lost") {
			g.Health = fleet.GPUHealth{State: fleet.GPULost, Why: strings.Trim(s, "[]")}
		}
	}
	return g
}

// text is a field's value; false for the many ways to say that there is none.
func text(s string) (string, bool) {
	if s == "" || s == "N/A" || s == "ERR!" || s[0] == '[' {
		return "", false
	}
	return s, true
}

// reading is a number in some unit. What has no number is absent, never 0.
func reading(s string, unit float64) fleet.Reading {
	word := strings.ToLower(strings.Trim(s, "[]"))
	switch word {
	case "n/a", "not supported":
		return fleet.Absent(fleet.Unsupported, "")
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fleet.Absent(fleet.Unreadable, strings.Trim(s, "[]"))
	}
	return fleet.Read(v * unit)
}

func migMode(s string) fleet.MIGMode {
	switch strings.ToLower(strings.Trim(s, "[]")) {
	case "enabled":
		return fleet.MIGEnabled
	case "disabled":
		return fleet.MIGDisabled
	case "n/a", "not supported":
		return fleet.MIGUnsupported
	}
	return fleet.MIGUnknown
}

// longPCI is a bus id as NVML prints it, with a domain of eight digits.
func longPCI(id string) string {
	domain, rest, _ := strings.Cut(strings.ToUpper(id), ":")
	return strings.Repeat("0", max(0, 8-len(domain))) + domain + ":" + rest
}
