package guardrail

import (
	"context"

	"github.com/plughook/plughook/plugins/guardrail/internal/view"
)

// judgedText is a text of an item, or the item as a whole, that somebody else is asked about too.
type judgedText struct {
	item    *judgedItem
	number  int  // of the text, -1 of a whole
	key     bool // it is a key
	json    bool // it is a value in JSON
	text    string
	ends    []int   // where its parts end, of a text that stands in several
	verdict Verdict // of the rules that ask nobody
	open    []*open

	unfinished bool // its author failed there
	settled    int  // what the rules have decided about then
}

// open is a question of a rule about a text.
type open struct {
	question
	remote   *remote
	cancel   context.CancelFunc
	dropped  bool // nobody waits for it any more
	answered bool
	answer   answer
	err      error
}

// ask asks about a text, or about an item as a whole, and reports whether its verdict has to wait for answers.
func (j *judgment) ask(t *judgedText) bool {
	if j.hearing == nil || t.text == "" || len(t.text) > j.policy.maxBytes {
		return false
	}
	aside := &judgedText{item: &judgedItem{item: t.item.item}, number: -1, text: t.text} // it is concluded by itself
	for _, r := range j.at.rules {
		if r.ask == nil || r.ask.each == (t.number < 0) || !j.at.holds(&t.verdict, r, t.text) {
			continue
		}
		o := &open{question: question{rule: r.id, stage: j.at.stage, text: t.text}, remote: j.policy.remotes[r.id]}
		if r.shadow || j.policy.shadow {
			aside.open = append(aside.open, o)
		} else {
			t.open = append(t.open, o)
		}
	}
	if len(aside.open) > 0 {
		j.aside.put(aside)
	}
	if len(t.open) > 0 {
		j.hearing.put(t)
	}
	return len(t.open) > 0
}

// wait takes the answers into the judgment. What the other rules block is blocked without them.
func (j *judgment) wait(ctx context.Context) error {
	a := j.hearing
	if a == nil {
		return nil
	}
	defer a.end()
	if !a.drop(j.items) {
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
	a.end()
	j.settle(a)
	return nil
}

// decides reports whether an answer ends the run, whatever the others are.
func (j *judgment) decides(t *judgedText, o *open) bool {
	var v Verdict
	o.says(&v, j.policy)
	return v.Action == Block && t.item.mayEnd()
}

// settle makes verdicts of the answers of a hearing that is over.
func (j *judgment) settle(a *hearing) {
	for _, t := range a.texts {
		for _, o := range t.open {
			if o.answered && !o.dropped {
				j.answers = append(j.answers, o)
				o.says(&t.verdict, j.policy)
			}
		}
		j.conclude(t)
	}
	a.texts = nil
}

// says adds to a verdict what an answer means.
func (o *open) says(v *Verdict, p *Policy) {
	r := o.remote.rule
	j := judging{Policy: p}
	add := func(f Finding, a Action, message string) {
		if a != Allow {
			f.Rule, f.By, f.View, f.message, f.with = r.id, byJudge, view.RawView, message, r.with
			v.add(j.finding(f, a, r.shadow))
		}
	}
	if o.err != nil {
		add(Finding{Type: typeUnjudged, End: len(o.text), Score: 1, entire: true}, r.ask.onError, notChecked)
		return
	}
	seen := map[string]bool{}
	for _, s := range o.answer.spans {
		f := Finding{Type: s.kind, Start: s.start, End: s.end, Score: s.score}
		if !r.ask.each { // the rule is about the whole
			if seen[s.kind] {
				continue
			}
			seen[s.kind] = true
			f.Start, f.End, f.entire = 0, len(o.text), true
		}
		add(f, r.acts(s.kind), r.message)
	}
}

// byJudge is who has found what a judge has flagged.
const byJudge = "judge"
