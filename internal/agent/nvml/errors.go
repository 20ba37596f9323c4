package nvml

import (
	"errors"
	"fmt"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// errNoCgo is the honest answer of a build that cannot load a library.
var errNoCgo = fmt.Errorf("%w: this gpuctl was built without cgo and cannot read GPUs", agent.ErrNoDriver)

// errEnded: the child ended by itself.
var errEnded = errors.New("the process that reads the driver ended")

// errOther: another device is where the one that was meant was.
var errOther = errors.New("not that GPU")
