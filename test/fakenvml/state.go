package fakenvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Board is a kind of GPU that the library knows (src/boards.c).
type Board string

// The boards.
const (
	A100x40 Board = "A100-40"
	A100    Board = "A100-80"
	A30     Board = "A30"
	H100    Board = "H100-80"
	H100NVL Board = "H100-NVL"
	H200    Board = "H200-141"
	B200    Board = "B200" // tells its limit as a margin only
	T4      Board = "T4"   // has no MIG, no NVLink and no remapped rows
)

// State is the directory that a library reads. Its methods are safe for concurrent use.
type State struct {
	lib Library
	dir string
	mu  sync.Mutex
	n   uint64 // records of the kernel log
}

// State makes n devices of the boards in turn, healthy and idle.
func (l Library) State(t testing.TB, n int, boards ...Board) *State {
	t.Helper()
	s, err := l.NewState(t.TempDir(), n, boards...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NewState is State outside of a test, in a directory of the caller.
func (l Library) NewState(dir string, n int, boards ...Board) (*State, error) {
	s := &State{lib: l, dir: dir}
	if len(boards) == 0 {
		boards = []Board{H100}
	}
	for i := range n {
		if err := s.write(fmt.Sprintf("gpu%d", i), device(i, boards[i%len(boards)])); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"events", "kmsg", "faults"} {
		if err := s.write(name, nil); err != nil {
			return nil, err
		}
	}
	return s, s.write("driver", []string{fmt.Sprintf("count %d", n)})
}

// device is the file of a device. What it does not say has a healthy value in the library.
func device(i int, b Board) []string {
	lines := []string{
		"board " + string(b),
		fmt.Sprintf("uuid GPU-%08x-0000-4000-8000-%012x", 0xfade0000+i, i),
		fmt.Sprintf("pci %08X:%02X:00.0", 0, 5+i),
		fmt.Sprintf("minor %d", i),
		fmt.Sprintf("serial 165%07d", i),
		"vbios 96.00.74.00.01",
	}
	if b == H100 || b == H200 || b == B200 {
		lines = append(lines, "fabric completed")
	}
	return lines
}

// Dir is the directory, for FAKENVML_STATE.
func (s *State) Dir() string { return s.dir }

// Env is what a program needs in its environment.
func (s *State) Env() []string {
	return []string{"LD_LIBRARY_PATH=" + s.lib.Dir(), "FAKENVML_STATE=" + s.dir}
}

// Library is the library that reads it.
func (s *State) Library() Library { return s.lib }

// UUID is that of a device.
func (s *State) UUID(i int) string {
	v, _ := s.Get(i, "uuid")
	return v
}

// Get returns what a device's file says.
func (s *State) Get(i int, key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.read(fmt.Sprintf("gpu%d", i)) {
		if v, ok := strings.CutPrefix(line, key+" "); ok {
			return v, true
		}
	}
	return "", false
}

// Set changes one fact of a device; the keys are those that the C sources look up.
// A reading's value may be "unsupported" or the name of an error.
func (s *State) Set(i int, key, value string) { s.replace(fmt.Sprintf("gpu%d", i), key, value) }

// SetDriver changes a fact of the driver: driver, nvml, cuda, count, loaded.
func (s *State) SetDriver(key, value string) { s.replace("driver", key, value) }

func (s *State) replace(name, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := slices.DeleteFunc(s.read(name), func(l string) bool { return strings.HasPrefix(l, key+" ") })
	s.must(s.write(name, append(lines, key+" "+value)))
}

// Process puts a process on a device; gi and ci are -1 for the whole of it.
func (s *State) Process(i, pid int, bytes uint64, gi, ci int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("gpu%d", i)
	s.must(s.write(name, append(s.read(name), fmt.Sprintf("process %d %d %d %d", pid, bytes, gi, ci))))
}

// EndProcess takes a process off every device that it is on.
func (s *State) EndProcess(i, pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, prefix := fmt.Sprintf("gpu%d", i), fmt.Sprintf("process %d ", pid)
	s.must(s.write(name, slices.DeleteFunc(s.read(name), func(l string) bool { return strings.HasPrefix(l, prefix) })))
}

// Fault replaces the calls that fail, by lines "CALL DEVICE ACTION [NTH]" (src/faults.c):
// "nvmlDeviceGetTemperature 2 hang", "* 3 lost", "nvmlDeviceSetMigMode * in_use". None
// ends all faults, except that a call which hangs goes on hanging.
func (s *State) Fault(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(s.write("faults", lines))
}

// Event appends an event of a device: kind xid, recovery or ecc-double.
func (s *State) Event(i int, kind string, value int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(s.add("events", fmt.Sprintf("%d %s %d\n", i, kind, value)))
}

// AppendEvents appends lines to the events in one write: a burst.
func (s *State) AppendEvents(lines string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(s.add("events", lines))
}

// XID makes a device report an XID, as an event and in the kernel log.
func (s *State) XID(i, code int, text string) {
	pci, _ := s.Get(i, "pci")
	pci = strings.TrimSuffix(strings.TrimPrefix(pci, "0000"), ".0")
	s.Event(i, "xid", code)
	s.Kernel(fmt.Sprintf("NVRM: Xid (PCI:%s): %d, %s", strings.ToLower(pci), code, text))
}

// SXID makes an NVSwitch report an error, which only the kernel log has.
func (s *State) SXID(pci string, code int, text string) {
	s.Kernel(fmt.Sprintf("nvidia-nvswitch0: SXid (PCI:%s): %05d, %s", pci, code, text))
}

// Kernel appends a record to the kernel log, as /dev/kmsg prints it.
func (s *State) Kernel(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.must(s.add("kmsg", fmt.Sprintf("3,%d,%d,-;%s\n", s.n, time.Now().UnixMicro()%1e12, text)))
}

// KernelLog is the file that stands for /dev/kmsg.
func (s *State) KernelLog() string { return filepath.Join(s.dir, "kmsg") }

// MIG returns the lines of a device's MIG state, as src/mig.c writes them.
func (s *State) MIG(i int) []string { return s.read(fmt.Sprintf("mig%d", i)) }

// SetMIG replaces them: "mode 1 1", "gi 2 9 4 4", "ci 2 0 2 0 3".
func (s *State) SetMIG(i int, lines ...string) { s.must(s.write(fmt.Sprintf("mig%d", i), lines)) }

func (s *State) read(name string) []string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// write renames a new file into place: the library never sees half of one.
func (s *State) write(name string, lines []string) error {
	text := strings.Join(append(slices.Clone(lines), ""), "\n")
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (s *State) add(name, text string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// must ends the test: a state that cannot be written has no result worth having.
func (s *State) must(err error) {
	if err != nil {
		panic(err)
	}
}
