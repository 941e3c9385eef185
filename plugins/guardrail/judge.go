package guardrail

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/view"
)

// Judge returns what the policy makes of a text at a stage. It keeps nothing and changes nothing, and asks nobody: of
// rules that do (see Policy.Judges), it knows nothing.
func (p *Policy) Judge(stage Stage, s Scope, text string) Verdict {
	return p.judge(stage, s, text, nil)
}

// judge is Judge with the verdicts of judges, by rule, that are taken to say so of the whole text.
func (p *Policy) judge(stage Stage, s Scope, text string, flagged map[string]bool) Verdict {
	began := time.Now()
	b := benches.Get().(*bench)
	b.scope = s
	b.judging = judging{Policy: p, stage: stage, scope: &b.scope, rules: p.about(b.rules[:0], stage, &b.scope)}
	var v Verdict
	b.text(&v, alone, text, nil)
	b.whole(&v, text)
	for _, r := range b.rules {
		if r.ask != nil && flagged[r.id] && b.holds(&v, r, text) {
			o := open{question: question{text: text}, remote: &remote{rule: r}, answer: answer{flagged: true, spans: []span{{end: len(text), kind: typeFlagged, score: 1}}}}
			o.says(&v, p)
		}
	}
	b.limits(&v, began)
	p.finish(&v, text)
	b.scope = Scope{}
	benches.Put(b)
	v.Took = time.Since(began)
	return v
}

// A bench is what one judging takes, kept for the next: a text in which nothing is found costs no allocation.
type bench struct {
	judging
	scope Scope
}

var benches = sync.Pool{New: func() any { return new(bench) }}

// finish sets what follows from the findings.
func (p *Policy) finish(v *Verdict, text string) {
	v.Revision, v.Text = p.revision, text
	if v.Action == "" {
		v.Action = Allow
		return
	}
	slices.SortFunc(v.Findings, func(a, b Finding) int { return a.compare(&b) })
	v.Action = ""
	for _, f := range v.Findings {
		v.decide(&f)
	}
	if list := cuts(v.Findings); list != nil {
		v.Text = p.edited(text, list, 0, len(text))
	}
}

// judging is the rules of a policy that are about something.
type judging struct {
	*Policy
	stage Stage
	scope *Scope
	rules []*rule
}

// at returns the rules that are about what is at a stage, in a scope.
func (p *Policy) at(stage Stage, s *Scope) *judging {
	return &judging{Policy: p, stage: stage, scope: s, rules: p.about(nil, stage, s)}
}

