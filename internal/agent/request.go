package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"

	"github.com/gpuctl/gpuctl/internal/agent/pci"
	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

var errMalformed = errors.New("the request makes no sense")

// The operations that change something, and those that do not.
func writeOps() []wire.Op { return []wire.Op{wire.OpMIGApply, wire.OpGPUReset, wire.OpClearFault} }
func readOps() []wire.Op  { return []wire.Op{wire.OpSample, wire.OpHealth, wire.OpMIGPlan} }

// ops lists what a peer may request here.
func (d *Desk) ops(peer Peer) []wire.Op {
	all := readOps()
	if peer.Write && d.kept.dir != "" {
		all = append(all, writeOps()...)
	}
	return slices.DeleteFunc(all, func(op wire.Op) bool {
		return d.engine == nil && (op == wire.OpMIGPlan || op == wire.OpMIGApply)
	})
}

// check refuses requests that make no sense, and returns the device of one that does.
// It is empty for the machine itself.
func (d *Desk) check(r *wire.Request) (device string, err error) {
	switch {
	case r.Version > wire.Version:
		return "", fmt.Errorf("%w here: version %d of the protocol; this agent speaks %d", errMalformed, r.Version, wire.Version)
	case !plain(r.ID, 200) || r.ID == "" || !plain(r.Who, 200) || !plain(r.Reason, 2000):
		return "", fmt.Errorf("%w: its id, author or reason is empty, too long or not printable", errMalformed)
	case !slices.Contains(readOps(), r.Op) && !slices.Contains(writeOps(), r.Op):
		return "", fmt.Errorf("%w: %q is nothing that this agent does", errMalformed, r.Op)
	}
	s := d.sampler.Latest()
	if s == nil {
		return "", errors.New("the agent has only just started; ask again")
	}
	var args wire.GPUArgs // what all have in common
	if err := unmarshal(r.Args, &args); err != nil {
		return "", err
	}
	if args.UUID == "" && r.Op == wire.OpHealth {
		return "", nil
	}
	if args.UUID != "" && s.GPU(args.UUID) != nil {
		return args.UUID, nil
	}
	if id, ok := pci.Canonical(args.UUID); ok && r.Op == wire.OpClearFault {
		return id, nil // of a device that is not listed
	}
	return "", fmt.Errorf("%q: %w", args.UUID, ErrNotFound)
}

func plain(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// unmarshal reads the arguments of a request.
func unmarshal(data json.RawMessage, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}
