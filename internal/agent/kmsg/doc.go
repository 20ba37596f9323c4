// Package kmsg reads the kernel log for what the NVIDIA driver says there: XIDs, SXIDs
// and devices that fell off the bus. The driver's own event interface loses codes of a
// burst; the kernel log does not.
//
// It imports agent/pci and fleet. A line that it does not understand is skipped and
// harms nothing else.
package kmsg
