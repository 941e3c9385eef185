package guardrail

import (
	"context"
	"fmt"
	"slices"
)

// claim makes claims on the limits of something, before their numbers are read.
func (c *counting) claim(what countable) {
	for _, r := range c.policy.limits {
		if r.limit.what == what {
			key, until := r.key(c.scope.Session, c.now)
			c.claims[r] = c.guard.ledger.claim(r, key, until)
		}
	}
}

// decide decides the limits that an item is about: it takes one of the first of these things, and looks at the others.
// What is used up is a finding of the item; an item that is blocked takes nothing.
func (c *counting) decide(ctx context.Context, it *judgedItem, scope Scope, things ...countable) {
	at := &judging{Policy: c.policy, stage: it.stage, scope: &scope}
	var v Verdict
	before := map[*claim]float64{}
	for _, r := range c.policy.limits {
		claim := c.claims[r]
		decides := slices.Contains(r.stages, it.stage)
		if !slices.Contains(things, r.limit.what) || !decides && claim == nil || !at.about(&v, r) {
			continue
		}
		list, err := c.numbers(ctx, r)
		if err != nil {
			at.failed(&v, fmt.Errorf("rule %s: %w", r.id, err), "")
		}
		fits := sum(list) < r.limit.max
		if claim != nil {
			before[claim] = claim.taken
			list, fits = claim.take(list, !decides || r.lets(c.policy))
		}
		if decides && !fits {
			v.add(at.over(r, list, c.now))
		}
	}
	c.conclude(&judgedText{item: it, number: -1, verdict: v})
	if it.verdict.Action == Block {
		for claim, n := range before {
			claim.back(n)
		}
	}
}

// lets reports whether a limit refuses nothing when it is used up.
func (r *rule) lets(p *Policy) bool { return r.shadow || p.shadow || r.action == Flag }

// numbers returns what counts for a limit, in the state as it is now.
func (c *counting) numbers(ctx context.Context, r *rule) (list []number, err error) {
	if c.state == nil {
		c.state = c.inv.State
		if c.guard.Sessions != nil {
			s, failed := c.guard.Sessions.Get(ctx, c.inv.Key)
			if err = failed; err == nil {
				c.state = s.State
			}
		}
		if c.state == nil {
			c.state = map[string]any{}
		}
	}
	return r.numbers(c.state, c.scope.Session, c.now), err
}

// made returns the claims of which something was taken.
func (c *counting) made() (list []*claim) {
	for r, claim := range c.claims {
		if claim.taken > 0 {
			list = append(list, claim)
			delete(c.claims, r)
		}
	}
	return list
}

// drop leaves the other claims, with what was taken of them given back.
func (c *counting) drop() {
	for _, claim := range c.claims {
		claim.back(0)
		claim.leave()
	}
	clear(c.claims)
}
