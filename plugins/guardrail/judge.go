package guardrail

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
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
	b.flagged(&v, text, flagged)
	p.finish(&v, text)
	b.scope = Scope{}
	benches.Put(b)
	v.Took = time.Since(began)
	return v
}

// flagged adds to the verdict the judges that are taken to flag the text.
func (j *judging) flagged(v *Verdict, text string, flagged map[string]bool) {
	for _, r := range j.rules {
		if r.ask != nil && flagged[r.id] && j.holds(v, r, text) {
			o := open{question: question{text: text}, remote: &remote{rule: r}, answer: answer{flagged: true, spans: []span{{end: len(text), kind: typeFlagged, score: 1}}}}
			o.says(v, j.Policy)
		}
	}
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
	for i := range v.Findings {
		v.decide(&v.Findings[i])
	}
	var few [4]cut
	if list := cuts(few[:0], v.Findings); len(list) > 0 {
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

func (j *judging) tooLong(v *Verdict, text string) bool {
	if len(text) <= j.maxBytes {
		return false
	}
	v.add(j.finding(Finding{Rule: "limits.max_bytes", Type: typeLength, End: len(text), Score: 1, View: view.RawView,
		message: fmt.Sprintf("This text of %d bytes is too long for the policy to check: it checks %d at most. Make it shorter.", len(text), j.maxBytes)}, j.overLimit, false))
	return true
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
