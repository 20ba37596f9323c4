package triage

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// deviceTrouble finds what is wrong with single devices. A device that does not
// answer is said to do that and nothing else; what the driver asks for goes before
// what its errors would.
func deviceTrouble(s *fleet.Snapshot) []fleet.Finding {
	var out []fleet.Finding
	for _, n := range s.Nodes {
		for i := range n.GPUs {
			g := &n.GPUs[i]
			if len(g.Owners) > 1 || g.Health.State != fleet.GPUUnwatched {
				out = append(out, device{g, n, s}.trouble()...)
			}
		}
	}
	return out
}

func (d device) trouble() []fleet.Finding {
	if len(d.Faults) == 0 && !d.Silent() {
		return append(d.conditions(), d.checks()...) // most devices, always
	}
	if f, ok := d.silent(); ok {
		return []fleet.Finding{f}
	}
	out := d.conditions()
	if f, ok := d.recovery(); ok {
		return append(out, f)
	}
	if f, ok := d.xid(); ok {
		out = append(out, f)
	}
	return append(append(out, d.checks()...), d.otherFaults()...)
}

// silent finds a device that does not answer: lost, hanging, or not there at all.
func (d device) silent() (fleet.Finding, bool) {
	var says, rule, advice string
	switch off := d.offBus(); {
	case off != "":
		rule, says, advice = RuleGPULost, "fell off the bus"+off, ExplainXID(79).Action
	case d.Health.State == fleet.GPULost:
		rule, says, advice = RuleGPULost, "is lost: "+orWhy(d.Health.Why, "the driver cannot reach it"), ExplainXID(79).Action
	case d.Health.State == fleet.GPUHanging:
		rule, says = RuleGPUHanging, "does not answer: "+orWhy(d.Health.Why, "a call of the driver has not returned")
		advice = "drain the node; if it does not answer when its job has ended, reset the GPU or reboot the node"
	case d.Health.State == fleet.GPUMissing:
		rule, says = RuleGPUMissing, "is missing: the board is expected, and the driver does not list it"
		advice = "drain the node, look for its PCI id in dmesg and lspci, power-cycle the node"
	default:
		return fleet.Finding{}, false
	}
	f := d.finding(rule, fleet.Critical, says, d.owners())
	if d.Health.Why != "" {
		f.Evidence = append(f.Evidence, d.Health.Why)
	}
	quote(&f, d.open())
	if r, ok := d.recoveryDue(); ok {
		advice = "recovery action " + r.Name + ": " + r.Asks
	}
	f.Advice = advice
	if !d.Health.Since.IsZero() && d.Health.State != fleet.GPUAnswers {
		f.Since = d.Health.Since
	}
	return f, true
}

func orWhy(why, otherwise string) string {
	if why == "" {
		return otherwise
	}
	return why
}

// offBus is how the kernel said that the device fell off the bus; empty when it did not.
func (d device) offBus() string {
	said := ""
	for _, f := range d.open(fleet.FaultXID, fleet.FaultOffBus) {
		switch {
		case f.Kind == fleet.FaultXID && f.Code == 79:
			return " (XID 79)"
		case f.Kind == fleet.FaultOffBus:
			said = " (the kernel says so, without an XID)"
		}
	}
	return said
}

// quote adds faults as evidence, the newest first, and dates the finding by the oldest.
func quote(f *fleet.Finding, faults []*fleet.Fault) {
	slices.SortStableFunc(faults, func(a, b *fleet.Fault) int { return b.Last.Compare(a.Last) })
	for i, fault := range faults {
		if i < maxEvidence {
			f.Evidence = append(f.Evidence, faultWords(fault))
		}
		if !fault.First.IsZero() && (f.Since.IsZero() || fault.First.Before(f.Since)) {
			f.Since = fault.First
		}
	}
	if more := len(faults) - maxEvidence; more > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("and %d more", more))
	}
}

// recovery finds a device whose driver asks for something to be done.
func (d device) recovery() (fleet.Finding, bool) {
	r, ok := d.recoveryDue()
	if !ok {
		return fleet.Finding{}, false
	}
	f := d.finding(RuleGPURecovery, r.Severity, "asks for recovery: "+r.Name, d.owners())
	quote(&f, d.open())
	for i := range d.Checks {
		if c := &d.Checks[i]; c.Result == fleet.CheckBad || c.Result == fleet.CheckWarn {
			f.Evidence = append(f.Evidence, c.Name+": "+c.Text)
		}
	}
	f.Advice = r.Asks
	if r.Value == recoverByReset || r.Value == recoverByDrainAndReset {
		f.Actions = append(f.Actions, reset)
	}
	return f, true
}

