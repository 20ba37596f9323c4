package words

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/tui/line"
)

// Unknown stands for something that is there and that nobody can name.
const Unknown = "?"

// Reading writes a value with its unit. What cannot be is "n/a", what could not be
// read is Unknown, what nobody asked is None: never 0.
func Reading(r fleet.Reading, unit string) string {
	switch r.Quality {
	case fleet.Known:
		return strconv.FormatFloat(r.Value, 'f', 0, 64) + unit
	case fleet.NotApplicable, fleet.Unsupported:
		return "n/a"
	case fleet.Unreadable:
		return Unknown
	case fleet.Unread:
	}
	return None
}

// Util is how busy a device is. In MIG mode the driver has no such number.
func Util(g *fleet.GPU) string {
	if g.Util.Quality != fleet.Known && g.MIG.Current == fleet.MIGEnabled {
		return "n/a (MIG)"
	}
	return Reading(g.Util, "%")
}

// Bytes writes a size that was read: 512M, 64.0G.
func Bytes(r fleet.Reading) string {
	if r.Quality != fleet.Known {
		return Reading(r, "")
	}
	return MiB(int64(r.Value) >> 20)
}

// GPUMemory is what is used of a device's memory.
func GPUMemory(g *fleet.GPU) string {
	if g.MemUsed.Quality == fleet.Unread && g.MemTotal.Quality == fleet.Unread {
		return None
	}
	return Bytes(g.MemUsed) + "/" + Bytes(g.MemTotal)
}

// InstanceMemory is what is used of an instance's memory, where that is told.
func InstanceMemory(in *fleet.MIGInstance) string {
	size := MiB(int64(in.Bytes >> 20))
	if in.MemUsed.Quality == fleet.Unread {
		return size
	}
	return Bytes(in.MemUsed) + "/" + size
}

// GPUState is how far a device answers.
func GPUState(g *fleet.GPU) string { return Or(string(g.Health.State)) }

// GPUName is a device as people say it: "gpu-node017:3".
func GPUName(g *fleet.GPU) string { return g.Node + ":" + strconv.Itoa(g.Index) }

// ShortUUID is enough of a UUID to tell devices of a fleet apart.
func ShortUUID(uuid string) string {
	prefix, rest, ok := strings.Cut(uuid, "-")
	if !ok || len(rest) <= 8 {
		return Or(line.Clean(uuid))
	}
	return line.Clean(prefix + "-" + rest[:8])
}

// GPUOwner is the job that holds a device: "free" when nobody does, Unknown when
// nobody can name it, and how many more there are.
func GPUOwner(n *fleet.Node, g *fleet.GPU) string {
	return ownerWord(n, g, func(o *fleet.Owner) string { return o.Job.ID })
}

// GPUUser is whose job holds a device.
func GPUUser(n *fleet.Node, g *fleet.GPU) string {
	text := ownerWord(n, g, func(o *fleet.Owner) string { return o.User })
	if text == string(fleet.UseFree) {
		return None
	}
	return text
}

func ownerWord(n *fleet.Node, g *fleet.GPU, get func(*fleet.Owner) string) string {
	switch n.UseOf(g) {
	case fleet.UseFree:
		return string(fleet.UseFree)
	case fleet.UseUnknown:
		return Unknown
	case fleet.UseHeld:
	}
	var all []string
	seen := map[string]bool{}
	for o := range g.Holders {
		if word := get(o); !seen[word] {
			seen[word] = true
			all = append(all, word)
		}
	}
	first := line.Clean(all[0])
	if first == "" {
		first = Unknown
	}
	if len(all) > 1 {
		first += fmt.Sprintf(" +%d", len(all)-1)
	}
	return first
}

// Faults names what is open on a device, the XIDs first: "XID 79, row-remap".
func Faults(g *fleet.GPU) string {
	var xids, others []string
	seen := map[string]bool{}
	for i := range g.Faults {
		f := &g.Faults[i]
		name := FaultName(f)
		if !f.IsOpen() || seen[name] {
			continue
		}
		seen[name] = true
		if f.Kind == fleet.FaultXID {
			xids = append(xids, name)
		} else {
			others = append(others, name)
		}
	}
	for i := range g.Checks {
		if c := &g.Checks[i]; c.Result == fleet.CheckBad && !seen[c.Name] {
			others = append(others, line.Clean(c.Name))
		}
	}
	return strings.Join(append(xids, others...), ", ")
}

// FaultName is a fault in a word or two: "XID 79".
func FaultName(f *fleet.Fault) string {
	switch f.Kind {
	case fleet.FaultXID:
		return "XID " + strconv.Itoa(f.Code)
	case fleet.FaultSXID:
		return "SXID " + strconv.Itoa(f.Code)
	}
	return line.Clean(f.Kind)
}

// MIG is how a device is partitioned: "off", or its profiles in the order of their
// places, and what is pending.
func MIG(m fleet.MIGState) string {
	text := None
	switch m.Current {
	case fleet.MIGEnabled:
		if text = Profiles(m.Instances); text == "" {
			text = "on, empty"
		}
	case fleet.MIGDisabled:
		text = "off"
	case fleet.MIGUnsupported:
		text = "n/a"
	case fleet.MIGUnknown:
	}
	if m.Pending != m.Current && m.Pending != fleet.MIGUnknown {
		text += ", " + string(m.Pending) + " pending"
	}
	return text
}

// Profiles lists instances in the order of their places.
func Profiles(all []fleet.MIGInstance) string {
	names := make([]string, 0, len(all))
	for _, in := range fleet.ByPlace(all) {
		names = append(names, line.Clean(in.Profile))
	}
	return strings.Join(names, " ")
}
