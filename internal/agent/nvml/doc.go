// Package nvml reads and changes NVIDIA GPUs through their driver's library. It is the
// only importer of go-nvml.
//
// A call into the driver may never return, and a call that the library lacks ends the
// process. So all calls are made in a child process, gpuctl itself with ChildArg:
//
//	Supervised (agent.Driver) ── requests, replies: gob over pipes ──▶ Serve
//	  remembers devices that are lost                                   one worker a device
//	  puts aside a device that hangs, and asks it again gently          every call through calls.do
//
// A device whose call does not return in time is reported as hanging, with the name of
// the call, and the others as usual. Then the child is replaced by one that leaves the
// device alone. Release ends the child, and with it every handle on every device.
//
// Without cgo there is no child, and every method says that this gpuctl cannot read
// GPUs. It imports agent, agent/mig, fleet and go-nvml.
package nvml
