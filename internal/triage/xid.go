package triage

import (
	"fmt"
	"slices"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Bucket is what NVIDIA's catalogue says is to be done at once about an XID or SXID.
type Bucket string

// The buckets of the catalogues.
const (
	BucketNone       Bucket = "" // not classified
	BucketIgnore     Bucket = "IGNORE"
	BucketRestartApp Bucket = "RESTART_APP"
	BucketResetGPU   Bucket = "RESET_GPU"
	BucketRestartBM  Bucket = "RESTART_BM"
	BucketRestartVM  Bucket = "RESTART_VM"
	BucketSupport    Bucket = "CONTACT_SUPPORT"
	BucketMechanics  Bucket = "CHECK_MECHANICALS"
	BucketUpdate     Bucket = "UPDATE_SWFW"
	BucketUVM        Bucket = "CHECK_UVM"
	Bucket45         Bucket = "WORKFLOW_XID_45"
	Bucket48         Bucket = "WORKFLOW_XID_48"
	BucketNVLink     Bucket = "WORKFLOW_NVLINK_ERR"
	BucketNVLink5    Bucket = "WORKFLOW_NVLINK5_ERR"
	Bucket154        Bucket = "XID_154"

	// The further buckets of SXIDs.
	BucketResetFabric Bucket = "RESET_FABRIC"
	BucketThermals    Bucket = "CHECK_THERMALS"
	BucketFMConfig    Bucket = "CHECK_FM_CONFIG"
	BucketNVLinkFatal Bucket = "NVLINK_POTENTIALLY_FATAL"
	BucketLinkSI      Bucket = "INVESTIGATE_LINK_SI"
)

// resolution is what we make of a bucket.
type resolution struct {
	severity fleet.Severity
	action   string
}

// resolutions is our advice for each bucket.
var resolutions = map[Bucket]resolution{
	BucketIgnore:      {fleet.Info, "nothing: it is for the record"},
	BucketRestartApp:  {fleet.Info, "usually the program's own error: restart the job; seen on other nodes too: look at the program, only here: look at the GPU"},
	BucketResetGPU:    {fleet.Critical, "drain the node, reset the GPU when nothing runs on it, then run the health check"},
	BucketRestartBM:   {fleet.Critical, "drain the node and power-cycle it: a warm reboot may not bring the GPU back; support case when it returns"},
	BucketRestartVM:   {fleet.Critical, "drain the node and restart the virtual machine"},
	BucketSupport:     {fleet.Warning, "drain the node when it comes again, and open a support case with nvidia-bug-report.sh"},
	BucketMechanics:   {fleet.Warning, "drain the node and check the power cabling of the board"},
	BucketUpdate:      {fleet.Warning, "update driver or firmware"},
	BucketUVM:         {fleet.Warning, "restart the job; drain and reboot when nvidia-uvm keeps failing"},
	Bucket45:          {fleet.Info, "it follows another XID or the end of the job: look at the one before"},
	Bucket48:          {fleet.Critical, "drain the node and reset the GPU; after XID 63 or 64 the reset activates the row remapping"},
	BucketNVLink:      {fleet.Warning, "the job on this link failed; drain the node and reset the GPU when it comes again, support case after that"},
	BucketNVLink5:     {fleet.Warning, "the words of the log say how bad it is: Fatal needs a reset of the GPU, Non-fatal nothing"},
	Bucket154:         {fleet.Warning, "do what the recovery action asks"},
	BucketNone:        {fleet.Warning, "NVIDIA does not classify it: keep an eye on the GPU"},
	BucketResetFabric: {fleet.Critical, "drain the node, stop its jobs, reset all of its GPUs and NVSwitches together (or reboot it)"},
	BucketThermals:    {fleet.Warning, "check cooling and airflow of the NVSwitch"},
	BucketFMConfig:    {fleet.Warning, "compare the Fabric Manager's configuration and version with the driver's"},
	BucketNVLinkFatal: {fleet.Critical, "multi-GPU jobs here may hang or fail: drain the node, restart the Fabric Manager, reset the fabric"},
	BucketLinkSI:      {fleet.Warning, "look at the link: cables, backplane, the GPU at its other end"},
}

// XID is what is known of an error that the driver reports by number.
type XID struct {
	Code     int
	Name     string // NVIDIA's mnemonic
	Meaning  string
	Bucket   Bucket // what NVIDIA says is to be done at once
	Action   string // what we say
	Severity fleet.Severity
	Known    bool // it is in the catalogue
}

// xidRow is an entry of the catalogue.
type xidRow struct {
	code    int
	name    string
	meaning string
	bucket  Bucket
}

// ExplainXID says what an XID means. One that is not in the catalogue is "unused" by
// NVIDIA, or newer than it: support knows.
func ExplainXID(code int) XID {
	x := XID{Code: code, Bucket: BucketSupport, Meaning: "not in NVIDIA's catalogue"}
	if i, ok := slices.BinarySearchFunc(xids, code, func(r xidRow, c int) int { return r.code - c }); ok {
		r := xids[i]
		x.Name, x.Meaning, x.Bucket, x.Known = r.name, r.meaning, r.bucket, true
	}
	r := resolutions[x.Bucket]
	x.Severity, x.Action = r.severity, r.action
	return x
}

// SXID is what is known of an error of an NVSwitch.
type SXID struct {
	Code     int
	Bucket   Bucket
	Action   string
	Severity fleet.Severity
	Known    bool
}

// sxidRow is a range of SXIDs with one bucket.
type sxidRow struct {
	from, to int
	bucket   Bucket
}

// sxids are the SXIDs whose cure is known; special ones before the ranges that they
// lie in.
var sxids = []sxidRow{
	{10003, 10003, BucketResetFabric},
	{10004, 10004, BucketThermals},
	{10006, 10008, BucketResetFabric},
	{11001, 11001, BucketNVLinkFatal},
	{11004, 11004, BucketFMConfig},
	{11002, 11006, BucketIgnore},
	{11007, 11007, BucketNVLinkFatal},
	{11009, 11009, BucketNVLinkFatal},
	{11013, 11013, BucketNVLinkFatal},
	{12001, 12001, BucketNVLinkFatal},
	{12003, 12003, BucketIgnore},
	{12020, 12020, BucketResetFabric},
	{12028, 12028, BucketResetFabric},
	{12032, 12032, BucketResetFabric},
	{14001, 14002, BucketResetGPU},
	{14014, 14014, BucketResetGPU},
	{14017, 14017, BucketResetFabric},
	{14018, 14018, BucketResetGPU},
	{18001, 18020, BucketLinkSI},
	{19001, 19001, BucketLinkSI},
}

// ExplainSXID says what an SXID means. The log's own Fatal or Non-fatal goes before
// it.
func ExplainSXID(code int) SXID {
	x := SXID{Code: code, Severity: fleet.Warning, Action: "the words of the log say whether it is fatal; fatal: drain the node and reset the fabric"}
	for _, r := range sxids {
		if r.from <= code && code <= r.to {
			res := resolutions[r.bucket]
			return SXID{Code: code, Bucket: r.bucket, Action: res.action, Severity: res.severity, Known: true}
		}
	}
	return x
}

// Recovery is what a GPU's recovery action asks for.
type Recovery struct {
	Value    int
	Name     string // as nvidia-smi prints it, where it does
	Asks     string
	Severity fleet.Severity
	Known    bool
}

// The recovery actions that a reset of the GPU answers.
const (
	recoverByReset         = 1
	recoverByDrainAndReset = 4
)

// recoveries are the values of NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, by value.
var recoveries = [...]Recovery{
	{Name: "none", Asks: "nothing: the GPU is usable", Severity: fleet.Info},
	{Name: "reset", Asks: "end everything on the GPU, then reset it", Severity: fleet.Critical},
	{Name: "reboot", Asks: "drain the node and reboot it: the operating system may be inconsistent", Severity: fleet.Critical},
	{Name: "drain P2P", Asks: "no new jobs, stop those that use peer to peer, persistence off, then read it again: reset when it still says so", Severity: fleet.Critical},
	{Name: "drain and reset", Asks: "the GPU works with less than it has: let running jobs end, start none, then reset it", Severity: fleet.Warning},
	{Name: "recover IMEX domain", Asks: "drain the node and restart the IMEX domain that it belongs to", Severity: fleet.Critical},
	{Name: "bus reset", Asks: "drain the node and reset the PCIe bus of the GPU", Severity: fleet.Critical},
	{Name: "system reboot", Asks: "drain the node and reboot the whole system", Severity: fleet.Critical},
}

// ExplainRecovery says what a value of the recovery action asks for.
func ExplainRecovery(value int) Recovery {
	if value < 0 || value >= len(recoveries) {
		return Recovery{
			Value: value, Name: fmt.Sprintf("action %d", value), Severity: fleet.Critical,
			Asks: "drain the node; nvidia-smi -q of its own driver version says what it means",
		}
	}
	r := recoveries[value]
	r.Value, r.Known = value, true
	return r
}
