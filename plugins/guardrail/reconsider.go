package guardrail

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// reconsidered is what became of calls that a human has approved and that the policy denies, or that it
// asks about again.
type reconsidered struct {
	emit      []*session.Event  // answers to calls, and questions about others
	revoked   map[string]string // why, by the ids of the calls that no answer or question would reach
	reason    string
	reported  []Record // what rules in shadow would deny, and what is asked about again
	unchecked string
}

// reconsider judges the calls that an input approves once more: by the policy that this run has,
// and by what the session has read since they were made. A call that is blocked now is answered
// before its agent goes on, and so is not run. What rules would ask was just answered, and what
// they would take out of the arguments a human has seen. A declaration that is not the pinned one has to
// be the one that the human was shown: otherwise the human is asked again, and the call waits.
func (g *guard) reconsider(
	ctx context.Context, inv *session.Invocation, r *runState, e *session.Event, now *policy.Scope,
) (again reconsidered, err error) {
	log := append(slices.Clip(inv.Live), e)
	var reasons []string
	for _, c := range inv.Released(e) {
		tool := func(name string) (*pin.Tool, error) {
			u, err := r.unpinnedTool(inv, ownerOf(c.Event), name)
			if u == nil || g.approvedAsIs(log, &c, u) {
				return nil, err
			}
			return u, nil
		}

		// Judge the call as if it were made now. Windows are about what was said before the call.
		then := *inv
		then.ID = c.Event.InvocationID
		then.Live = inv.Live[:slices.Index(inv.Live, c.Event)]
		ev, _ := g.evaluate(r.policy, &then, c.Event, func(w *walk.Walker, ev *evaluation) {
			ev.approval = e
			ev.scope.Taint = now.Taint
			ev.scope.Seen = now.Seen
			ev.unpinned = tool
			g.askJudges(ctx, ev)
			w.Call(c.FunctionCall)
		})
		ev.inv = inv
		g.reportShadow(ev, e)
		if err := ev.awaitJudges(ctx); err != nil {
			return again, err
		}
		if ev.pinErr != nil {
			return again, ev.pinErr
		}

		// Report it. What is no reason to deny the call, or to ask again, was reported when the call was made.
		judged := ev.items[0]
		why := ev.whyDenied(ctx, r, judged, c.FunctionCall)
		if why == "" {
			ev.records = slices.DeleteFunc(ev.records,
				func(r Record) bool { return r.Would != policy.Block && r.Rule != pin.Rule })
		}
		again.unchecked = cmp.Or(again.unchecked, g.reportAll(ctx, ev, e.ID))
		if why == "" {
			again.reported = append(again.reported, ev.records...)
		}

		// Answer the call, or ask about it again, or let it be run.
		var next *session.Event
		switch {
		case why != "":
			reasons = append(reasons, ev.reason())
			next = ev.denial(c.FunctionCall, why)
		case judged.unpinned != nil:
			hint := askedAgain + judged.hint()
			asked := g.withHidden(c.Args, session.Confirmation{Hint: hint, Ask: judged.asked(r.policy.Policy)})
			next = ev.question(map[string]session.Confirmation{c.ID: asked},
				map[string]string{c.ID: judged.unpinned.Digest})
			why = hint
		default:
			continue
		}

		// If that would go to another call of the same id, take the approval back instead: the agent says
		// no to the call then.
		next.Branch = cmp.Or(c.Event.Branch, e.Branch)
		after := append(slices.Clip(log), next)
		reached := func(a session.Call) bool {
			return a.FunctionCall == c.FunctionCall && (a.Response == next || a.Held == next)
		}
		if slices.ContainsFunc(session.Calls(after), reached) {
			again.emit = append(again.emit, next)
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

// askedAgain begins what a human is told who has approved a call while another declaration was in force.
const askedAgain = "The yes to this call was for another declaration of its tool. "

// revoke takes back the approvals of calls that are not to be run.
func (again *reconsidered) revoke(a *session.Actions) {
	for id, why := range again.revoked {
		a.RequestedToolConfirmations[id] = session.Confirmation{Payload: why}
	}
}
