package pci

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"0000:3b:00.0":     "00000000:3B:00.0",
		"0000:3b:00":       "00000000:3B:00.0",
		"00000000:3B:00.0": "00000000:3B:00.0",
		"10000:01:00.7":    "00010000:01:00.7",
		"3b:00.0":          "",
		"":                 "",
		"0000:zz:00.0":     "",
		"0:1:2:3":          "",
		"0000:100:00.0":    "",
		"0000:3b:00.":      "",
	} {
		if got, ok := Canonical(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}

func TestScan(t *testing.T) {
	root := t.TempDir()
	add := func(id, vendor, class, driver string) {
		dir := filepath.Join(root, "sys/bus/pci/devices", id)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"vendor": vendor, "class": class} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if driver != "" {
			if err := os.Symlink("../../drivers/"+driver, filepath.Join(dir, "driver")); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("0000:3b:00.0", "0x10de", "0x030200", "nvidia")
	add("0000:3b:00.1", "0x10de", "0x040300", "snd_hda_intel") // the audio function
	add("0000:18:00.0", "0x10de", "0x030000", "")
	add("0000:af:00.0", "0x10de", "0x030200", "vfio-pci") // in a virtual machine
	add("0000:c4:00.0", "0x10de", "0x068000", "nvidia-nvswitch")
	add("0000:00:02.0", "0x8086", "0x030000", "i915")
	got, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	var gpus, switches []string
	for _, d := range got {
		if d.IsGPU() {
			gpus = append(gpus, d.ID)
		}
		if d.IsSwitch() {
			switches = append(switches, d.ID)
		}
	}
	if diff := cmp.Diff([]string{"00000000:18:00.0", "00000000:3B:00.0"}, gpus); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"00000000:C4:00.0"}, switches); diff != "" {
		t.Error(diff)
	}
	if _, err := Scan(t.TempDir()); err == nil {
		t.Error("no PCI bus, and no error")
	}
}
