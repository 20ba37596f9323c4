package kmsg

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

const bus5, bus18 = "00000000:05:00.0", "00000018:01:00.0"

func TestParse(t *testing.T) {
	for text, want := range map[string][]Event{
		"NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": {
			{Kind: fleet.FaultXID, Code: 79, PCI: bus5},
		},
		"NVRM: Xid (PCI:0000:05:00): 13, pid=4242, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 1)": {
			{Kind: fleet.FaultXID, Code: 13, PCI: bus5, PID: 4242, Process: "python3"},
		},
		"NVRM: Xid (PCI:0000:05:00 GPU-I:05): 43, pid=77, name=VLLM::Worker_TP, Ch 00000008": {
			{Kind: fleet.FaultXID, Code: 43, PCI: bus5, PID: 77, Process: "VLLM::Worker_TP"},
		},
		"NVRM: Xid (0000:05:00): 62, 0000 0000": {{Kind: fleet.FaultXID, Code: 62, PCI: bus5}},
		"NVRM: Xid (PCI:0000:05:00): 31":        {{Kind: fleet.FaultXID, Code: 31, PCI: bus5}},
		"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000)": {
			{Kind: fleet.FaultXID, Code: 149, PCI: bus18},
		},
		"NVRM: Xid (PCI:0000:05:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": {
			{Kind: fleet.FaultXID, Code: 154, PCI: bus5}, {Kind: fleet.FaultRecovery, Code: 2, PCI: bus5},
		},
		"NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)": {
			{Kind: fleet.FaultXID, Code: 154, PCI: bus5}, {Kind: fleet.FaultRecovery, Code: 0, PCI: bus5},
		},
		"NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from None to Drain and Reset": {
			{Kind: fleet.FaultXID, Code: 154, PCI: bus5}, {Kind: fleet.FaultRecovery, Code: 4, PCI: bus5},
		},
		"NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from None to Something New": {
			{Kind: fleet.FaultXID, Code: 154, PCI: bus5},
		},
		"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 63 LTSSM Fault Up": {
			{Kind: fleet.FaultSXID, Code: 20034, PCI: bus5},
		},
		"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 63 Sub-engine instance 00": nil,
		"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x10610, 0x0}":                      nil,
		"NVRM: GPU 0000:05:00.0: GPU has fallen off the bus.":                                                    {{Kind: fleet.FaultOffBus, PCI: bus5}},
		"NVRM: The NVIDIA GPU 0000:05:00.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\nNVRM: fallen off the bus and is not responding to commands.": {
			{Kind: fleet.FaultOffBus, PCI: bus5},
		},
		"Nov 30 12:00:00 gn001 kernel: [ 12.5] NVRM: Xid (PCI:0000:05:00): 48, pid=1, name=a, DBE": {
			{Kind: fleet.FaultXID, Code: 48, PCI: bus5, PID: 1, Process: "a"},
		},
		"NVRM: Xid (PCI:0000:05:00): nonsense":      nil,
		"NVRM: loading NVIDIA UNIX x86_64 570.86":   nil,
		"audit: alice wrote SXid (not a PCI id): 1": nil,
		"eth0: link up": nil,
	} {
		got := new(Parser).Parse(text)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Event{}, "Text")); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestParseKeepsTheWords(t *testing.T) {
	got := new(Parser).Parse("[12.5] NVRM: Xid (PCI:0000:05:00): 48, pid=1,\tname=a, DBE")
	if len(got) != 1 || got[0].Text != "Xid (PCI:0000:05:00): 48, pid=1, name=a, DBE" {
		t.Errorf("%+v", got)
	}
}

func TestOffTheBusInSeveralLines(t *testing.T) {
	var p Parser
	var got []Event
	for _, line := range []string{
		"NVRM: The NVIDIA GPU 0000:05:00.0",
		"NVRM: (PCI ID: 10de:2330) installed in this system has",
		"NVRM: fallen off the bus and is not responding to commands.",
		"NVRM: something has fallen off the bus", // no device: still told
	} {
		got = append(got, p.Parse(line)...)
	}
	want := []Event{{Kind: fleet.FaultOffBus, PCI: bus5}, {Kind: fleet.FaultOffBus}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Event{}, "Text")); diff != "" {
		t.Error(diff)
	}
}

func TestParseRecord(t *testing.T) {
	r := parseRecord("4,1234,5000000,-;NVRM: a\\x0aNVRM: b\\x5c\n SUBSYSTEM=pci\n DEVICE=+pci:0000\n")
	if r.seq != 1234 || r.since.Seconds() != 5 || r.bare || r.text != "NVRM: a\nNVRM: b\\" {
		t.Errorf("%+v", r)
	}
	for _, bare := range []string{"", "NVRM: Xid; 1", "4,x,1,-;t", "a,1,2,-;t", `\x`, `4,1;\xzz`} {
		if r := parseRecord(bare); !r.bare || r.text != bare {
			t.Errorf("%q: %+v", bare, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("4,1,2,-;NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
	f.Add("NVRM: The NVIDIA GPU 0000:05:00.0\nNVRM: fallen off the bus")
	f.Add("4,1,2,-;nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal \\x0a\\xff")
	f.Fuzz(func(t *testing.T, line string) {
		var p Parser
		for _, e := range p.Parse(parseRecord(line).text) {
			if e.Kind == "" || !utf8.ValidString(e.Text) || len(e.Text) > maxText+3 || strings.ContainsAny(e.Text, "\n\x1b") {
				t.Fatalf("%+v", e)
			}
			if e.Code < 0 || e.PID < 0 || e.PCI != "" && canonical(e.PCI) != e.PCI {
				t.Fatalf("%+v", e)
			}
		}
	})
}
