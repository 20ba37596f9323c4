// Package pci finds NVIDIA devices on the PCI bus of the host, without the driver:
// what should be there.
//
// It imports the standard library only.
package pci

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Device is one NVIDIA device as the kernel enumerates it.
type Device struct {
	ID     string // as NVML prints it: 00000000:05:00.0
	Class  string // "0302", "0300", "0680"
	Driver string // the kernel driver that holds it; empty without one
}

// The classes of devices that matter here.
const (
	classDisplay = "0300"
	class3D      = "0302"
	classBridge  = "0680" // of NVIDIA's: an NVSwitch
)

const vendorNVIDIA = "0x10de"

// IsGPU reports a device that NVML should enumerate. One that was handed to a virtual
// machine (vfio) is not expected here.
func (d Device) IsGPU() bool {
	return (d.Class == classDisplay || d.Class == class3D) && !strings.HasPrefix(d.Driver, "vfio")
}

// IsSwitch reports an NVSwitch.
func (d Device) IsSwitch() bool { return d.Class == classBridge }

// Scan lists the NVIDIA devices below root/sys/bus/pci, by id. A device that
// vanishes meanwhile is left out.
func Scan(root string) ([]Device, error) {
	dir := filepath.Join(root, "sys/bus/pci/devices")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("PCI scan: %w", err)
	}
	var found []Device
	for _, e := range entries {
		if d, ok := read(filepath.Join(dir, e.Name())); ok {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b Device) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

func read(dir string) (Device, bool) {
	vendor, err := os.ReadFile(filepath.Join(dir, "vendor"))
	if err != nil || strings.TrimSpace(string(vendor)) != vendorNVIDIA {
		return Device{}, false
	}
	class, err := os.ReadFile(filepath.Join(dir, "class"))
	id, ok := Canonical(filepath.Base(dir))
	if err != nil || !ok {
		return Device{}, false
	}
	d := Device{ID: id}
	if text := strings.TrimPrefix(strings.TrimSpace(string(class)), "0x"); len(text) >= 4 {
		d.Class = text[:4]
	}
	if link, err := os.Readlink(filepath.Join(dir, "driver")); err == nil {
		d.Driver = filepath.Base(link)
	}
	return d, true
}

// Canonical writes a bus id as NVML prints it, in capitals: the kernel's 0000:3b:00 and
// 0000:3b:00.0 become 00000000:3B:00.0.
func Canonical(id string) (string, bool) {
	rest, function, dotted := strings.Cut(strings.TrimSpace(id), ".")
	if !dotted {
		function = "0"
	}
	parts := strings.Split(rest, ":")
	if len(parts) != 3 {
		return "", false
	}
	var n [4]uint64
	for i, p := range append(parts, function) {
		v, err := strconv.ParseUint(p, 16, []int{32, 8, 8, 4}[i])
		if err != nil {
			return "", false
		}
		n[i] = v
	}
	return fmt.Sprintf("%08X:%02X:%02X.%X", n[0], n[1], n[2], n[3]), true
}
