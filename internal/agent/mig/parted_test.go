package mig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuctl/gpuctl/internal/agent/mig"
)

const partedFile = `version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  all-enabled:
    - devices: all
      mig-enabled: true
      mig-devices: {}
  all-balanced:
    - device-filter: ["0x20B010DE", "0x20B110DE"]
      devices: all
      mig-enabled: true
      mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    - device-filter: "0x233010DE"
      devices: all
      mig-enabled: true
      mig-devices:
        "1g.10gb": 2
        "2g.20gb": 1
        "3g.40gb": 1
  mixed:
    - devices: [0, 1]
      mig-enabled: false
    - devices: [2]
      mig-enabled: true
      mig-devices: {"1g.10gb+me": 1, "1g.10gb": 6, "7g.80gb": 0}
`

func TestC94_PartedFileGivesEachGPUItsLayout(t *testing.T) {
	configs, err := mig.ParsePartedFile([]byte(partedFile))
	if err != nil || len(configs) != 4 {
		t.Fatalf("%v %v", configs, err)
	}
	for _, c := range []struct {
		config string
		index  int
		pci    uint32
		want   string
	}{
		{"all-disabled", 0, 0, "off"},
		{"all-enabled", 3, 0x233010DE, "on"},
		{"all-balanced", 0, 0x20B110DE, "1g.5gb:2,2g.10gb,3g.20gb"},
		{"all-balanced", 7, 0x233010DE, "1g.10gb:2,2g.20gb,3g.40gb"},
		{"mixed", 1, 0, "off"},
		{"mixed", 2, 0, "1g.10gb+me,1g.10gb:6"},
	} {
		l, err := configs[c.config].For(c.index, c.pci)
		if err != nil || l.String() != c.want {
			t.Errorf("%s GPU %d: %s, %v; want %s", c.config, c.index, l, err, c.want)
		}
	}
	if _, err := configs["mixed"].For(3, 0); !errors.Is(err, mig.ErrNoEntry) {
		t.Error(err)
	}
	if _, err := configs["all-balanced"].For(0, 0x290110DE); !errors.Is(err, mig.ErrNoEntry) {
		t.Error(err)
	}
	if _, err := configs["all-balanced"].For(0, 0); !errors.Is(err, mig.ErrLayout) {
		t.Error(err)
	}
}

func TestParsePartedFileRefuses(t *testing.T) {
	entry := func(s string) string { return "version: v1\nmig-configs: {c: [" + s + "]}" }
	for text, why := range map[string]string{
		"":                             "version",
		"version: v2\nmig-configs: {}": "v1 is known",
		"version: v1\nhelp: 1":         "unknown field",
		"version: v1\nversion: v1":     "already",
		entry(`{devices: all}`):        "mig-enabled is missing",
		entry(`{mig-enabled: false}`):  "devices is missing",
		entry(`{devices: some, mig-enabled: false}`):                                   "all, or a list",
		entry(`{devices: [-1], mig-enabled: false}`):                                   "below 0",
		entry(`{devices: all, mig-enabled: true}`):                                     "mig-devices is missing",
		entry(`{devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}`):          "mig-enabled false",
		entry(`{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 1}, extra: 1}`): "unknown field",
		entry(`{devices: all, mig-enabled: true, mig-devices: {big: 1}}`):              "no profile",
		entry(`{devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}`):          "1 to 32",
		entry(`{devices: all, mig-enabled: false, device-filter: "A100"}`):             "0x233010DE",
	} {
		if _, err := mig.ParsePartedFile([]byte(text)); !errors.Is(err, mig.ErrLayout) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q in it", text, err, why)
		}
	}
	c, err := mig.ParsePartedFile([]byte(entry(`{devices: all, mig-enabled: false}, {devices: [0], mig-enabled: true, mig-devices: {}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c["c"].For(0, 0); !errors.Is(err, mig.ErrLayout) || !strings.Contains(err.Error(), "both off and on") {
		t.Error(err)
	}
}

func FuzzParsePartedFile(f *testing.F) {
	f.Add([]byte(partedFile))
	f.Add([]byte("version: v1\nmig-configs: {c: [{devices: [1, 2], mig-enabled: true, mig-devices: {1g.5gb+me: 1}}]}"))
	f.Add([]byte(`{"version":"v1","mig-configs":{"a":null,"b":[null]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		configs, err := mig.ParsePartedFile(data)
		if err != nil {
			return
		}
		for _, c := range configs {
			for i := range 3 {
				if l, err := c.For(i, 0x233010DE); err == nil {
					if _, err := mig.ParseLayout(l.String()); err != nil {
						t.Fatalf("%s is not read again: %v", l, err)
					}
				}
			}
		}
	})
}
