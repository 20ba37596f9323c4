package host

import (
	"fmt"
	"os"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

const (
	managerName = "nv-fabricmanager"
	managerUnit = "etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service"
)

// FabricManager watches the service that NVSwitch machines need. It remembers the pid,
// for looking through all processes costs more. Not for concurrent use.
type FabricManager struct {
	Host Host
	pid  int
}

// Check tells whether the service runs where it must. switches says that the machine
// has NVSwitches, waiting that a GPU has not joined its fabric. A product without a
// fabric has no use for it, which is not a fault.
func (m *FabricManager) Check(switches, waiting bool) fleet.Check {
	c := fleet.Check{Name: fleet.CheckFabricManager, Result: fleet.CheckOK}
	_, err := os.Lstat(m.Host.path(managerUnit))
	enabled := err == nil
	if !switches && !enabled && !waiting {
		c.Result, c.Text = fleet.CheckNotApplicable, "no NVSwitch here"
		return c
	}
	if err := m.find(); err != nil {
		c.Result, c.Text = fleet.CheckUnreadable, err.Error()
		return c
	}
	switch {
	case m.pid != 0:
		c.Text = fmt.Sprintf("%s runs, pid %d", managerName, m.pid)
	case switches:
		c.Result, c.Text = fleet.CheckBad, managerName+" does not run, and this machine has NVSwitches"
	case enabled:
		c.Result, c.Text = fleet.CheckBad, managerName+" does not run although nvidia-fabricmanager.service is enabled"
	default:
		c.Result, c.Text = fleet.CheckWarn, managerName+" does not run, and a GPU has not joined its fabric"
	}
	return c
}

func (m *FabricManager) find() error {
	if m.pid != 0 {
		if name, err := m.Host.ProcessName(m.pid); err == nil && name == managerName[:15] {
			return nil
		}
	}
	var err error
	if m.pid, err = m.Host.FindProcess(managerName); err != nil {
		return fmt.Errorf("whether %s runs: %w", managerName, err)
	}
	return nil
}
