package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// op is what the child is asked to do.
type op string

const (
	opSample         op = "sample"
	opEvents         op = "events" // from now on, events come without being asked for
	opMIGState       op = "mig-state"
	opProfiles       op = "profiles"
	opProcesses      op = "processes"
	opSetMode        op = "set-mode"
	opCreate         op = "create"
	opDestroy        op = "destroy"
	opCreateCompute  op = "create-compute"
	opDestroyCompute op = "destroy-compute"
)

// request is one message to the child.
type request struct {
	ID   uint64
	Op   op
	Skip []int // sample: leave these devices alone
	Only int   // sample: this device alone; -1: all
	// The rest is for one device, which must have this UUID.
	Index int
	UUID  string
	Args  [3]int
}

// reply is one message of the child: to the request with the ID, or an event.
type reply struct {
	ID        uint64
	Err       *failure
	Stuck     *stuck // the library as a whole, or the device of the request
	System    system
	Devices   []result
	GPU       *fleet.GPU // of one device, inside the child
	Calls     int
	MIG       fleet.MIGState
	Profiles  []mig.Profile
	Processes []fleet.GPUProcess
	N         int
	Event     *agent.DriverEvent
}

// err is why a reply has nothing to say.
func (r *reply) err() error {
	if r.Stuck != nil {
		return fmt.Errorf("%w: %s has not returned for %s", agent.ErrHanging, r.Stuck.Call, r.Stuck.Age.Round(time.Second))
	}
	if r.Err != nil {
		return r.Err
	}
	return nil
}

// system is the driver as a whole.
type system struct {
	Driver, CUDA, NVML string
	Count              int
}

// result is a device in a sample: what it says, why not, or where it is stuck.
type result struct {
	Index int
	GPU   *fleet.GPU
	Err   *failure
	Stuck *stuck
}

// stuck is a call that has not returned.
type stuck struct {
	Call string
	Age  time.Duration
}

func (s *stuck) why() string { return s.Call + " has not returned" }

// failure is an error on its way through the pipe; Class finds the sentinel again.
type failure struct {
	Class string
	Text  string
}

// class pairs a sentinel with its name on the pipe.
type class struct {
	name string
	err  error
}

func classes() []class {
	return []class{
		{"lost", agent.ErrLost},
		{"old", agent.ErrOldDriver},
		{"none", agent.ErrNoDriver},
		{"in-use", mig.ErrInUse},
		{"no-room", mig.ErrNoRoom},
		{"not-found", agent.ErrNotFound},
		{"denied", fs.ErrPermission},
		{"hanging", agent.ErrHanging},
	}
}

func failed(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	for _, c := range classes() {
		if errors.Is(err, c.err) {
			f.Class = c.name
		}
	}
	return f
}

// Error is the failure's text.
func (f *failure) Error() string { return f.Text }

// Unwrap is the sentinel that the child's error had.
func (f *failure) Unwrap() error {
	for _, c := range classes() {
		if c.name == f.Class {
			return c.err
		}
	}
	return nil
}