// recoveryDue is the recovery action that the device asks for, as the driver reads
// it, or else as its newest XID 154 said.
func (d device) recoveryDue() (Recovery, bool) {
	value, read := 0, false
	for i := range d.Faults {
		if f := &d.Faults[i]; f.Kind == fleet.FaultRecovery {
			read = true
			if f.IsOpen() {
				value = f.Code
			}
		}
	}
	if !read {
		value = d.recoveryTold()
	}
	return ExplainRecovery(value), value != 0
}

// recoveryTold is the recovery action in the newest XID 154.
func (d device) recoveryTold() int {
	value, last := 0, time.Time{}
	for _, f := range d.open(fleet.FaultXID) {
		if v, ok := recoveryIn(f); ok && !f.Last.Before(last) {
			value, last = v, f.Last
		}
	}
	return value
}

// recoveryChange finds the new value in the words of an XID 154.
var recoveryChange = regexp.MustCompile(`(?i)\bto 0x([0-9a-f]{1,8})\b`)

// recoveryIn reads the recovery action out of an XID 154.
func recoveryIn(f *fleet.Fault) (int, bool) {
	if f.Kind != fleet.FaultXID || f.Code != 154 {
		return 0, false
	}
	m := recoveryChange.FindStringSubmatch(f.Text)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseInt(m[1], 16, 32)
	return int(v), err == nil
}

// proves tells which check an XID goes with: they speak of the same thing.
var proves = map[int]string{
	48: fleet.CheckECC, 94: fleet.CheckECC, 95: fleet.CheckECC, 140: fleet.CheckECC, 171: fleet.CheckECC, 172: fleet.CheckECC,
	63: fleet.CheckRowRemap, 64: fleet.CheckRowRemap,
	74: fleet.CheckNVLink, 144: fleet.CheckNVLink, 145: fleet.CheckNVLink, 146: fleet.CheckNVLink,
	147: fleet.CheckNVLink, 148: fleet.CheckNVLink, 149: fleet.CheckNVLink, 150: fleet.CheckNVLink,
}

// xid finds a device with XIDs: the worst of them speaks, the others are evidence. A
// remapped row is told by its check, which knows whether a reset is needed.
func (d device) xid() (fleet.Finding, bool) {
	var faults []*fleet.Fault
	for _, f := range d.open(fleet.FaultXID) {
		_, changed := recoveryIn(f)
		if !changed && !(proves[f.Code] == fleet.CheckRowRemap && d.check(fleet.CheckRowRemap) != fleet.CheckOK) {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		return fleet.Finding{}, false
	}
	worst := slices.MinFunc(faults, func(a, b *fleet.Fault) int {
		if c := int(judge(a).Severity) - int(judge(b).Severity); c != 0 {
			return c
		}
		return b.Last.Compare(a.Last)
	})
	x := judge(worst)
	f := d.finding(RuleGPUXID, x.Severity, fmt.Sprintf("%s (XID %d)", x.Meaning, x.Code), d.culprit(worst))
	quote(&f, faults)
	if x.Name != "" {
		f.Evidence = append(f.Evidence, x.Name+", NVIDIA: "+string(x.Bucket))
	}
	f.Advice = x.Action
	if x.Bucket == BucketResetGPU || x.Bucket == Bucket48 {
		f.Actions = append(f.Actions, reset)
	}
	return f, true
}

// severe finds how bad the log says an NVLink error or an SXID is.
var severe = regexp.MustCompile(`(?i)\b(non-?)?fatal\b`)

// judge explains the XID of a fault, in the light of its own words.
func judge(f *fleet.Fault) XID {
	x := ExplainXID(f.Code)
	if x.Bucket == BucketNVLink5 {
		x.Severity = wordedSeverity(f.Text, x.Severity)
	}
	return x
}

// wordedSeverity is critical or info where the log says Fatal or Non-fatal.
func wordedSeverity(text string, otherwise fleet.Severity) fleet.Severity {
	m := severe.FindStringSubmatch(text)
	switch {
	case m == nil:
		return otherwise
	case m[1] != "":
		return fleet.Info
	}
	return fleet.Critical
}

// otherFaults finds faults of kinds that no other rule knows.
func (d device) otherFaults() []fleet.Finding {
	var faults []*fleet.Fault
	for _, f := range d.open() {
		switch f.Kind {
		case fleet.FaultXID, fleet.FaultSXID, fleet.FaultOffBus, fleet.FaultRecovery:
			continue
		}
		if f.Kind != fleet.FaultDoubleBit || !d.has48() {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	f := d.finding(RuleGPUFault, fleet.Warning, "reports "+faults[0].Kind, d.owners())
	quote(&f, faults)
	f.Advice = "drain the node if it comes again, and run the health check"
	return []fleet.Finding{f}
}

// has48 reports whether an XID already tells of a double-bit error.
func (d device) has48() bool {
	return slices.ContainsFunc(d.open(fleet.FaultXID), func(f *fleet.Fault) bool { return proves[f.Code] == fleet.CheckECC })
}
