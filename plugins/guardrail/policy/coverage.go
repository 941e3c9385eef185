package policy

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/permission"
)

// A Branch is one thing that a rule may do, or not do.
type Branch struct {
	Rule string `json:"rule"`
	What string `json:"what"` // such as: acts, CREDIT_CARD, when: false, allow, deny shell(rm *)
	At   string `json:"at"`   // where the rule stands: FILE:LINE:COLUMN
}

// A Coverage counts which branches of a policy's rules judging has come to. It is safe for concurrent use.
type Coverage struct {
	mu   sync.Mutex
	all  []Branch
	seen map[Branch]bool // without At
}

// Covered returns the policy with a coverage, which counts what the policy does from now on. The branches of a
// rule are that it acts, or acts on each type that its action names; that its condition is false; that its
// exceptions let something pass; each entry of its tools; and both answers of its judge.
func (p *Policy) Covered() (*Policy, *Coverage) {
	covered := *p
	c := &Coverage{seen: map[Branch]bool{}}
	covered.coverage = c
	for _, r := range p.rules {
		at := r.file.Name() + ":" + r.file.At(r.path)
		for _, what := range r.branches() {
			c.all = append(c.all, Branch{Rule: r.id, What: what, At: at})
		}
	}
	if p.allow != nil {
		c.all = append(c.all, Branch{What: "allow", At: p.name + ":1:1"})
	}
	return &covered, c
}

// branches returns what a rule may do.
func (r *rule) branches() (list []string) {
	switch {
	case r.tools != nil:
		for _, e := range r.tools.Entries() {
			list = append(list, e.String())
		}
		if r.tools.Other != permission.Allow {
			list = append(list, "other")
		}
	case r.byType != nil:
		for _, kind := range slices.Sorted(maps.Keys(r.byType)) {
			if r.byType[kind] != Allow {
				list = append(list, kind)
			}
		}
		if r.action != Allow {
			list = append(list, "*")
		}
	default:
		list = append(list, "acts")
	}
	if r.when != nil {
		list = append(list, "when: false")
	}
	if r.allow != nil {
		list = append(list, "allow")
	}
	if r.judge != nil {
		list = append(list, "judge: no")
	}
	return list
}

// Branches returns how many branches there are, and those that nothing has come to, in the policy's order.
func (c *Coverage) Branches() (all int, missing []Branch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.all {
		if !c.seen[Branch{Rule: b.Rule, What: b.What}] {
			missing = append(missing, b)
		}
	}
	return len(c.all), missing
}

// String names the branch.
func (b Branch) String() string {
	if b.Rule == "" {
		return "the policy: " + b.What
	}
	return fmt.Sprintf("rule %s: %s", b.Rule, b.What)
}

// came notes that a rule has come to a branch. It does nothing without a coverage.
func (c *Coverage) came(rule, what string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[Branch{Rule: rule, What: what}] = true
}

// acted notes that a rule acts on a type, or lets it pass for an exception.
func (c *Coverage) acted(r *rule, kind string, ofRule, ofPolicy string) {
	switch _, named := r.byType[kind]; {
	case c == nil:
	case ofRule != "":
		c.came(r.id, "allow")
	case ofPolicy != "":
		c.came("", "allow")
	case r.byType == nil:
		c.came(r.id, "acts")
	case named:
		c.came(r.id, kind)
	default:
		c.came(r.id, "*")
	}
}

// decided notes which entries of a rule's lists have decided about a call.
func (c *Coverage) decided(r *rule, s *Scope, decision permission.Decision) {
	if c == nil {
		return
	}
	some := false
	for _, e := range r.tools.Entries() {
		if e.Decides(decision, s.Tool, s.Args) {
			some = true
			c.came(r.id, e.String())
		}
	}
	if !some && decision == r.tools.Other {
		c.came(r.id, "other")
	}
}
