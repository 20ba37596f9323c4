package actions

import (
	"fmt"
	"slices"
	"strings"
)

// guardRule raises the guard of a plan that it matches.
type guardRule struct {
	level Guard
	why   string
	match func(p *Plan, pol *Policy) bool
}

// guardRules is the one place that says how impact raises the guard above what
// the cluster's config asks for.
func guardRules() []guardRule {
	return []guardRule{
		{GuardConfirm, "running jobs stop", func(p *Plan, _ *Policy) bool { return len(p.Impact.Jobs) > 0 }},
		{GuardConfirm, "more than 3 targets", func(p *Plan, _ *Policy) bool { return len(p.Request.Targets) > 3 }},
		{GuardConfirm, "a production cluster", func(p *Plan, pol *Policy) bool { return p.onProduction(pol) }},
		{GuardTyped, "more than 4 nodes", func(p *Plan, _ *Policy) bool { return p.Impact.Nodes > 4 }},
		{
			GuardTyped, "more than 64 GPUs of other people's jobs stop",
			func(p *Plan, _ *Policy) bool { return p.Impact.GPUs > 64 && p.stopsOthers() },
		},
	}
}

func (p *Plan) onProduction(pol *Policy) bool {
	return slices.ContainsFunc(p.clusters(), func(c string) bool { return pol.Clusters[c].Production })
}

// stopsOthers reports that someone else than us has a job that the plan stops.
func (p *Plan) stopsOthers() bool {
	return slices.ContainsFunc(p.Impact.Users, func(user string) bool {
		return !slices.ContainsFunc(p.Clusters, func(a Acting) bool { return a.User == user })
	})
}

// rank orders the levels; an unknown word is as strict as they come.
func (g Guard) rank() int {
	switch g {
	case GuardNone:
		return 0
	case "", GuardConfirm:
		return 1
	}
	return 2
}

// guard is the level the plan runs under: the strictest of its clusters' config,
// the rules, and what its makers asked for; and which rules raised it that far.
// A plan that does nothing needs none.
func (e *Engine) guard(p *Plan) (level Guard, why []string) {
	level = GuardNone
	if len(p.Steps) == 0 {
		return level, nil
	}
	for _, c := range p.clusters() {
		level = stricter(level, e.opts.Policy.Clusters[c].Guard)
	}
	if p.Guard != "" {
		level = stricter(level, p.Guard)
	}
	asked := level
	for _, r := range guardRules() {
		if r.level.rank() <= asked.rank() || r.level.rank() < level.rank() || !r.match(p, &e.opts.Policy) {
			continue
		}
		if r.level != level {
			level, why = r.level, nil
		}
		why = append(why, r.why)
	}
	return level, why
}

// stricter is the stricter of two levels, as one of the three known words.
func stricter(a, b Guard) Guard {
	return [...]Guard{GuardNone, GuardConfirm, GuardTyped}[max(a.rank(), b.rank())]
}

// confirmWord is what is typed for the plan: the one target's name, or for
// several the cluster's.
func (p *Plan) confirmWord() string {
	if len(p.Request.Targets) == 1 {
		return p.Request.Targets[0].Name
	}
	return strings.Join(p.clusters(), "+")
}

// unconfirmed says what is missing to run the plan at the level; nil when nothing is.
func (p *Plan) unconfirmed(level Guard, c Confirmation) *Blocker {
	word := p.confirmWord()
	var text string
	switch {
	case level == GuardNone || c.Word == word || level == GuardConfirm && c.Yes:
		return nil
	case c.Word != "":
		text = fmt.Sprintf("not confirmed: %q was typed instead of %q", c.Word, word)
	case level == GuardConfirm:
		text = "not confirmed: say yes first (--yes)"
	default:
		text = fmt.Sprintf("not confirmed: type %q first (--confirm %s)", word, word)
	}
	return &Blocker{Code: BlockGuard, Text: text}
}
