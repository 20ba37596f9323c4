package fleet

// The names of checks, in Check.Name. An agent may make further ones: they are shown,
// and what is bad of them is a finding without advice of its own.
const (
	CheckECC           = "ecc"            // uncorrectable errors: bad
	CheckRowRemap      = "row-remap"      // failed: bad; pending: warn
	CheckRetiredPages  = "retired-pages"  // pending: warn; too many: bad
	CheckNVLink        = "nvlink"         // a link that is down: bad
	CheckFabric        = "fabric"         // the device's registration with the fabric
	CheckFabricManager = "fabric-manager" // the service; of the node
	CheckPCIe          = "pcie"           // width or replays under load
	CheckThrottle      = "throttle"       // clock reasons that are faults
	CheckTemperature   = "temperature"    // at its own limit: bad
	CheckPersistence   = "persistence"    // off: warn
	CheckDriver        = "driver"         // none, or too old: bad; of the node
)

// The kinds of faults, in Fault.Kind.
const (
	FaultXID       = "xid"             // Code is the XID
	FaultSXID      = "sxid"            // Code is the SXID
	FaultOffBus    = "fallen-off-bus"  // the kernel's words, without a number
	FaultRecovery  = "recovery-action" // Code is the action that the driver asks for
	FaultDoubleBit = "ecc-double"      // an uncorrectable error, as an event
)
