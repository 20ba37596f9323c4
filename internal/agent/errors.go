package agent

import (
	"errors"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
)

// The classes of failure of a Driver, wrapped with what was asked.
var (
	// ErrNoDriver: there is no driver library here, or this gpuctl was built without it.
	ErrNoDriver = errors.New("no GPU driver")
	// ErrOldDriver: the driver lacks a call that is needed.
	ErrOldDriver = errors.New("GPU driver too old")
	// ErrHanging: the device has not answered within the deadline.
	ErrHanging = errors.New("GPU does not answer")
	// ErrLost: the device is lost to the driver.
	ErrLost = errors.New("GPU is lost")
	// ErrInUse: something holds the device.
	ErrInUse = mig.ErrInUse
	// ErrNotFound: no such device here.
	ErrNotFound = errors.New("no such GPU")
)
