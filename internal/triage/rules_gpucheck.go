package triage

import (
	"fmt"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// checkRule is what a check's outcome means for one device.
type checkRule struct {
	check    string
	result   fleet.CheckResult
	rule     string
	severity fleet.Severity
	says     string // empty: what was read
	advice   string
	reset    bool // a reset of the device helps
}

// checkRules are the checks with advice of their own. Those of the whole node, fabric
// and persistence, are hostTrouble's.
var checkRules = []checkRule{
	{
		fleet.CheckRowRemap, fleet.CheckBad, RuleGPURemapFailed, fleet.Critical, "could not remap a row of its memory: due for replacement",
		"drain the node and open an RMA case: the failure flag is NVIDIA's criterion", false,
	},
	{
		fleet.CheckRowRemap, fleet.CheckWarn, RuleGPURemapPending, fleet.Warning, "row remap pending: a reset is needed",
		"running work is safe; drain the node and reset the GPU when it has ended, which activates the remapping", true,
	},
	{
		fleet.CheckRetiredPages, fleet.CheckBad, RuleGPUPages, fleet.Warning, "retired too many pages of its memory",
		"drain the node and open an RMA case", false,
	},
	{
		fleet.CheckRetiredPages, fleet.CheckWarn, RuleGPUPages, fleet.Warning, "has pages of memory to retire: a reset is needed",
		"running work is safe; drain the node and reset the GPU when it has ended", true,
	},
	{
		fleet.CheckECC, fleet.CheckBad, RuleGPUECC, fleet.Critical, "has uncorrectable ECC errors",
		"drain the node and reset the GPU; again after that: RMA case", true,
	},
	{
		fleet.CheckECC, fleet.CheckWarn, RuleGPUECC, fleet.Warning, "",
		"keep an eye on its counters; ECC itself is switched on with nvidia-smi -e 1 and a reset", false,
	},
	{
		fleet.CheckNVLink, fleet.CheckBad, RuleGPUNVLink, fleet.Critical, "has an NVLink that is down",
		"jobs over several GPUs here are slow or fail: drain the node, reset its GPUs, then look at the link", false,
	},
	{
		fleet.CheckNVLink, fleet.CheckWarn, RuleGPUNVLink, fleet.Warning, "has errors on NVLink",
		"keep an eye on it: replays that rise are a bad link", false,
	},
	{
		fleet.CheckPCIe, fleet.CheckBad, RuleGPUPCIe, fleet.Warning, "has a degraded PCIe link",
		"drain the node and reseat the board or its riser; a reboot may train the link again", false,
	},
	{
		fleet.CheckPCIe, fleet.CheckWarn, RuleGPUPCIe, fleet.Info, "",
		"keep an eye on it: replays that rise, or a link that does not train up, are a bad connection", false,
	},
	{
		fleet.CheckTemperature, fleet.CheckBad, RuleGPUHot, fleet.Warning, "",
		"look at cooling and airflow; drain the node if it stays", false,
	},
	{
		fleet.CheckThrottle, fleet.CheckBad, RuleGPUThrottle, fleet.Warning, "is slowed down",
		"look at cooling and power of the node: a slow GPU makes its whole job slow", false,
	},
	{
		fleet.CheckThrottle, fleet.CheckWarn, RuleGPUThrottle, fleet.Warning, "is slowed down",
		"look at cooling and power of the node: a slow GPU makes its whole job slow", false,
	},
}

// checks finds what the agent's checks of the device say, but for what an XID said
// already.
func (d device) checks() []fleet.Finding {
	var out []fleet.Finding
	for i := range d.Checks {
		c := &d.Checks[i]
		if c.Result != fleet.CheckBad && c.Result != fleet.CheckWarn || ofWholeNode(c.Name) || d.told(c.Name) {
			continue
		}
		r := ruleFor(c)
		if r.says == "" {
			r.says = c.Name + ": " + c.Text
		}
		f := d.finding(r.rule, r.severity, r.says, d.owners())
		if r.rule == RuleGPUCheck {
			f.ID += "/" + c.Name // several checks share the general rule
		}
		f.Evidence = append(f.Evidence, c.Name+": "+c.Text)
		f.Advice = r.advice
		if r.reset {
			f.Actions = append(f.Actions, reset)
		}
		var faults []*fleet.Fault
		for _, fault := range d.open(fleet.FaultXID) {
			if proves[fault.Code] == c.Name {
				faults = append(faults, fault)
			}
		}
		quote(&f, faults)
		out = append(out, f)
	}
	return out
}

func ofWholeNode(check string) bool {
	return check == fleet.CheckFabric || check == fleet.CheckPersistence
}

// told reports a check whose trouble a reading or a severe XID has told already.
func (d device) told(check string) bool {
	switch check {
	case fleet.CheckRowRemap:
		return false // it tells more than its XIDs
	case fleet.CheckTemperature:
		return d.hot()
	}
	for _, f := range d.open(fleet.FaultXID) {
		if proves[f.Code] == check && judge(f).Severity != fleet.Info {
			return true
		}
	}
	return false
}

func ruleFor(c *fleet.Check) checkRule {
	for _, r := range checkRules {
		if r.check == c.Name && r.result == c.Result {
			return r
		}
	}
	r := checkRule{
		rule: RuleGPUCheck, severity: fleet.Warning, says: "fails the check " + c.Name,
		advice: "the evidence says what was read; drain the node if jobs suffer",
	}
	if c.Result == fleet.CheckWarn {
		r.severity, r.says = fleet.Info, "is not as it should be: "+c.Name
	}
	return r
}

// conditions finds what the device's readings show by themselves.
func (d device) conditions() []fleet.Finding {
	var out []fleet.Finding
	if d.hot() {
		f := d.finding(RuleGPUHot, fleet.Warning, fmt.Sprintf("is at %.0f C, its own limit is %.0f C", d.Temp.Value, d.TempLimit.Value), d.owners())
		f.Evidence = append(f.Evidence, "the driver slows it down from there on")
		f.Advice = "look at cooling and airflow; drain the node if it stays"
		out = append(out, f)
	}
	if m := d.MIG; m.Current != m.Pending && changeable(m.Current) && changeable(m.Pending) {
		f := d.finding(RuleMIGPending, fleet.Warning, fmt.Sprintf("waits for a reset: MIG is %s, %s is pending", m.Current, m.Pending), d.owners())
		f.Advice = "drain the node, then reset the GPU (in a virtual machine: reboot); until then nothing can be partitioned"
		f.Actions = append(f.Actions, reset)
		out = append(out, f)
	}
	if f, ok := d.twoOwners(); ok {
		out = append(out, f)
	}
	return out
}

// hot reports a device at the limit that it has itself.
func (d device) hot() bool {
	return d.Temp.Quality == fleet.Known && d.TempLimit.Quality == fleet.Known && d.Temp.Value >= d.TempLimit.Value
}

func changeable(m fleet.MIGMode) bool { return m == fleet.MIGEnabled || m == fleet.MIGDisabled }

// twoOwners finds a device that two schedulers gave away at the same time (C100).
// Jobs of one scheduler may share a device: that is its own affair.
func (d device) twoOwners() (fleet.Finding, bool) {
	for i := 1; i < len(d.Owners); i++ {
		a, b := d.Owners[0], d.Owners[i]
		if !a.Proven || !b.Proven || a.Job.Cluster == b.Job.Cluster || a.Job.ID == "" || b.Job.ID == "" {
			continue
		}
		f := d.finding(RuleGPUTwoOwners, fleet.Critical, fmt.Sprintf("is held twice: by %s on %s and by %s on %s", a.Job.ID, a.Job.Cluster, b.Job.ID, b.Job.Cluster), nil)
		f.Blast = d.blast(d.owners())
		f.Evidence = append(f.Evidence, a.Source+" says "+a.Job.ID+" of "+a.User, b.Source+" says "+b.Job.ID+" of "+b.User)
		f.Advice = "two schedulers use this host: drain it in one of them, and end one of the two"
		return f, true
	}
	return fleet.Finding{}, false
}