func (p *Policy) about(rules []*rule, stage Stage, s *Scope) []*rule {
	for _, r := range p.rules {
		if r.silent(p, stage, s) == "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// untrusted reports whether what is at a stage may have come from where anybody can write.
func (p *Policy) untrusted(stage Stage, s *Scope) bool {
	switch stage {
	case Input:
		return false
	case ToolResult:
		return !p.trusts(s.Tool)
	}
	return len(s.Taint) > 0
}

// trusts reports whether the policy trusts a tool's answers.
func (p *Policy) trusts(tool string) bool { return !p.trusted.empty() && p.trusted.match(tool) }

// before says what stands before a text in a rule's window: each of these, for nobody knows how two texts go together.
type before func(window string) []string

func alone(string) []string { return nothing }

var nothing = []string{""}

// text adds to the verdict what detectors find in a text. At its gaps something else stands in it: it is read as if
// nothing did, and with a space there.
func (j *judging) text(v *Verdict, before before, text string, gaps []int) {
	if text == "" || len(j.rules) == 0 || j.tooLong(v, text) {
		return
	}
	defer j.recovering(v, text)
	for _, window := range []string{"part", "turn", "session"} {
		if !slices.ContainsFunc(j.rules, func(r *rule) bool { return r.window == window && !r.whole() }) {
			continue
		}
		seen := seens.Get().(*seen)
		seen.hits = seen.hits[:0]
		for _, head := range before(window) {
			j.read(v, seen, window, head, text, nil)
			if gaps != nil {
				j.read(v, seen, window, head, text, gaps)
			}
		}
		seens.Put(seen)
	}
}

// read adds to the verdict what is found in a text with spaces at its gaps, and a head before it, but for what has been seen.
func (j *judging) read(v *Verdict, seen *seen, window, head, text string, gaps []int) {
	n := len(seen.hits)
	j.find(seen, window, head+spaced(text, gaps))
	now := seen.hits[:n]
	for _, h := range seen.hits[n:] {
		if h.Start, h.End = closed(h.Start-len(head), gaps), closed(h.End-len(head), gaps); h.End > h.Start {
			now = append(now, h)
		}
	}
	if n > 0 {
		now = append(seen.hits[:n], uncovered(seen.hits[:n], now[n:])...)
	}
	for seen.hits = now; n < len(now); n++ {
		j.apply(v, now[n], window, text)
	}
}

// spaced returns a text with a space at each of its gaps.
func spaced(text string, gaps []int) string {
	if len(gaps) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, gap := range gaps {
		b.WriteString(text[at:gap])
		b.WriteByte(' ')
		at = gap
	}
	b.WriteString(text[at:])
	return b.String()
}

// closed returns where a place in a spaced text is in the text, 0 if it is before it.
func closed(place int, gaps []int) int {
	return max(0, place-sort.Search(len(gaps), func(i int) bool { return gaps[i]+i >= place }))
}

// uncovered returns those of the hits, in order, that are no part of one that is known, nor of one before them, of the
// same type and by the same detector. The work is that of sorting.
func uncovered(known, hits []hit) []hit {
	if len(hits) == 0 {
		return hits
	}
	byStart := func(a, b hit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) }
	known = slices.SortedStableFunc(slices.Values(known), byStart)
	slices.SortStableFunc(hits, byStart)
	type kind struct {
		detector int
		name     string
	}
	reach := map[kind]int{} // how far those go that begin before
	left := hits[:0]
	for _, h := range hits {
		for len(known) > 0 && known[0].Start <= h.Start {
			k := kind{known[0].detector, known[0].Type}
			reach[k], known = max(reach[k], known[0].End), known[1:]
		}
		if k := (kind{h.detector, h.Type}); reach[k] < h.End {
			reach[k] = h.End
			left = append(left, h)
		}
	}
	return left
}

func (j *judging) tooLong(v *Verdict, text string) bool {
	if len(text) <= j.maxBytes {
		return false
	}
	v.add(j.finding(Finding{Rule: "limits.max_bytes", Type: typeLength, End: len(text), Score: 1, View: view.RawView,
		message: fmt.Sprintf("This text of %d bytes is too long for the policy to check: it checks %d at most. Make it shorter.", len(text), j.maxBytes)}, j.overLimit, false))
	return true
}

// hit is what a detector found in a view of a text. One that is before the text ends at 0 or less.
type hit struct {
	detect.Finding
	view     string
	detector int
}

// seen is what was found in a text; found is what one detector did in one view.
type seen struct {
	hits  []hit
	found []detect.Finding
}

var seens = sync.Pool{New: func() any { return new(seen) }}

// find adds what the detectors of the rules with a window find in a text and its views.
func (j *judging) find(s *seen, window, text string) {
	views := view.Of(text)
	for d := range j.detectors {
		if !j.uses(window, d) {
			continue
		}
		raw := len(s.hits)
		s.found = j.detectors[d].Find(s.found[:0], text)
		for _, f := range s.found {
			s.hits = append(s.hits, hit{f, view.RawView, d})
		}
		for _, shown := range views {
			s.found = j.detectors[d].Find(s.found[:0], shown.Text)
			n := len(s.hits)
			for _, f := range s.found {
				if f.Start, f.End = shown.Original(f.Start, f.End); f.Start < f.End {
					s.hits = append(s.hits, hit{f, shown.Name, d})
				}
			}
			s.hits = append(s.hits[:n], uncovered(s.hits[raw:n], s.hits[n:])...)
		}
	}
}

func (j *judging) uses(window string, detector int) bool {
	return slices.ContainsFunc(j.rules, func(r *rule) bool {
		return r.window == window && r.asks(detector)
	})
}

// apply adds to the verdict what the rules with a window make of a hit.
func (j *judging) apply(v *Verdict, h hit, window, text string) {
	for _, r := range j.rules {
		if r.window != window || !slices.ContainsFunc(r.uses, func(u use) bool { return u.detector == h.detector && (u.types == nil || u.types[h.Type]) }) {
			continue
		}
		if a := r.acts(h.Type); a != Allow && j.holds(v, r, text) {
			v.add(j.finding(Finding{Rule: r.id, Type: h.Type, By: h.Rule, Start: h.Start, End: h.End, Score: h.Score, View: h.view, message: r.message, with: r.with}, a, r.shadow))
		}
	}
}

// whole adds to the verdict what the rules without a detector of parts make of a text.
func (j *judging) whole(v *Verdict, text string) {
	defer j.recovering(v, text)
	for _, r := range j.rules {
		if !r.whole() || r.ask != nil || r.length > 0 && len(text) <= r.length || !j.holds(v, r, text) {
			continue
		}
		f := Finding{Rule: r.id, Type: typeText, End: len(text), Score: 1, View: view.RawView, message: r.message}
		action := r.action
		if r.tools != nil {
			var why string
			if action, why = r.tools.judge(j.scope.Tool, j.scope.Args); action == Allow {
				continue
			}
			f.By = "tools"
			if f.message == "" {
				f.message = fmt.Sprintf("The policy's rule %s: %s.", r.id, j.clean(why))
			}
		}
		if r.length > 0 {
			f.Type = typeLength
		}
		v.add(j.finding(f, action, r.shadow))
	}
}

// clean returns what is said about a text, which may quote it, without what must not be seen of it.
func (j *judging) clean(said string) string {
	var v Verdict
	j.text(&v, alone, said, nil)
	j.finish(&v, said)
	return v.Text
}

// finding sets what becomes of a finding.
func (j *judging) finding(f Finding, a Action, shadow bool) Finding {
	if f.Action, f.Would = a, a; shadow || j.shadow {
		f.Action = Allow
	}
	return f
}
