package kmsg

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Event is one thing that the driver told the kernel log.
type Event struct {
	Kind    string // fleet.FaultXID, FaultSXID, FaultOffBus or FaultRecovery
	Code    int    // of a recovery action: 0 is "nothing more to do"
	PCI     string // of the device, as NVML prints it; empty: not told
	PID     int    // 0: not told
	Process string
	Text    string // one line, the driver's words
	At      time.Time
	Seq     uint64 // of the record, or where its line ends in a plain file: grows within a boot
}

const bus = `([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)`

// These are compiled once: the parser sees every line that the kernel logs.
var (
	xidLine   = regexp.MustCompile(`NVRM: Xid \((?:PCI:)?` + bus + `[^)]*\): *([0-9]{1,9})(?:, *(.*))?$`)
	sxidLine  = regexp.MustCompile(`SXid \((?:PCI:)?` + bus + `\): *([0-9]{1,9})(?:, *(.*))?$`)
	anyBus    = regexp.MustCompile(bus)
	pidField  = regexp.MustCompile(`(?:^|, *)pid='?([0-9]{1,10})'?(?:,|$)`)
	nameField = regexp.MustCompile(`(?:^|, *)name='?([^,']+)'?(?:,|$)`)
	recovery  = regexp.MustCompile(`(?i)recovery action changed from .* to (?:0x([0-9a-f]{1,4}) *)?\(?([A-Za-z0-9 -]*)\)?`)
)

// recoveryWords are the driver's words for the actions, where it does not give the
// number.
var recoveryWords = map[string]int{
	"none": 0, "gpu reset required": 1, "node reboot required": 2, "drain p2p": 3, "drain and reset": 4,
}

const offBus = "fallen off the bus"

// Parser turns the lines of one log into events. It remembers one line: the message
// of a device that fell off the bus may come in several.
type Parser struct {
	named string // the device that an unfinished message named
}

// Parse returns what one message says: nothing, an event, or two (an XID that tells a
// new recovery action).
func (p *Parser) Parse(text string) []Event {
	named := p.named
	p.named = ""
	switch {
	case !strings.Contains(text, "NVRM") && !strings.Contains(text, "SXid"):
		return nil
	case strings.Contains(text, "Xid ("):
		text = oneLine(text)
		if m := xidLine.FindStringSubmatch(text); m != nil {
			return xid(m, text)
		}
		return sxid(text)
	case strings.Contains(text, offBus):
		if id := anyBus.FindString(text); id != "" {
			named = id
		}
		return []Event{{Kind: fleet.FaultOffBus, PCI: canonical(named), Text: words(text)}}
	case strings.Contains(text, "NVIDIA GPU") || strings.Contains(text, "installed in this system"):
		if p.named = anyBus.FindString(text); p.named == "" {
			p.named = named
		}
	}
	return nil
}

func xid(m []string, text string) []Event {
	e := Event{Kind: fleet.FaultXID, PCI: canonical(m[1]), Text: words(text)}
	e.Code, _ = strconv.Atoi(m[2]) // digits, by the pattern
	if f := pidField.FindStringSubmatch(m[3]); f != nil {
		e.PID, _ = strconv.Atoi(f[1])
	}
	if f := nameField.FindStringSubmatch(m[3]); f != nil && f[1] != "<unknown>" {
		e.Process = f[1]
	}
	if r := recovery.FindStringSubmatch(m[3]); r != nil {
		if action, ok := recoveryCode(r[1], r[2]); ok {
			return []Event{e, {Kind: fleet.FaultRecovery, Code: action, PCI: e.PCI, Text: e.Text}}
		}
	}
	return []Event{e}
}

func recoveryCode(hex, word string) (int, bool) {
	if n, err := strconv.ParseUint(hex, 16, 16); err == nil {
		return int(n), true
	}
	n, ok := recoveryWords[strings.ToLower(strings.TrimSpace(word))]
	return n, ok
}

// sxid reads a message of an NVSwitch. Each is followed by lines with the same code
// that hold its registers: they are not further events.
func sxid(text string) []Event {
	m := sxidLine.FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[3], "Severity ") || strings.HasPrefix(m[3], "Data {") {
		return nil
	}
	e := Event{Kind: fleet.FaultSXID, PCI: canonical(m[1]), Text: words(text)}
	e.Code, _ = strconv.Atoi(m[2])
	return []Event{e}
}

func canonical(id string) string {
	c, _ := pci.Canonical(id) // empty: not told
	return c
}

// maxText bounds how much of a message is kept, in bytes.
const maxText = 400

// words is the message without what the log puts before it.
func words(text string) string {
	text = oneLine(text)
	for _, start := range []string{"NVRM: ", "nvidia-nvswitch"} {
		if i := strings.Index(text, start); i > 0 {
			text = text[i:]
			break
		}
	}
	text = strings.TrimPrefix(text, "NVRM: ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// oneLine makes a message one line of printable text.
func oneLine(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\nNVRM:", " ")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
