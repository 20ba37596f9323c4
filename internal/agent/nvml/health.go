package nvml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// facts are what the checks of a device are made of.
type facts struct {
	temp, limit, margin, util fleet.Reading
	busy, mig                 bool
	processes                 string // why they cannot be listed; empty when they can

	eccMode, volatileCorrected, volatileBad, aggregateCorrected, aggregateBad fleet.Reading
	retiredCorrected, retiredBad, retiredPending                              fleet.Reading
	remappedCorrected, remappedBad, remapPending, remapFailure                fleet.Reading
	linkCRC, linkReplay, linkRecovery, pcieReplay                             fleet.Reading
	recovery, reasons, persistence                                            fleet.Reading
	width, widthMax, gen, genMax                                              fleet.Reading
	links                                                                     []bool // up or down
	fabric                                                                    fabric
}

// fabric is the registration of a device with its NVLink fabric.
type fabric struct {
	state    fleet.Reading // NVML_GPU_FABRIC_STATE_*
	status   int
	degraded bool
}

// Clock reasons that are faults: hardware slowdown, software and hardware thermal
// slowdown, power brake. Idle (0x1) and the power cap (0x4) are not.
const faultyReasons = 0x8 | 0x20 | 0x40 | 0x80

// retiredMany retired pages are a reason for a return of the board, by NVIDIA.
const retiredMany = 60

// underLoad is the utilisation from which the PCIe link has no reason to sleep.
const underLoad = 10

// judge makes the checks, and the faults that are states of the device.
func (f *facts) judge(before *facts) ([]fleet.Check, []fleet.Fault) {
	recovery, faults := f.recoveryCheck()
	checks := []fleet.Check{
		f.eccCheck(), f.remapCheck(), f.retiredCheck(), f.linkCheck(before), f.fabricCheck(),
		f.pcieCheck(before), f.throttleCheck(), f.temperatureCheck(), f.persistenceCheck(), recovery,
	}
	if f.processes != "" {
		checks = append(checks, fleet.Check{Name: "processes", Result: fleet.CheckUnreadable, Text: f.processes})
	}
	return checks, faults
}

func check(name string, result fleet.CheckResult, format string, args ...any) fleet.Check {
	return fleet.Check{Name: name, Result: result, Text: fmt.Sprintf(format, args...)}
}

// absent is the check of a reading that has no value.
func absent(name string, r fleet.Reading) fleet.Check {
	if r.Quality == fleet.Unreadable {
		return check(name, fleet.CheckUnreadable, "%s", r.Why)
	}
	return check(name, fleet.CheckNotApplicable, "not told by this driver or board")
}

func known(r fleet.Reading) bool { return r.Quality == fleet.Known }

// count prints a counter, or that there is none.
func count(r fleet.Reading) string {
	if !known(r) {
		return "?"
	}
	return strconv.FormatFloat(r.Value, 'f', 0, 64)
}

// eccCheck trusts the volatile counter only while something keeps the driver loaded: it
// starts again at 0 with the driver.
func (f *facts) eccCheck() fleet.Check {
	const name = fleet.CheckECC
	if known(f.eccMode) && f.eccMode.Value == 0 {
		return check(name, fleet.CheckWarn, "ECC is switched off")
	}
	if !known(f.volatileBad) {
		return absent(name, f.volatileBad)
	}
	text := fmt.Sprintf("uncorrectable %s since the driver was loaded, %s in all; corrected %s and %s",
		count(f.volatileBad), count(f.aggregateBad), count(f.volatileCorrected), count(f.aggregateCorrected))
	switch {
	case f.volatileBad.Value > 0:
		return check(name, fleet.CheckBad, "%s", text)
	case f.aggregateBad.Value > 0 && known(f.persistence) && f.persistence.Value == 0:
		return check(name, fleet.CheckWarn, "%s; persistence mode is off, so the first number says little", text)
	}
	return check(name, fleet.CheckOK, "%s", text)
}

