package guardrail

import (
	"cmp"
	"context"
	"fmt"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// beforeRun counts a run that has no input to be counted on, and asks judges who were not asked when the run began.
func (g *guard) beforeRun(ctx context.Context, inv *session.Invocation) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.running(inv, true)
	r.tab.settle()
	over := g.overtaken(ctx, inv, r)
	if over.Stop {
		return over, nil
	}
	out.Unchecked = cmp.Or(out.Unchecked, over.Unchecked)
	if inv.Input != nil || len(r.policy.limits) == 0 {
		return out, nil
	}
	j, _ := g.judge(r.policy, inv, &session.Event{Author: session.User}, func(*walker, *judgment) {})
	adds := g.count(ctx, r, j)
	if out = g.decided(ctx, j); out.Stop || len(adds) == 0 {
		return out, nil
	}
	e := &session.Event{}
	g.counted(inv, &e.Actions, adds)
	out.Emit, out.Reason = []*session.Event{e}, counts(adds)
	return out, nil
}

// overtaken refuses a run that is beyond a limit together with those that other processes have begun in the same moment, and
// gives back what it took. Each run has its own in the store by now, before it looks: the last of those that go on has
// seen them all.
func (g *guard) overtaken(ctx context.Context, inv *session.Invocation, r *running) (out plugin.Outcome) {
	claims := r.tab.begun()
	if g.Sessions == nil || len(claims) == 0 {
		return out
	}
	j, _ := g.judge(r.policy, inv, &session.Event{Author: session.User}, func(*walker, *judgment) {})
	c := g.counting(r, j)
	at := &judging{Policy: r.policy, stage: Input, scope: &j.scope}
	var v Verdict
	for _, claim := range claims {
		if claim.rule.lets(r.policy) {
			continue
		}
		list, err := c.numbers(ctx, claim.rule)
		if err != nil {
			at.failed(&v, fmt.Errorf("rule %s: %w", claim.rule.id, err), "")
		}
		if sum(list) > claim.rule.limit.max {
			v.add(at.over(claim.rule, list, c.now))
		}
	}
	c.conclude(&judgedText{item: c.item(Input), number: -1, verdict: v})
	if out = g.decided(ctx, j); out.Stop {
		back := map[string]float64{}
		for _, claim := range claims {
			back[claim.key] -= min(claim.taken, began(inv, claim.key))
		}
		g.counted(inv, &out.Emit[0].Actions, back)
	}
	return out
}

// began is what the run's inputs have added to a count: a plugin behind may have taken it off them.
func began(inv *session.Invocation, key string) (n float64) {
	for _, e := range inv.Live {
		if e.InvocationID == inv.ID && e.Author == session.User {
			n += e.Actions.StateIncrement[key]
		}
	}
	return n
}

// asks decides the limits that a call of a model is about.
func (g *guard) asks(ctx context.Context, inv *session.Invocation, r *running, req *model.Request) (out plugin.Outcome) {
	r.tab.settle()
	if len(r.policy.limits) == 0 {
		return out
	}
	j, _ := g.judge(r.policy, inv, &session.Event{Author: cmp.Or(req.Agent, "agent"), Branch: req.Branch}, func(*walker, *judgment) {})
	c := g.counting(r, j)
	defer c.drop()
	who := asker{req.Agent, req.Branch}
	a := r.tab.asks(who)
	things := []countable{countTokens}
	if a == nil { // otherwise the request is built anew
		c.claim(countModelCalls)
		things = append(things, countModelCalls)
	}
	c.decide(ctx, c.item(Prompt), j.scope, things...)
	if out = g.decided(ctx, j); out.Stop {
		return out
	}
	asked := &asking{scope: j.scope, position: inv.Position, claims: c.made()}
	if a != nil {
		asked.claims = a.claims
	}
	for _, content := range contentsOf(req) {
		asked.prompt += runesOf(content)
	}
	r.tab.ask(who, asked)
	return out
}

// decided reports what was decided about what is no event, and returns the refusal, if it is one.
func (g *guard) decided(ctx context.Context, j *judgment) (out plugin.Outcome) {
	if len(j.records) > 0 || j.err != nil {
		g.report(ctx, j, "")
	}
	if it := j.strictest((*judgedItem).ends); it != nil {
		return j.refusal(it)
	}
	if j.err != nil {
		out.Unchecked = j.err.Error()
	}
	return out
}

// unanswered counts, as a run is over, the calls of models whose answers have not become events: those that the caller has
// left, and those of which a part was shown.
func (g *guard) unanswered(inv *session.Invocation, r *running, end plugin.End) (out plugin.Outcome) {
	c := g.counting(r, &judgment{policy: r.policy, inv: inv})
	for _, a := range r.tab.close() {
		asking := (end.Kind == plugin.EndLeft || end.Kind == plugin.EndCancelled) && a.position == inv.Position
		if !asking && !a.streamed {
			continue
		}
		for _, claim := range a.claims {
			c.add(claim.key, claim.taken)
		}
		c.each(a.scope, countTokens, tokensOf(&session.Event{}, a))
	}
	if len(c.adds) > 0 {
		e := &session.Event{}
		g.counted(inv, &e.Actions, c.adds)
		out.Emit, out.Reason = []*session.Event{e}, counts(c.adds)
	}
	return out
}
