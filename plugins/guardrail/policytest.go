package guardrail

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plughook/plughook/yamlfile"
)

// tests checks the form of a policy's tests.
func (r *reader) tests(list []Test) {
	var stages, wants, rules []string
	for _, s := range Stages() {
		stages = append(stages, string(s))
	}
	for _, a := range actions {
		wants = append(wants, string(a))
	}
	for _, rule := range slices.Concat(r.policy.rules, r.policy.limits) {
		rules = append(rules, rule.id)
	}
	rules = append(rules, "limits.max_bytes")
	for i, t := range list {
		path := fmt.Sprintf("tests[%d]", i)
		if t.Name == "" || t.Stage == "" || t.Want == "" {
			r.bad(path, "a test needs name, stage and want")
			continue
		}
		r.oneOf(path+".stage", t.Stage, stages...)
		r.oneOf(path+".want", t.Want, wants...)
		if t.Rule != "" {
			r.oneOf(path+".rule", t.Rule, rules...)
		}
		for _, id := range slices.Sorted(maps.Keys(t.Judge)) {
			if !slices.Contains(r.policy.Judges(), id) {
				r.bad(path+".judge."+id, "no rule with a judge has the id %q%s", id, yamlfile.Meant(id, r.policy.Judges()))
			}
		}
		for _, id := range slices.Sorted(maps.Keys(t.Used)) {
			switch limit := r.policy.limitOf(id); {
			case limit == nil:
				r.bad(path+".used."+id, "no rule with a limit has the id %q", id)
			case t.Used[id] < 0:
				r.bad(path+".used."+id, "%d %s cannot have been used", t.Used[id], limit.limit.what)
			}
		}
		if t.After != "" && !Action(t.Want).edits() {
			r.bad(path+".after", "after is what becomes of an edited text, and %s edits none%s", t.Want, yamlfile.Meant("", []string{"mask", "vault", "hash", "replace", "redact"}))
		}
	}
}

// A Result is what became of a policy's test.
type Result struct {
	Test    Test
	Verdict Verdict
	// Failure says in what way the verdict is not the wanted one; "" if it is.
	Failure string
}

// Test runs the policy's own tests, without regard to shadow: they are about what the rules would do.
func (p *Policy) Test() []Result {
	enforced := p.enforced()
	var results []Result
	for _, t := range p.tests {
		began := time.Now()
		s := Scope{App: t.App, User: t.User, Agent: t.Agent, Branch: t.Branch, Tool: t.Tool, Args: t.Args, State: p.used(t.State, t.Used, began), Taint: t.Taint}
		v := enforced.judge(Stage(t.Stage), s, t.Text, t.Judge)
		result := Result{Test: t, Verdict: v}
		switch {
		case v.Err != nil:
			result.Failure = v.Err.Error()
		case v.Action != Action(t.Want):
			result.Failure = fmt.Sprintf("it is %s, not %s", by(v.Action, v.Rule), t.Want)
		case t.Rule != "" && v.Rule != t.Rule:
			result.Failure = fmt.Sprintf("it is %s, not by %s", by(v.Action, v.Rule), t.Rule)
		case t.After != "" && v.Text != t.After:
			result.Failure = fmt.Sprintf("the text becomes %q, not %q", v.Text, t.After)
		}
		results = append(results, result)
	}
	return results
}

func by(a Action, rule string) string {
	if rule == "" {
		return string(a)
	}
	return fmt.Sprintf("%s by %s", a, rule)
}

// enforced returns the policy out of shadow, its rules too.
func (p *Policy) enforced() *Policy {
	c := *p
	c.shadow = false
	for _, list := range []*[]*rule{&c.rules, &c.limits} {
		*list = slices.Clone(*list)
		for i, r := range *list {
			mine := *r
			mine.shadow = false
			(*list)[i] = &mine
		}
	}
	return &c
}
