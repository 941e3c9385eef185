package policy

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/permission"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// Judge returns what the policy makes of a text at a stage. It keeps nothing, changes nothing and
// asks nobody: rules with a judge (see [Policy.Judges]) do not decide.
func (p *Policy) Judge(stage Stage, s Scope, text string) Verdict {
	began := time.Now()
	sc := scratches.Get().(*scratch)
	sc.scope = s
	sc.Active = Active{
		policy: p,
		stage:  stage,
		scope:  &sc.scope,
		rules:  p.appendActive(sc.rules[:0], stage, &sc.scope),
	}
	var v Verdict
	sc.Find(&v, nil, text, nil)
	sc.Whole(&v, text)
	p.Finish(&v, text)
	sc.scope = Scope{}
	scratches.Put(sc)
	v.Took = time.Since(began)
	return v
}

// scratch is the memory of one call of Judge. It is used again, so that a text without findings
// allocates nothing.
type scratch struct {
	Active
	scope Scope
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Active is the rules of a policy that are about one thing, such as an event's text, in a scope. It
// judges texts step by step, for a plugin that has more than one text and more time than
// [Policy.Judge] takes: Find, FindSettled and Whole add findings to a verdict, and [Policy.Finish]
// makes the verdict of them.
type Active struct {
	policy *Policy
	stage  Stage
	scope  *Scope
	rules  []*rule

	opened opened
	asked  *Seen // what the condition at hand has asked for, and the session has had
}

// At returns the rules that are about any of these stages in a scope. Their conditions see the
// first stage.
func (p *Policy) At(scope *Scope, stages ...Stage) *Active {
	a := &Active{policy: p, stage: stages[0], scope: scope}
	a.rules = p.appendActive(nil, stages[0], scope)
	for _, stage := range stages[1:] {
		for _, r := range p.appendActive(nil, stage, scope) {
			if !slices.Contains(a.rules, r) {
				a.rules = append(a.rules, r)
			}
		}
	}
	return a
}

func (p *Policy) appendActive(rules []*rule, stage Stage, s *Scope) []*rule {
	for _, r := range p.rules {
		if r.silent(p, stage, s) == "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// DropWhole drops the rules about whole texts.
func (a *Active) DropWhole() {
	a.rules = slices.DeleteFunc(a.rules, (*rule).whole)
}

// HasWhole reports whether there are rules about whole texts.
func (a *Active) HasWhole() bool { return slices.ContainsFunc(a.rules, (*rule).whole) }

// Waits reports whether a rule that may stop or change a text, or its judge, needs the whole text:
// nothing of a stream can then be shown before its end.
func (a *Active) Waits() bool {
	return slices.ContainsFunc(a.rules, func(r *rule) bool {
		if r.shadow || a.policy.shadow {
			return false
		}
		if r.judge != nil && Action(r.judge.OnError) == Block {
			return true
		}
		asksText := r.when != nil && r.when.text
		return r.strictest().Hides() && (r.whole() && r.length == 0 || asksText)
	})
}

// cuts reports whether a rule may change a text or block it: it is not in shadow, and its action does so.
func (a *Active) cuts(r *rule) bool {
	return !r.shadow && !a.policy.shadow && r.strictest().Hides()
}

// DecidesLike reports whether these rules decide about any text as those that are about it in a scope
// with other taint, or of a session that has had other things.
func (a *Active) DecidesLike(other *Active) bool {
	asksTaint := func(r *rule) bool { return r.when != nil && (r.when.taint || r.when.history) }
	return slices.Equal(a.rules, other.rules) && !slices.ContainsFunc(a.rules, asksTaint)
}

// Whole adds to the verdict what the rules about whole texts make of a text.
func (a *Active) Whole(v *Verdict, text string) {
	defer a.recovering(v, text)
	for _, r := range a.rules {
		// Which rules are about this text?
		tooShort := r.length > 0 && len(text) <= r.length
		if !r.whole() || r.judge != nil || tooShort || !a.holds(v, r, text) {
			continue
		}
		f := Finding{
			Rule:    r.id,
			Type:    typeText,
			End:     len(text),
			Score:   1,
			View:    view.RawView,
			message: r.message,
			ask:     r.ask,
		}
		action := r.action
		if r.length > 0 {
			f.Type = typeLength
		}
		a.policy.coverage.acted(r, f.Type, "", "")

		// A rule with permissions decides call by call.
		if r.tools != nil {
			decision, why := a.permitted(r)
			if decision == permission.Allow {
				a.policy.coverage.decided(r, a.openedScope(), decision)
				continue
			}
			action = decisions[decision]
			a.policy.coverage.decided(r, a.openedScope(), decision)
			f.By = "tools"
			switch {
			case decision == permission.Approve:
				f.message = ""
			case f.message == "":
				f.message = fmt.Sprintf("The policy's rule %s: %s.", r.id, a.redacted(why))
			}
		}
		v.add(a.finding(a.from(f, r), action, r.shadow))
	}
}

// permitted returns what a rule's permissions decide about the call, and why: the stricter of what they
// decide about it as it stands, and about what the vault's tokens in it stand for.
func (a *Active) permitted(r *rule) (permission.Decision, string) {
	decision, why := r.tools.Judge(a.scope.Tool, a.scope.Args)
	args := a.openedScope().Args
	if reflect.DeepEqual(args, a.scope.Args) {
		return decision, why
	}
	opened, _ := r.tools.Judge(a.scope.Tool, args)
	if opened > decision {
		// what the lists say of it would quote the value
		return opened, "it decides by what a token of the vault in the arguments stands for"
	}
	return decision, why
}

// decisions are the actions for the decisions of permissions.
var decisions = map[permission.Decision]Action{
	permission.Approve: Approve,
	permission.Allow:   Allow,
	permission.Ask:     Ask,
	permission.Deny:    Block,
}

// TooLong adds a finding to the verdict if the text is longer than the policy judges, and reports
// whether it is.
func (a *Active) TooLong(v *Verdict, text string) bool {
	most := a.policy.maxBytes
	if len(text) <= most {
		return false
	}
	f := Finding{
		Rule:    "limits.max_bytes",
		Type:    typeLength,
		End:     len(text),
		Score:   1,
		View:    view.RawView,
		message: fmt.Sprintf("This text of %d bytes is too long for the policy to check: it checks %d at most. Make it shorter.", len(text), most),
	}
	v.add(a.finding(f, a.policy.overLimit, false))
	return true
}

// Finish makes the verdict of its findings: the action, and the text as it may pass.
func (p *Policy) Finish(v *Verdict, text string) {
	p.Decide(v)
	v.Text = text
	var few [4]cut
	cuts := appendCuts(few[:0], v.Findings)
	if len(cuts) > 0 {
		v.Text = p.edited(text, cuts, 0, len(text))
	}
}

// Decide is Finish without the text as it may pass.
func (p *Policy) Decide(v *Verdict) {
	v.Revision = p.revision
	if v.Action == "" {
		v.Action = Allow
		return
	}
	slices.SortFunc(v.Findings, func(a, b Finding) int { return a.compare(&b) })
	v.Action = ""
	v.Ask = nil
	for i := range v.Findings {
		v.decide(&v.Findings[i])
	}
}

// redacted returns an explanation, which may quote the text that it is about, without what the
// rules hide.
func (a *Active) redacted(explanation string) string {
	var v Verdict
	a.Find(&v, nil, explanation, nil)
	a.policy.Finish(&v, explanation)
	return v.Text
}

// finding sets the finding's actions: in shadow, what is done is nothing.
func (a *Active) finding(f Finding, action Action, shadow bool) Finding {
	f.Action = action
	f.Would = action
	if shadow || a.policy.shadow {
		f.Action = Allow
	}
	return f
}

// holds reports whether a rule's condition is true. If it cannot be computed, the verdict has the
// error.
func (a *Active) holds(v *Verdict, r *rule, text string) bool {
	yes, err := a.satisfies(r.when, text)
	if err != nil {
		a.failed(v, fmt.Errorf("rule %s: %w", r.id, err), r.id, text, r.shadow)
	} else if !yes {
		a.policy.coverage.came(r.id, "when: false")
	}
	return yes
}

// notChecked is what the caller is told of a text that could not be judged.
const notChecked = "This could not be checked against the policy."

// failed takes an error into the verdict, and blocks the text if on_error says so. The error of a
// rule in shadow would block it. By is the rule that could not judge, "" if it was no single one.
func (a *Active) failed(v *Verdict, err error, by, text string, shadow bool) {
	if v.Err == nil {
		v.Err = err
	}
	if a.policy.onError != Block {
		return
	}
	f := Finding{
		Rule:    "on_error",
		By:      by,
		Type:    typeText,
		End:     len(text),
		Score:   1,
		View:    view.RawView,
		message: notChecked,
	}
	v.add(a.finding(f, Block, shadow))
}

// recovering takes a detector's panic into the verdict. A panic's value may quote the text, so that
// only what Go's runtime says is kept.
func (a *Active) recovering(v *Verdict, text string) {
	r := recover()
	if r == nil {
		return
	}
	err := fmt.Errorf("a detector panicked with a %T", r)
	if known, ok := r.(runtime.Error); ok {
		err = fmt.Errorf("a detector panicked: %w", known)
	}
	a.failed(v, err, "", text, false)
}

// untrusted reports whether what stands at a stage may come from where anybody can write.
func (p *Policy) untrusted(stage Stage, s *Scope) bool {
	switch stage {
	case Input:
		return false
	case ToolResult:
		return !p.Trusts(s.Tool)
	}
	return len(s.Taint) > 0
}

// Trusts reports whether the policy trusts a tool's answers. Without trusted_tools it trusts none.
func (p *Policy) Trusts(tool string) bool { return !p.trusted.Empty() && p.trusted.Match(tool) }
