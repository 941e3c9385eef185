package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule is what can be said about a policy's rule without a text.
type Rule struct {
	ID     string
	Stages []Stage
	// Shadow says that the rule, or its policy, is in shadow.
	Shadow bool
	// Severity and Tags are what the policy's author says of it.
	Severity string
	Tags     []string

	rule   *rule
	policy *Policy
}

// Rules returns the policy's rules, in the order of its file.
func (p *Policy) Rules() []Rule {
	list := make([]Rule, len(p.rules))
	for i, r := range p.rules {
		list[i] = Rule{
			ID:     r.id,
			Stages: slices.Clone(r.stages),
			Shadow: r.shadow || p.shadow,
			rule:   r,
			policy: p,

			Severity: r.severity,
			Tags:     r.tags,
		}
	}
	return list
}

// Marks returns the severity and the tags of a rule, by its id; none if there is no such rule.
func (p *Policy) Marks(id string) (severity string, tags []string) {
	i := slices.IndexFunc(p.rules, func(r *rule) bool { return r.id == id })
	if i < 0 {
		return "", nil
	}
	return p.rules[i].severity, p.rules[i].tags
}

// Silent says why the rule does not judge what stands at a stage, in a scope; "" if it does. For a
// rule about other stages or names it says which, as the policy has them.
func (r Rule) Silent(stage Stage, s Scope) string {
	why := r.rule.silent(r.policy, stage, &s)
	switch why {
	case otherStage:
		var names []string
		for _, own := range r.Stages {
			names = append(names, string(own))
		}
		why = fmt.Sprintf("it is about %s, and this is %s", strings.Join(names, ", "), stage)
	case otherScope:
		why = r.rule.scope.mismatch(&s, r.policy.tenant(&s))
	}
	return why
}

// Strictest is the strictest action that the rule may take, out of shadow.
func (r Rule) Strictest() Action { return r.rule.strictest() }

// TextOnly reports whether the rule's decision depends on the text alone, and not on whose it is or
// what was before it.
func (r Rule) TextOnly() bool {
	return r.rule.when == nil && !r.rule.untrusted && r.rule.from == nil && r.rule.scope.empty() && r.rule.window == "part"
}

// AboutTexts reports whether the rule decides about texts, and not about calls as permissions do, or
// about files.
func (r Rule) AboutTexts() bool { return r.rule.tools == nil && !r.rule.aboutFiles() }

// Silent replaces these two with sentences that name the stages, or the scope, of the rule.
const (
	otherStage = "it is about another stage"
	otherScope = "it is about another scope"
)

// silent is Silent without the names. It allocates nothing.
func (r *rule) silent(p *Policy, stage Stage, s *Scope) string {
	switch {
	case !slices.Contains(r.stages, stage):
		return otherStage
	case !r.scope.match(s, p.tenant(s)):
		return otherScope
	case r.aboutFiles() && s.Files == nil:
		return "it is about files, and this is a text"
	case !r.aboutFiles() && s.Files != nil:
		return "it is about texts, and these are files"
	case r.untrusted && !p.untrusted(stage, s):
		return "it is about what is not trusted"
	}
	if r.from != nil {
		if _, ok := r.from.in(s); !ok {
			return "the session has nothing of what it is about (from:)"
		}
	}
	return ""
}

// Only returns the policy with one of its rules, or with none if no rule has the id.
func (p *Policy) Only(id string) *Policy {
	return p.without(func(r *rule) bool { return r.id != id })
}

// Local returns the policy without the rules that ask a judge: no text leaves the process.
func (p *Policy) Local() *Policy {
	return p.without(func(r *rule) bool { return r.judge != nil })
}

func (p *Policy) without(drop func(*rule) bool) *Policy {
	c := *p
	c.rules = slices.DeleteFunc(slices.Clone(p.rules), drop)
	return &c
}

// InShadow returns the policy with every rule in shadow: nothing is changed, and findings say in
// Would what would be.
func (p *Policy) InShadow() *Policy {
	c := *p
	c.shadow = true
	return &c
}

// Enforced returns the policy with no rule in shadow.
func (p *Policy) Enforced() *Policy {
	c := *p
	c.shadow = false
	c.rules = slices.Clone(p.rules)
	for i, r := range c.rules {
		enforced := *r
		enforced.shadow = false
		c.rules[i] = &enforced
	}
	return &c
}
