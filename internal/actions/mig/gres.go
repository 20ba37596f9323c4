package mig

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// stock counts the devices of a node as a scheduler does: MIG devices by profile, and
// whole GPUs under the empty name.
type stock struct {
	counts map[string]int
	// untyped: the configuration names no types, so only the total counts.
	untyped bool
}

func (s *stock) total() int {
	n := 0
	for _, c := range s.counts {
		n += c
	}
	return n
}

// String is the stock in Slurm's words: "gpu:1g.10gb:2, gpu:3g.40gb:1".
func (s *stock) String() string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(s.counts)) {
		name := "gpu"
		if class != "" {
			name += ":" + class
		}
		parts = append(parts, fmt.Sprintf("%s:%d", name, s.counts[class]))
	}
	if len(parts) == 0 {
		return "no gpu"
	}
	return strings.Join(parts, ", ")
}

// profileEnd finds the profile in a GRES type: "nvidia_h100_nvl_1g.12gb".
var profileEnd = regexp.MustCompile(`[1-9][0-9]?g\.[0-9]+gb(?:[+.]me)?$`)

// configured is what the scheduler's configuration says that a node has.
func configured(v *fleet.View) stock {
	s := stock{counts: map[string]int{}}
	for _, g := range v.GRES {
		if g.Name == "gpu" {
			s.counts[profileEnd.FindString(strings.ToLower(g.Type))] += int(g.Count)
			s.untyped = s.untyped || g.Type == ""
		}
	}
	return s
}

// equals reports that a node with want is what the configuration has.
func (s *stock) equals(want *stock) bool {
	if s.untyped {
		return s.total() == want.total()
	}
	return maps.Equal(s.counts, want.counts)
}

// add counts a GPU with such a partitioning.
func (s *stock) add(mode fleet.MIGMode, instances []fleet.MIGInstance) {
	if mode != fleet.MIGEnabled {
		s.counts[""]++
		return
	}
	for _, i := range instances {
		s.counts[i.Profile]++
	}
}

// encode and decodeStock keep a stock in a step's arguments.
func (s *stock) encode() string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%s=%d", class, s.counts[class]))
	}
	return strings.Join(parts, ",")
}

func decodeStock(text string) (stock, error) {
	s := stock{counts: map[string]int{}}
	if text == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		class, count, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(count)
		if err != nil {
			return s, fmt.Errorf("%w: step wants gpu %q", actions.ErrRefused, text)
		}
		s.counts[class] = n
	}
	return s, nil
}

// gresStep waits for a person: nobody else can restart the node's daemon.
func gresStep(t actions.Target, v *fleet.View, want *stock) actions.Step {
	have := configured(v)
	s := actions.Step{
		Name: "you: restart slurmd on " + t.Name, Backend: fleet.Slurm, Op: opGRES, Target: t, WaitOnly: true,
		Command: "systemctl restart slurmd",
		Args:    map[string]string{"want": want.encode(), "daemonUp": v.DaemonUp.UTC().Format(time.RFC3339Nano)},
		Expect:  fmt.Sprintf("slurmd was restarted, Slurm has %s on %s, and the node is not INVAL", want, t.Name),
	}
	if !have.equals(want) {
		s.Name = fmt.Sprintf("you: set Gres of %s to %s in slurm.conf and gres.conf, scontrol reconfigure, and restart slurmd there", t.Name, want)
	}
	return s
}

// gresWarning shows the configured devices and those there will be, side by side.
func gresWarning(t actions.Target, v *fleet.View, want *stock) string {
	have := configured(v)
	if have.equals(want) {
		return ""
	}
	text := fmt.Sprintf("Slurm's configuration has %d GPU devices on %s (%s), the node will have %d (%s)",
		have.total(), t.Name, &have, want.total(), want)
	if want.total() < have.total() {
		return text + ": it would be set INVAL and drained (gres/gpu count reported lower than configured) until the configuration is changed"
	}
	return text + ": jobs get only what the configuration names until it is changed"
}

// checkGRES reads back what the scheduler has of the node.
func (b *Backend) checkGRES(ctx context.Context, s actions.Step) (actions.Reading, error) {
	want, err := decodeStock(s.Args["want"])
	if err != nil {
		return actions.Reading{}, err
	}
	v, err := b.opts.Scheduler.Node(ctx, s.Target.Name)
	if err != nil {
		return actions.Reading{}, err
	}
	have := configured(&v)
	before, _ := time.Parse(time.RFC3339Nano, s.Args["daemonUp"])
	invalid := v.Base == fleet.BaseInval || v.Has(fleet.FlagInvalidReg) || strings.Contains(v.Reason.Text, "count reported lower")
	restarted := v.DaemonUp.IsZero() || v.DaemonUp.After(before)
	state := fmt.Sprintf("%s, configured %s, wanted %s", strings.Join(append([]string{v.Base}, v.Flags...), "+"), &have, &want)
	switch {
	case invalid:
		state += ", reason " + strconv.Quote(v.Reason.Text)
	case !restarted:
		state += ", slurmd not restarted since " + v.DaemonUp.UTC().Format("15:04:05Z")
	}
	return actions.Reading{Holds: have.equals(&want) && !invalid && restarted, State: state}, nil
}
