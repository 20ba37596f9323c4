package mig

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// maxPartedFile bounds a file of mig-parted; NVIDIA's own has 20 kB.
const maxPartedFile = 1 << 20

// Config is one named config of a mig-parted file: what each GPU of a node shall be.
type Config []ConfigEntry

// ConfigEntry is what some GPUs of a node shall be.
type ConfigEntry struct {
	Filter  []string // PCI device and vendor ids, "0x233010de"; none: any board
	All     bool     // of the node's GPUs
	Devices []int    // indices, without All
	Layout  Layout
}

// ParsePartedFile reads a mig-parted file, by its own grammar: unknown and repeated
// fields are refused, as mig-parted does.
func ParsePartedFile(text []byte) (map[string]Config, error) {
	if len(text) > maxPartedFile {
		return nil, fmt.Errorf("%w: mig-parted file longer than %d bytes", ErrLayout, maxPartedFile)
	}
	var file struct {
		Version string                   `json:"version"`
		Configs map[string][]partedEntry `json:"mig-configs"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("%w: mig-parted file: %w", ErrLayout, err)
	}
	if file.Version != "v1" {
		return nil, fmt.Errorf("%w: mig-parted file of version %q; v1 is known", ErrLayout, file.Version)
	}
	configs := make(map[string]Config, len(file.Configs))
	for name, entries := range file.Configs {
		for i, e := range entries {
			entry, err := e.entry()
			if err != nil {
				return nil, fmt.Errorf("mig-parted config %s, entry %d: %w", name, i+1, err)
			}
			configs[name] = append(configs[name], entry)
		}
	}
	return configs, nil
}

// partedEntry is the file's own form of an entry.
type partedEntry struct {
	Filter  stringOrList   `json:"device-filter"`
	Devices *allOrList     `json:"devices"`
	Enabled *bool          `json:"mig-enabled"`
	Counts  map[string]int `json:"mig-devices"`
}

type stringOrList []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = nil
		if one != "" {
			*s = []string{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

type allOrList struct {
	all  bool
	list []int
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *allOrList) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		if a.all = word == "all"; !a.all {
			return fmt.Errorf("devices %q: all, or a list of indices, is meant", word)
		}
		return nil
	}
	return json.Unmarshal(data, &a.list)
}

var pciForm = regexp.MustCompile(`^0x[0-9a-f]{8}$`)

func (e *partedEntry) entry() (ConfigEntry, error) {
	switch {
	case e.Devices == nil:
		return ConfigEntry{}, fmt.Errorf("%w: devices is missing", ErrLayout)
	case e.Enabled == nil:
		return ConfigEntry{}, fmt.Errorf("%w: mig-enabled is missing", ErrLayout)
	case *e.Enabled && e.Counts == nil:
		return ConfigEntry{}, fmt.Errorf("%w: mig-devices is missing; it is {} for none", ErrLayout)
	case !*e.Enabled && len(e.Counts) > 0:
		return ConfigEntry{}, fmt.Errorf("%w: mig-devices with mig-enabled false", ErrLayout)
	case slices.ContainsFunc(e.Devices.list, func(i int) bool { return i < 0 }):
		return ConfigEntry{}, fmt.Errorf("%w: a device index below 0", ErrLayout)
	}
	out := ConfigEntry{All: e.Devices.all, Devices: e.Devices.list}
	for _, f := range e.Filter {
		id := strings.ToLower(strings.TrimSpace(f))
		if !pciForm.MatchString(id) {
			return ConfigEntry{}, fmt.Errorf("%w: device-filter %q: a PCI device and vendor id like 0x233010DE is meant", ErrLayout, f)
		}
		out.Filter = append(out.Filter, id)
	}
	var err error
	out.Layout, err = countsLayout(*e.Enabled, e.Counts)
	return out, err
}

// countsLayout is a layout of profile counts, in the order of their names.
func countsLayout(enabled bool, counts map[string]int) (Layout, error) {
	if !enabled {
		return Layout{Mode: fleet.MIGDisabled}, nil
	}
	var parts []string
	for profile, n := range counts {
		if n != 0 { // a profile with the count 0 is none
			parts = append(parts, fmt.Sprintf("%s:%d", profile, n))
		}
	}
	if len(parts) == 0 {
		return Layout{Mode: fleet.MIGEnabled}, nil
	}
	slices.Sort(parts)
	return ParseLayout(strings.Join(parts, ","))
}

// ErrNoEntry is a GPU that a named config says nothing of: it is left alone.
var ErrNoEntry = errors.New("the config says nothing of this GPU")

// For is the layout that the config has for a GPU, by its index on the node and its
// PCI device and vendor id as NVML has it (0x233010de; 0: not known). Entries that
// contradict each other for it are an ErrLayout.
func (c Config) For(index int, pci uint32) (Layout, error) {
	var found *Layout
	id := fmt.Sprintf("0x%08x", pci)
	for i := range c {
		e := &c[i]
		if !e.All && !slices.Contains(e.Devices, index) {
			continue
		}
		if len(e.Filter) > 0 && pci == 0 {
			return Layout{}, fmt.Errorf("%w: the config goes by PCI device id, and that of GPU %d is not known", ErrLayout, index)
		}
		if len(e.Filter) > 0 && !slices.Contains(e.Filter, id) {
			continue
		}
		if found != nil && found.String() != e.Layout.String() {
			return Layout{}, fmt.Errorf("%w: for GPU %d the config says both %s and %s", ErrLayout, index, found, e.Layout)
		}
		found = &e.Layout
	}
	if found == nil {
		return Layout{}, fmt.Errorf("GPU %d (%s): %w", index, id, ErrNoEntry)
	}
	return *found, nil
}
