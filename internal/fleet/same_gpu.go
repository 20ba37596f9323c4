package fleet

import "slices"

// sameReport reports whether two reports of a host say the same. Small structs are
// compared with ==: the same moment written in another zone makes a row new, which
// costs little and is rare.
func sameReport(a, b *HostReport) bool {
	return a.Host == b.Host && a.Gone == b.Gone && sameAgent(&a.Agent, &b.Agent) &&
		slices.EqualFunc(a.GPUs, b.GPUs, func(x, y GPU) bool { return sameGPU(&x, &y) })
}

func sameAgent(a, b *AgentInfo) bool {
	return a.Version == b.Version && a.Host == b.Host && a.Machine == b.Machine && a.BootID == b.BootID &&
		a.Driver == b.Driver && a.CUDA == b.CUDA && a.NVML == b.NVML && a.Expected == b.Expected && a.Present == b.Present &&
		slices.Equal(a.Checks, b.Checks) && slices.Equal(a.Faults, b.Faults) && slices.Equal(a.Problems, b.Problems) &&
		slices.EqualFunc(a.Boards, b.Boards, sameBoard) &&
		a.At.Equal(b.At) && a.Via == b.Via && a.Status == b.Status && a.Gone == b.Gone
}

// sameGPU reports whether two readings of a device say the same.
func sameGPU(a, b *GPU) bool {
	return a.UUID == b.UUID && a.Node == b.Node && a.Index == b.Index && a.Minor == b.Minor && a.Model == b.Model &&
		a.Serial == b.Serial && a.PCI == b.PCI && a.PCIDevice == b.PCIDevice && a.VBIOS == b.VBIOS && slices.Equal(a.Owners, b.Owners) && a.Health == b.Health &&
		a.Temp == b.Temp && a.TempLimit == b.TempLimit && a.Power == b.Power && a.PowerCap == b.PowerCap && a.Util == b.Util &&
		a.MemUsed == b.MemUsed && a.MemTotal == b.MemTotal && a.SMClock == b.SMClock && sameMIG(&a.MIG, &b.MIG) &&
		slices.Equal(a.Checks, b.Checks) && slices.Equal(a.Faults, b.Faults) && slices.Equal(a.Processes, b.Processes) &&
		a.At.Equal(b.At)
}

func sameBoard(a, b MIGBoard) bool {
	return a.Model == b.Model && slices.EqualFunc(a.Profiles, b.Profiles, func(x, y MIGProfile) bool {
		return x.Name == y.Name && x.Compute == y.Compute && x.Memory == y.Memory && x.Max == y.Max && x.Media == y.Media && slices.Equal(x.Starts, y.Starts)
	})
}

func sameMIG(a, b *MIGState) bool {
	return a.Current == b.Current && a.Pending == b.Pending && a.Slices == b.Slices &&
		slices.EqualFunc(a.Instances, b.Instances, sameInstance)
}

func sameInstance(a, b MIGInstance) bool {
	return a.ID == b.ID && a.Profile == b.Profile && a.Start == b.Start && a.Size == b.Size && a.Compute == b.Compute &&
		a.Bytes == b.Bytes && a.MemUsed == b.MemUsed && a.UUID == b.UUID && slices.Equal(a.CIs, b.CIs) && slices.Equal(a.Owners, b.Owners)
}
