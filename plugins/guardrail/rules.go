package guardrail

import (
	"slices"
)

// A Rule is what can be said of a policy's rule without a text.
type Rule struct {
	ID     string
	Stages []Stage
	// Shadow says that the rule, or its policy, is in shadow.
	Shadow bool

	rule   *rule
	policy *Policy
}

// Rules are the policy's rules, in the order of its file.
func (p *Policy) Rules() []Rule {
	list := make([]Rule, len(p.rules))
	for i, r := range p.rules {
		list[i] = Rule{ID: r.id, Stages: slices.Clone(r.stages), Shadow: r.shadow || p.shadow, rule: r, policy: p}
	}
	return list
}

// Silent says why the rule is not asked about what is at a stage, in a scope; "" if it is. Of a rule about other names it
// says which, as they are in the policy.
func (r Rule) Silent(stage Stage, s Scope) string {
	why := r.rule.silent(r.policy, stage, &s)
	if why == otherScope {
		why = r.rule.scope.other(&s, r.policy.tenant(&s))
	}
	return why
}

const otherScope = "it is about another scope"

// silent is Silent without the names. It allocates nothing.
func (r *rule) silent(p *Policy, stage Stage, s *Scope) string {
	switch {
	case !slices.Contains(r.stages, stage):
		return "it is not about this stage"
	case !r.scope.match(s, p.tenant(s)):
		return otherScope
	case r.untrusted && !p.untrusted(stage, s):
		return "it is about what is not trusted"
	}
	return ""
}

// Only returns the policy with one of its rules, or with none if it has none of that id.
func (p *Policy) Only(id string) *Policy {
	c := *p
	other := func(r *rule) bool { return r.id != id }
	c.rules = slices.DeleteFunc(slices.Clone(p.rules), other)
	return &c
}

// InShadow returns the policy with every rule in shadow: nothing is changed, and records say in Would what would be.
func (p *Policy) InShadow() *Policy {
	c := *p
	c.shadow = true
	return &c
}

// Tests are the policy's own tests.
func (p *Policy) Tests() []Test { return slices.Clone(p.tests) }