func (f *facts) remapCheck() fleet.Check {
	const name = fleet.CheckRowRemap
	if f.mig && f.remapFailure.Quality == fleet.Unsupported {
		return check(name, fleet.CheckNotApplicable, "not told while there are MIG instances")
	}
	if !known(f.remapFailure) {
		return absent(name, f.remapFailure)
	}
	text := fmt.Sprintf("remapped %s after correctable and %s after uncorrectable errors", count(f.remappedCorrected), count(f.remappedBad))
	switch {
	case f.remapFailure.Value > 0:
		return check(name, fleet.CheckBad, "a row could not be remapped; %s", text)
	case f.remapPending.Value > 0:
		return check(name, fleet.CheckWarn, "a row waits to be remapped, which a reset does; %s", text)
	}
	return check(name, fleet.CheckOK, "%s", text)
}

func (f *facts) retiredCheck() fleet.Check {
	const name = fleet.CheckRetiredPages
	if !known(f.retiredPending) {
		return absent(name, f.retiredPending)
	}
	pages := f.retiredCorrected.Value + f.retiredBad.Value
	switch {
	case pages >= retiredMany:
		return check(name, fleet.CheckBad, "%.0f pages retired", pages)
	case f.retiredPending.Value > 0:
		return check(name, fleet.CheckWarn, "a page waits to be retired, which a reset does; %.0f retired", pages)
	}
	return check(name, fleet.CheckOK, "%.0f pages retired", pages)
}

// linkCheck finds links that are down among others that are up. A board whose links are
// all down has no bridge, or its fabric is down, which is another check's.
func (f *facts) linkCheck(before *facts) fleet.Check {
	const name = fleet.CheckNVLink
	var down []string
	for i, up := range f.links {
		if !up {
			down = append(down, strconv.Itoa(i))
		}
	}
	switch {
	case len(f.links) == 0:
		return check(name, fleet.CheckNotApplicable, "no NVLink")
	case len(down) == len(f.links):
		return check(name, fleet.CheckNotApplicable, "no NVLink is in use")
	case len(down) > 0:
		return check(name, fleet.CheckBad, "links down: %s of %d", strings.Join(down, ", "), len(f.links))
	}
	text := fmt.Sprintf("%d links up; CRC errors %s, replays %s, recoveries %s", len(f.links), count(f.linkCRC), count(f.linkReplay), count(f.linkRecovery))
	if rose(f.linkRecovery, before.linkRecovery) || rose(f.linkReplay, before.linkReplay) || rose(f.linkCRC, before.linkCRC) {
		return check(name, fleet.CheckWarn, "%s, rising", text)
	}
	return check(name, fleet.CheckOK, "%s", text)
}

// rose compares a counter with its last reading; the first one proves nothing.
func rose(now, before fleet.Reading) bool {
	return known(now) && known(before) && now.Value > before.Value
}

// fabricCheck has three answers: a product without a fabric is not ill.
func (f *facts) fabricCheck() fleet.Check {
	const name = fleet.CheckFabric
	if !known(f.fabric.state) {
		return absent(name, f.fabric.state)
	}
	switch int(f.fabric.state.Value) {
	case 0:
		return check(name, fleet.CheckNotApplicable, "this product has none")
	case 1:
		return check(name, fleet.CheckBad, "registration has not started: is the fabric manager running?")
	case 2:
		return check(name, fleet.CheckBad, "registration is in progress")
	}
	switch {
	case f.fabric.status != 0:
		return check(name, fleet.CheckBad, "registration failed with NVML error %d", f.fabric.status)
	case f.fabric.degraded:
		return check(name, fleet.CheckBad, "bandwidth is degraded")
	}
	return check(name, fleet.CheckOK, "registered")
}

// load reports whether the device works. Of a device in MIG mode that is not told, and
// its processes stand for it.
func (f *facts) load() bool {
	if known(f.util) {
		return f.util.Value >= underLoad
	}
	return f.busy
}

