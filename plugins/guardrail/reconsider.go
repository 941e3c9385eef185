package guardrail

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// reconsidered is what became of calls that a human has approved and that the policy denies.
type reconsidered struct {
	denied    []*session.Event  // the calls' answers
	revoked   map[string]string // why, by the ids of the calls that no answer would reach
	reason    string
	shadow    []Record // what rules in shadow would deny
	unchecked string
}

// reconsider judges the calls that an input approves once more: by the policy that this run has,
// and by what the session has read since they were made. A call that is blocked now is answered
// before its agent goes on, and so is not run. What rules would ask was just answered, and what
// they would take out of the arguments a human has seen.
func (g *guard) reconsider(
	ctx context.Context, inv *session.Invocation, r *runState, e *session.Event, taint []string,
) (again reconsidered, err error) {
	log := append(slices.Clip(inv.Live), e)
	var reasons []string
	for _, c := range inv.Released(e) {
		// Judge the call as if it were made now. Windows are about what was said before the call.
		then := *inv
		then.ID = c.Event.InvocationID
		then.Live = inv.Live[:slices.Index(inv.Live, c.Event)]
		ev, _ := g.evaluate(r.policy, &then, c.Event, func(w *walk.Walker, ev *evaluation) {
			ev.scope.Taint = taint
			g.askJudges(ctx, ev)
			w.Call(c.FunctionCall)
		})
		ev.inv = inv
		g.reportShadow(ev, e)
		if err := ev.awaitJudges(ctx); err != nil {
			return again, err
		}

		// Report it. What is no reason to deny the call was reported when the call was made.
		why := ev.whyDenied(ctx, r, ev.items[0], c.FunctionCall)
		if why == "" {
			ev.records = slices.DeleteFunc(ev.records,
				func(r Record) bool { return r.Would != policy.Block })
		}
		again.unchecked = cmp.Or(again.unchecked, g.reportAll(ctx, ev, e.ID))
		if why == "" {
			again.shadow = append(again.shadow, ev.records...)
			continue
		}
		reasons = append(reasons, ev.reason())

		// Answer the call. If the answer would go to another call of the same id, take the approval
		// back instead: the agent says no to the call then.
		denied := ev.denial(c.FunctionCall, why)
		denied.Branch = cmp.Or(c.Event.Branch, e.Branch)
		after := append(slices.Clip(log), denied)
		answersIt := func(a session.Call) bool {
			return a.FunctionCall == c.FunctionCall && a.Response == denied
		}
		if slices.ContainsFunc(session.Calls(after), answersIt) {
			again.denied = append(again.denied, denied)
			log = after
			continue
		}
		if again.revoked == nil {
			again.revoked = map[string]string{}
		}
		again.revoked[c.ID] = why
	}
	again.reason = strings.Join(reasons, "; ")
	return again, nil
}

// revoke takes back the approvals of calls that are not to be run.
func (again *reconsidered) revoke(a *session.Actions) {
	for id, why := range again.revoked {
		a.RequestedToolConfirmations[id] = session.Confirmation{Payload: why}
	}
}
