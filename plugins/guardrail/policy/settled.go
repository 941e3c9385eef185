package policy

import (
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// SettledHiding returns how much of a text, in bytes, no continuation of it changes, as far as rules
// hide something. It takes a detector's panic into the verdict, and returns 0 then.
func (a *Active) SettledHiding(v *Verdict, before Before, text string, gaps []int) (settled int) {
	defer a.recovering(v, text)
	return a.settled(before, text, gaps, func(r *rule) bool {
		return r.cuts() && !a.policy.shadow && !r.whole() && r.strictest().Hides()
	})
}

// settled returns how much of a text no continuation of it changes for those of the rules that count.
func (a *Active) settled(before Before, text string, gaps []int, counts func(*rule) bool) int {
	settled := len(text)
	for _, window := range windows {
		// Which detectors may still find something that begins in the text?
		var open []int
		used := a.uses(nil, func(r *rule) bool { return r.window == window && counts(r) })
		for number := range used {
			if used[number] {
				open = append(open, number)
			}
		}
		if open == nil {
			continue
		}
		least := func(text string) int {
			n := len(text)
			for _, d := range open {
				n = min(n, a.policy.detectors[d].Open(text))
			}
			return n
		}

		// The text is settled up to where the first of them, in any reading, may begin.
		for _, head := range before.heads(window) {
			settled = min(settled, max(0, view.Settled(head+text, least)-len(head)))
			if gaps != nil {
				now := view.Settled(head+withSpaces(text, gaps), least)
				settled = min(settled, withoutSpaces(now-len(head), gaps))
			}
		}
	}
	return settled
}

// SettledUnder returns how much of a text that grows, in bytes, stays as the verdict says, whether these rules
// are active or later ones, and whether the later ones need the whole text. The later ones are
// those of another scope. Where both are the same, ok is false.
func (a *Active) SettledUnder(
	later *Active, v *Verdict, p *Progress, before Before, text string, gaps []int,
) (settled int, waits, ok bool) {
	asksTaint := func(r *rule) bool { return r.when != nil && r.when.taint }
	if slices.Equal(later.rules, a.rules) && !slices.ContainsFunc(a.rules, asksTaint) {
		return 0, false, false
	}
	var other Verdict
	settled = later.Grow(&other, p, before, text, gaps)
	later.Whole(&other, text)

	// The text is settled up to the first finding that changes it under one of them only.
	for _, lists := range [][2][]Finding{
		{v.Findings, other.Findings},
		{other.Findings, v.Findings},
	} {
		for _, f := range lists[0] {
			if f.Action.StricterThan(Flag) && !slices.Contains(lists[1], f) {
				settled = min(settled, f.Start)
			}
		}
	}
	return settled, later.Waits(), true
}

// Waits reports whether a rule that may stop or change a text, or its judge, needs the whole text:
// nothing of a stream can then be shown before its end.
func (a *Active) Waits() bool {
	return slices.ContainsFunc(a.rules, func(r *rule) bool {
		if r.shadow || a.policy.shadow {
			return false
		}
		if r.judge != nil && r.judge.OnError == Block {
			return true
		}
		asksText := r.when != nil && r.when.text
		return r.strictest().Hides() && (r.whole() && r.length == 0 || asksText)
	})
}

// cuts reports whether the rule may take something out of a text, or stop it.
func (r *rule) cuts() bool { return !r.shadow && r.strictest().StricterThan(Flag) }