// pcieCheck judges the link under load only: an idle device lets it sleep.
func (f *facts) pcieCheck(before *facts) fleet.Check {
	const name = fleet.CheckPCIe
	if !known(f.width) {
		return absent(name, f.width)
	}
	text := fmt.Sprintf("generation %s of %s, width %s of %s, replays %s",
		count(f.gen), count(f.genMax), count(f.width), count(f.widthMax), count(f.pcieReplay))
	switch {
	case rose(f.pcieReplay, before.pcieReplay):
		return check(name, fleet.CheckWarn, "%s, rising", text)
	case !f.load():
		return check(name, fleet.CheckOK, "%s; idle, so the link is not judged", text)
	case known(f.widthMax) && f.width.Value < f.widthMax.Value:
		return check(name, fleet.CheckBad, "%s, under load", text)
	case known(f.gen) && known(f.genMax) && f.gen.Value < f.genMax.Value:
		return check(name, fleet.CheckWarn, "%s, under load", text)
	}
	return check(name, fleet.CheckOK, "%s", text)
}

func (f *facts) throttleCheck() fleet.Check {
	const name = fleet.CheckThrottle
	if !known(f.reasons) {
		return absent(name, f.reasons)
	}
	var why []string
	for _, r := range []struct {
		bit  uint64
		name string
	}{{0x8, "hardware slowdown"}, {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"}} {
		if uint64(f.reasons.Value)&r.bit != 0 {
			why = append(why, r.name)
		}
	}
	if uint64(f.reasons.Value)&faultyReasons != 0 {
		return check(name, fleet.CheckBad, "%s", strings.Join(why, ", "))
	}
	return check(name, fleet.CheckOK, "clock reasons 0x%x", uint64(f.reasons.Value))
}

// temperatureCheck compares with the device's own threshold, or with the margin that
// newer devices tell instead.
func (f *facts) temperatureCheck() fleet.Check {
	const name = "temperature"
	switch {
	case !known(f.temp):
		return absent(name, f.temp)
	case known(f.limit) && f.temp.Value >= f.limit.Value:
		return check(name, fleet.CheckBad, "slows down from %.0f C", f.limit.Value)
	case known(f.limit):
		return check(name, fleet.CheckOK, "slows down from %.0f C", f.limit.Value)
	case known(f.margin) && f.margin.Value <= 0:
		return check(name, fleet.CheckBad, "no margin left to the device's limit")
	case known(f.margin):
		return check(name, fleet.CheckOK, "below the device's limit")
	}
	return check(name, fleet.CheckNotApplicable, "the device tells no threshold")
}

func (f *facts) persistenceCheck() fleet.Check {
	const name = fleet.CheckPersistence
	switch {
	case !known(f.persistence):
		return absent(name, f.persistence)
	case f.persistence.Value == 0:
		return check(name, fleet.CheckWarn, "persistence mode is off: counters restart with the driver")
	}
	return check(name, fleet.CheckOK, "on")
}

// recoveryWords are what the driver asks for, by the value of field 230.
func recoveryWords(action int) string {
	words := [...]string{
		"nothing", "a reset of the GPU", "a reboot of the node", "a drain of peer-to-peer work", "a drain and a reset of the GPU",
		"a recovery of the IMEX domain", "a reset of the PCIe bus", "a reboot of the system",
	}
	if action < 0 || action >= len(words) {
		return "recovery action " + strconv.Itoa(action)
	}
	return words[action]
}

func (f *facts) recoveryCheck() (fleet.Check, []fleet.Fault) {
	const name = fleet.FaultRecovery
	if !known(f.recovery) {
		return absent(name, f.recovery), nil
	}
	action := int(f.recovery.Value)
	text := "the driver asks for " + recoveryWords(action)
	if action == 0 {
		return check(name, fleet.CheckOK, "%s", text), nil
	}
	return check(name, fleet.CheckBad, "%s", text), []fleet.Fault{{Kind: name, Code: action, Text: text, Source: "nvml", Count: 1}}
}
