package guardrail

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// reconsidered is what became of calls that a human has approved and the policy denies.
type reconsidered struct {
	denied    []*session.Event  // their answers
	revoked   map[string]string // why, by the ids of those that no answer would reach
	reason    string
	unchecked string
}

// reconsider judges the calls that an input approves once more: by the policy that this run has, and by what the session
// has read since they were made. A call that is blocked now is answered before its agent goes on, and so is not run. What
// rules would ask was answered just now, and what they would take out of the arguments a human has seen: the call is in
// the log as it is.
func (g *guard) reconsider(ctx context.Context, inv *session.Invocation, r *running, e *session.Event, taint []string) (again reconsidered, err error) {
	if len(e.Actions.RequestedToolConfirmations) == 0 {
		return again, nil
	}
	log := append(slices.Clip(inv.Live), e)
	var reasons []string
	for i, c := range session.Calls(log) {
		if c.Decision != e || !c.Approved() || c.Response != nil {
			continue
		}
		then := *inv // windows are about what was said before the call
		then.ID, then.Live = c.Event.InvocationID, inv.Live[:slices.Index(inv.Live, c.Event)]
		j, _ := g.judge(r.policy, &then, c.Event, func(w *walker, j *judgment) {
			j.scope.Taint = taint
			g.hears(ctx, j)
			w.call(c.FunctionCall)
		})
		j.inv = inv
		g.shadowed(j, e)
		if err := j.wait(ctx); err != nil {
			return again, err
		}
		why := j.denies(r, j.items[0], c.FunctionCall)
		if why == "" { // it was told when the call was made
			j.records = slices.DeleteFunc(j.records, func(r Record) bool { return r.Would != Block })
		}
		again.unchecked = cmp.Or(again.unchecked, g.told(ctx, j, e.ID))
		if why == "" {
			continue
		}
		reasons = append(reasons, j.reason())
		denied := j.denied(c.FunctionCall, why)
		denied.Branch = cmp.Or(c.Event.Branch, e.Branch)
		if after := append(slices.Clip(log), denied); session.Calls(after)[i].Response == denied {
			again.denied, log = append(again.denied, denied), after
			continue
		}
		if again.revoked == nil { // another call of that id would take the answer: the agent says no to this one
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
