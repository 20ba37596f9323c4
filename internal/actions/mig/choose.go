package mig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Choose returns the GPUs of a node that "all", indices ("0,2") or UUIDs name. Only
// what an agent watches can be acted on.
func Choose(n *fleet.Node, which string) ([]*fleet.GPU, error) {
	var out []*fleet.GPU
	for word := range strings.SplitSeq(which, ",") {
		found := false
		for i := range n.GPUs {
			g := &n.GPUs[i]
			index, err := strconv.Atoi(word)
			if g.UUID == "" || word != "all" && word != g.UUID && (err != nil || index != g.Index) {
				continue
			}
			found = true
			if !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: %s has no GPU %q that an agent watches", actions.ErrInput, n.Name, word)
		}
	}
	return out, nil
}

// Wishes asks one layout of every GPU, or, without a layout, names them for a reset.
func Wishes(gpus []*fleet.GPU, layout string) ([]actions.GPUWish, error) {
	if layout != "" {
		l, err := mig.ParseLayout(layout)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", actions.ErrInput, err)
		}
		layout = l.String()
	}
	var out []actions.GPUWish
	for _, g := range gpus {
		out = append(out, actions.GPUWish{UUID: g.UUID, Layout: layout})
	}
	return out, nil
}

// PartedWishes asks of each GPU what a named config of a mig-parted file has for it. A
// GPU that the config says nothing of is left alone.
func PartedWishes(gpus []*fleet.GPU, config mig.Config) ([]actions.GPUWish, error) {
	var out []actions.GPUWish
	for _, g := range gpus {
		l, err := config.For(g.Index, g.PCIDevice)
		switch {
		case errors.Is(err, mig.ErrNoEntry):
		case err != nil:
			return nil, fmt.Errorf("%w: %w", actions.ErrInput, err)
		default:
			out = append(out, actions.GPUWish{UUID: g.UUID, Layout: l.String()})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: the config says nothing of the chosen GPUs", actions.ErrInput)
	}
	return out, nil
}
