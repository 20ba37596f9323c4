package migtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// ErrUnknown is the driver's answer to an id that nothing has.
var ErrUnknown = errors.New("not found")

func (d *Device) byName(name string) *mig.Profile {
	for i := range d.Board.Profiles {
		if d.Board.Profiles[i].Name == name {
			return &d.Board.Profiles[i]
		}
	}
	return nil
}

// create checks as the driver does: place, overlap, slices, counts, media engines.
func (d *Device) create(profileID, start, size int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.Board.Profiles, func(p mig.Profile) bool { return p.ID == profileID })
	if d.state.Current != fleet.MIGEnabled {
		return 0, errors.New("not supported: MIG is off")
	}
	if at < 0 || !slices.Contains(d.Board.Profiles[at].Placements, mig.Placement{Start: start, Size: size}) {
		return 0, fmt.Errorf("invalid argument: profile %d at %d:%d", profileID, start, size)
	}
	p := &d.Board.Profiles[at]
	same, compute, media := 1, p.Compute, p.Media
	for _, i := range d.state.Instances {
		other := d.byName(i.Profile)
		compute += i.Compute
		if i.Profile == p.Name {
			same++
		}
		if i.Start < start+size && start < i.Start+i.Size || media && other.Media {
			return 0, mig.ErrNoRoom
		}
	}
	if same > p.Max || compute > d.Board.Compute {
		return 0, mig.ErrNoRoom
	}
	id, err := d.freeID(p.Name)
	if err != nil {
		return 0, err
	}
	d.state.Instances = append(d.state.Instances, fleet.MIGInstance{
		ID: id, Profile: p.Name, Start: start, Size: size, Compute: p.Compute, Bytes: p.Bytes,
	})
	return id, nil
}

// freeID numbers instances as drivers do: each kind from its own number.
func (d *Device) freeID(name string) (int, error) {
	first := d.Board.IDs[name]
	for id := first[0]; id < first[0]+first[1]; id++ {
		if d.index(id) < 0 {
			return id, nil
		}
	}
	return 0, mig.ErrNoRoom
}

func (d *Device) index(id int) int {
	return slices.IndexFunc(d.state.Instances, func(i fleet.MIGInstance) bool { return i.ID == id })
}

func (d *Device) destroy(id int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.index(id)
	switch {
	case at < 0:
		return ErrUnknown
	case len(d.state.Instances[at].CIs) > 0 || d.used(id):
		return mig.ErrInUse
	}
	d.state.Instances = slices.Delete(d.state.Instances, at, at+1)
	return nil
}

// used reports a process, seen or not, on the instance.
func (d *Device) used(id int) bool {
	return slices.Contains(d.Held, id) ||
		slices.ContainsFunc(d.processes, func(p fleet.GPUProcess) bool { return p.Instance == id })
}

// cut makes a compute instance of n slices; 0 is all of them.
func (d *Device) cut(id, n int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.index(id)
	if at < 0 {
		return 0, ErrUnknown
	}
	inst := &d.state.Instances[at]
	if n == 0 {
		n = inst.Compute
	}
	start := 0
	ci := fleet.ComputeInstance{Slices: n, Profile: inst.Profile}
	for _, c := range inst.CIs {
		start = max(start, c.Start+c.Slices)
		ci.ID = max(ci.ID, c.ID+1)
	}
	if start+n > inst.Compute {
		return 0, mig.ErrNoRoom
	}
	if n < inst.Compute {
		ci.Profile = fmt.Sprintf("%dc.%s", n, inst.Profile)
	}
	d.serial++
	ci.Start, ci.UUID = start, fmt.Sprintf("MIG-%d", d.serial)
	inst.CIs = append(inst.CIs, ci)
	return ci.ID, nil
}

func (d *Device) uncut(id, compute int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.index(id)
	if at < 0 {
		return ErrUnknown
	}
	inst := &d.state.Instances[at]
	i := slices.IndexFunc(inst.CIs, func(c fleet.ComputeInstance) bool { return c.ID == compute })
	switch {
	case i < 0:
		return ErrUnknown
	case d.used(id):
		return mig.ErrInUse
	}
	inst.CIs = slices.Delete(inst.CIs, i, i+1)
	return nil
}

// Cut divides an instance into compute instances of those sizes.
func (d *Device) Cut(id int, sizes ...int) error {
	for _, ci := range d.Now().Instances[d.index(id)].CIs {
		if err := d.uncut(id, ci.ID); err != nil {
			return err
		}
	}
	for _, n := range sizes {
		if _, err := d.cut(id, n); err != nil {
			return err
		}
	}
	return nil
}
