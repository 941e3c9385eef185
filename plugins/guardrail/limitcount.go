package guardrail

import (
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

// counting is what an event, or a call of a model, means to the policy's limits.
type counting struct {
	*judgment
	guard  *guard
	tab    *tab
	now    time.Time
	claims map[*rule]*claim // on numbers of limits of what is taken
	state  map[string]any   // as it is in the store; nil before it was read
	adds   map[string]float64
}

func (g *guard) counting(r *running, j *judgment) *counting {
	return &counting{judgment: j, guard: g, tab: &r.tab, now: g.Now(), claims: map[*rule]*claim{}}
}

// count decides the limits that an event is about, and returns what it adds to their counts.
func (g *guard) count(ctx context.Context, r *running, j *judgment) map[string]float64 {
	if len(j.policy.limits) == 0 || j.event.Actions.Rewind != nil {
		return nil
	}
	c := g.counting(r, j)
	defer c.drop()
	if j.event.Author == session.User {
		c.input(ctx)
	} else {
		c.answer()
	}
	if j.strictest((*judgedItem).ends) == nil {
		c.calls(ctx)
	}
	return c.adds
}

// input decides about an input, but for a command, which no agent is run with, and for an answer that was waited for, with
// which a run goes on that has counted: what follows is decided before the model is asked.
func (c *counting) input(ctx context.Context) {
	if _, command := c.event.Command(); command && c.event.Content == nil || answersOnly(c.inv.Live, c.event) {
		return
	}
	c.claim(countRuns)
	c.decide(ctx, c.item(Input), c.scope, countRuns, countModelCalls, countTokens)
	if c.strictest((*judgedItem).ends) == nil {
		c.tab.begin(c.taken())
	}
}

// calls decides about an event's calls of tools, one after the other.
func (c *counting) calls(ctx context.Context) {
	c.claim(countToolCalls)
	for _, it := range c.items {
		if it.call == nil || it.verdict.Action == Block {
			continue
		}
		scope := c.scope
		scope.Tool, scope.Args = it.tool, it.args
		c.decide(ctx, it, scope, countToolCalls)
	}
	c.taken()
}

// answer counts what a model has taken.
func (c *counting) answer() {
	a := c.tab.answered(c.event)
	if a == nil && c.event.UsageMetadata == nil {
		return
	}
	scope := c.scope
	if a != nil {
		scope = a.scope
		for _, claim := range a.claims {
			c.add(claim.key, claim.taken)
		}
	} else {
		c.each(scope, countModelCalls, 1)
	}
	c.each(scope, countTokens, tokensOf(c.event, a))
}

// each adds to all limits of something in a scope.
func (c *counting) each(scope Scope, what countable, n float64) {
	at := &judging{Policy: c.policy, stage: Prompt, scope: &scope}
	var v Verdict // a condition that cannot be computed was told when the model was asked
	for _, r := range c.policy.limits {
		if r.limit.what == what && n > 0 && at.about(&v, r) {
			key, _ := r.key(scope.Session, c.now)
			c.add(key, n)
		}
	}
}

func (c *counting) add(key string, n float64) {
	if c.adds == nil {
		c.adds = map[string]float64{}
	}
	c.adds[key] += n
}

// item returns an item for what is decided at a stage, whatever is said there.
func (c *counting) item(s Stage) *judgedItem {
	it := &judgedItem{item: item{stage: s}}
	c.items = append(c.items, it)
	return it
}

// taken adds what was taken to what the event adds, and returns the claims.
func (c *counting) taken() []*claim {
	claims := c.made()
	for _, claim := range claims {
		c.add(claim.key, claim.taken)
		c.tab.later(claim)
	}
	return claims
}
