//go:build cgo

package nvml

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/test/fakenvml"
)

// The examples of NVIDIA's MIG user guide, in which the driver chooses the places: the
// stand-in must choose like it, and number the instances like it.
func TestStandInPlacesAsTheGuideShows(t *testing.T) {
	lib := fakenvml.Build(t)
	for _, c := range []struct {
		name     string
		profiles []uint32 // nvidia-smi mig -cgi
		ids      []uint32 // of the instances that come of it; one fewer when the last fails
		starts   []uint32
	}{
		{"4-2-1", []uint32{19, 14, 5}, []uint32{13, 5, 1}, []uint32{6, 4, 0}},
		{"wrong order", []uint32{19, 19, 14, 9}, []uint32{13, 11, 3}, []uint32{6, 4, 0}},
		{"3-2-1-1", []uint32{9, 19, 14, 19}, []uint32{2, 7, 4, 8}, []uint32{4, 0, 2, 1}},
		{"2-1-1-1-1-1", []uint32{14, 19, 19, 19, 19, 19}, []uint32{5, 13, 7, 8, 9, 10}, []uint32{4, 6, 0, 1, 2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := lib.State(t, 1, fakenvml.A100x40)
			state.SetMIG(0, "mode 1 1")
			t.Setenv("FAKENVML_STATE", state.Dir())
			var ids, starts []uint32
			d := inProcess(t, lib)
			for _, id := range c.profiles {
				gi, ret := d.CreateGpuInstance(&nvml.GpuInstanceProfileInfo{Id: id})
				if ret != nvml.SUCCESS {
					if ret != nvml.ERROR_INSUFFICIENT_RESOURCES {
						t.Fatalf("profile %d: %d", id, ret)
					}
					break
				}
				info, _ := gi.GetInfo()
				ids, starts = append(ids, info.Id), append(starts, info.Placement.Start)
			}
			if !slices.Equal(ids, c.ids) || !slices.Equal(starts, c.starts) {
				t.Errorf("ids %d at %d, want %d at %d", ids, starts, c.ids, c.starts)
			}
		})
	}
}

// inProcess opens the library in this process.
func inProcess(t *testing.T, lib fakenvml.Library) nvml.Device {
	t.Helper()
	api := nvml.New(nvml.WithLibraryPath(lib.Path()))
	if ret := api.Init(); ret != nvml.SUCCESS {
		t.Fatal(int(ret))
	}
	t.Cleanup(func() { api.Shutdown() })
	d, ret := api.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		t.Fatal(int(ret))
	}
	return d
}
