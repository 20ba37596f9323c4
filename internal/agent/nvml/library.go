//go:build cgo

package nvml

import (
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// cgoBuilt says that this build can read GPUs.
const cgoBuilt = true

// library is the driver's library, opened and initialised once. All but init is called
// by the worker of the library alone.
type library struct {
	*calls
	api    nvml.Interface
	path   string
	opened bool
	about  system

	mu      sync.Mutex
	set     nvml.EventSet // nil until events are wanted
	handles map[nvml.Device]string
}

func newLibrary(path string) *library {
	return &library{
		path: path, api: nvml.New(nvml.WithLibraryPath(path)), handles: map[nvml.Device]string{},
		calls: &calls{symbols: &symbols{lib: dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL), have: map[string]bool{}}},
	}
}

// open loads and initialises the library. It may be tried again after an error.
func (l *library) open() error {
	if l.opened {
		return nil
	}
	l.begin("dlopen")
	err := l.symbols.lib.Open()
	l.begin("")
	if err != nil {
		return fmt.Errorf("%w: %w", agent.ErrNoDriver, err)
	}
	if err = l.start(); err == nil {
		err = l.describe()
	}
	l.opened = err == nil
	return err
}

// start prefers the call that does not take a host without GPUs for an error.
func (l *library) start() error {
	if !l.symbols.has("nvmlInit") {
		return fmt.Errorf("%w: %s is not NVIDIA's management library", agent.ErrNoDriver, l.path)
	}
	err := l.do("nvmlInitWithFlags", func() nvml.Return { return l.api.InitWithFlags(nvml.INIT_FLAG_NO_GPUS) })
	if l.symbols.has("nvmlInitWithFlags") {
		return err
	}
	return l.do("nvmlInit", l.api.Init)
}

func (l *library) describe() error {
	err := l.do("nvmlSystemGetDriverVersion", func() (ret nvml.Return) {
		l.about.Driver, ret = l.api.SystemGetDriverVersion()
		return ret
	})
	if err != nil {
		return err
	}
	_ = l.do("nvmlSystemGetNVMLVersion", func() (ret nvml.Return) { // not every driver tells
		l.about.NVML, ret = l.api.SystemGetNVMLVersion()
		return ret
	})
	var cuda int
	if l.do("nvmlSystemGetCudaDriverVersion", func() (ret nvml.Return) {
		cuda, ret = l.api.SystemGetCudaDriverVersion()
		return ret
	}) == nil {
		l.about.CUDA = fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)
	}
	return nil
}

// system counts the devices.
func (l *library) system() (system, error) {
	if err := l.open(); err != nil {
		return system{}, err
	}
	about := l.about
	err := l.do("nvmlDeviceGetCount", func() (ret nvml.Return) {
		about.Count, ret = l.api.DeviceGetCount()
		return ret
	})
	return about, err
}
