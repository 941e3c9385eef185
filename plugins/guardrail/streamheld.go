package guardrail

import (
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// held returns where that of a text begins of which other rules make something else than the verdict.
func (s *streaming) held(at *judging, v *Verdict, text string, gaps []int) int {
	held := at.settled(s.nameless, text, gaps)
	var other Verdict
	at.text(&other, s.nameless, text, gaps)
	at.whole(&other, text)
	for _, lists := range [][2][]Finding{{v.Findings, other.Findings}, {other.Findings, v.Findings}} {
		for _, f := range lists[0] {
			if f.Action.strictness() > Flag.strictness() && !slices.Contains(lists[1], f) {
				held = min(held, f.Start)
			}
		}
	}
	return held
}

// settled returns how much of a text no continuation changes, for all the rules that change texts, and all views.
func (j *judging) settled(before before, text string, gaps []int) int {
	settled := len(text)
	for _, window := range []string{"part", "turn", "session"} {
		var open []detect.Detector
		for d, detector := range j.detectors {
			if slices.ContainsFunc(j.rules, func(r *rule) bool { return r.cuts() && r.window == window && r.asks(d) }) {
				open = append(open, detector)
			}
		}
		if open == nil {
			continue
		}
		least := func(text string) int {
			n := len(text)
			for _, d := range open {
				n = min(n, d.Open(text))
			}
			return n
		}
		for _, head := range before(window) {
			settled = min(settled, max(0, view.Settled(head+text, least)-len(head)))
			if gaps != nil {
				settled = min(settled, closed(view.Settled(head+spaced(text, gaps), least)-len(head), gaps))
			}
		}
	}
	return settled
}

// cuts reports whether the rule may take something out of a text, or stop it.
func (r *rule) cuts() bool { return !r.shadow && r.strictest().strictness() > Flag.strictness() }

// asks reports whether the rule asks a detector.
func (r *rule) asks(detector int) bool {
	return slices.ContainsFunc(r.uses, func(u use) bool { return u.detector == detector })
}

// waits reports whether a rule can only judge the whole text, or its judge can: nothing of it is then shown before.
func (j *judging) waits() bool {
	return slices.ContainsFunc(j.rules, func(r *rule) bool {
		if r.ask != nil && r.ask.onError == Block && !r.shadow && !j.shadow {
			return true
		}
		return !r.shadow && !j.shadow && r.strictest().hides() && (r.whole() && r.length == 0 || r.when != nil && r.when.text)
	})
}
