package guardrail

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// event answers an event that is whole. tools are those whose answers came in the stream that the
// event ends.
func (g *guard) event(
	ctx context.Context, inv *session.Invocation, r *runState, e *session.Event, tools []string,
) (out plugin.Outcome, err error) {
	// Judge all texts of the event, and ask the judges about them.
	ev, w := g.evaluate(r.policy, inv, e, func(w *walk.Walker, ev *evaluation) {
		ev.taint(tools)
		ev.sawAnswers(tools)
		ev.sawInAnswers(func(before *evaluation) {
			w := before.walker()
			w.MadeUp = before.madeUp(r)
			w.Event(e, before.stage())
		})
		g.askJudges(ctx, ev)
		w.MadeUp = ev.madeUp(r)
		ev.unpinned = func(name string) (*pin.Tool, error) { return r.unpinnedTool(inv, ownerOf(e), name) }
		w.Event(e, ev.stage())
	})
	g.reportShadow(ev, e)
	if err := ev.awaitJudges(ctx); err != nil {
		return out, err
	}
	if ev.pinErr != nil {
		return out, ev.pinErr
	}
	out.Unchecked = g.reportAll(ctx, ev, e.ID)

	// If anything but a call, an answer of a tool or a summary is blocked, a refusal takes the
	// event's place, and the run ends.
	blocked := ev.strictest((*evaluatedItem).endsRun)
	if blocked != nil {
		return ev.refusal(blocked), nil
	}

	// An input may approve calls that were held: judge these calls once more.
	var again reconsidered
	if e.Author == session.User {
		again, err = g.reconsider(ctx, inv, r, e, &ev.scope)
		if err != nil {
			return out, err
		}
	}
	ev.records = append(ev.records, again.reported...) // they are reported already
	out.Emit = again.emit
	out.Reason = again.reason
	out.Unchecked = cmp.Or(out.Unchecked, again.unchecked)

	// Leave an event alone in which there is nothing to change. Nobody else may write this plugin's
	// note.
	_, noteForged := e.CustomMetadata[Key]
	textsChange := len(ev.edits) > 0 || w.Dirty
	noted := len(ev.records) > 0
	asked := g.confirmations(inv, e)
	if !textsChange && !noted && !ev.tainted && len(ev.seen) == 0 && !noteForged && len(again.revoked)+len(asked) == 0 {
		return out, nil
	}

	// Make the changes to a clone. What stands under unknown keys cannot be edited in place, so it
	// goes if anything does.
	c := e.Clone()
	if textsChange {
		c = e.WithoutUnknown()
	}
	if slices.ContainsFunc(ev.items, (*evaluatedItem).mayStopCall) {
		identify(c)
	}
	out.Emit = append(ev.change(ctx, r, c), out.Emit...)
	again.revoke(&c.Actions)
	maps.Copy(c.Actions.RequestedToolConfirmations, g.confirmations(inv, c))

	// What an answer is grounded in says the same as its text.
	if len(ev.edits) > 0 {
		c.GroundingMetadata = nil
		c.CitationMetadata = nil
	}

	// Write the plugin's own state and note, and nobody else's.
	if ev.tainted {
		c.Actions.Set(g.taintKey(), ev.taintAfter(e, c))
	}
	ev.writeSeen(e, c)
	delete(c.CustomMetadata, Key)
	if noted {
		if c.CustomMetadata == nil {
			c.CustomMetadata = map[string]any{}
		}
		c.CustomMetadata[Key] = ev.note().value()
		out.Reason = ev.reason()
		if again.reason != "" {
			out.Reason += "; " + again.reason
		}
	}
	if ev.approves() {
		plugin.Approve(c, ev.whyApproved())
	}
	if out.Reason == "" && len(ev.edits) > 0 {
		out.Reason = "the answer broke off, and its end may be the beginning of what a rule hides"
	}
	if out.Reason == "" && len(asked) > 0 {
		out.Reason = "a human is told what hidden values stand for"
	}
	if out.Reason == "" && ev.tainted {
		out.Reason = "the session now has an answer of a tool that the policy does not trust"
	}
	if out.Reason == "" && len(ev.seen) > 0 {
		out.Reason = "the session now has what a rule of the policy about flows asks for"
	}
	out.Replace = c
	return out, nil
}

// identify gives an id to each call of an event that has none or that of an earlier call of the event. Answers
// and questions go to the last open call of an id, and no question finds a call without one: another call would
// be held in its place, and it would run. An id that the event has an answer for stays.
func identify(e *session.Event) {
	if e.Author == session.User || e.Content == nil {
		return
	}
	answered := map[string]bool{}
	taken := map[string]bool{}
	for _, r := range e.FunctionResponses() {
		answered[cmp.Or(r.ID, r.Name)] = true
	}
	for _, c := range e.FunctionCalls() {
		taken[c.ID] = true
	}
	seen := map[string]bool{}
	for _, c := range e.FunctionCalls() {
		if c.ID != "" && !seen[c.ID] || answered[cmp.Or(c.ID, c.Name)] {
			seen[c.ID] = true
			continue
		}
		base := cmp.Or(c.ID, model.CallIDPrefix+e.ID)
		id := base
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		c.ID = id
		taken[id] = true
		seen[id] = true
	}
}

// change makes the evaluation's changes to a clone of its event, and returns what is emitted on the
// event: denials of calls, and a question to a human about others.
func (ev *evaluation) change(ctx context.Context, r *runState,
	c *session.Event) (emit []*session.Event) {
	asks := map[string]session.Confirmation{}
	shown := map[string]string{}

	// Walk the clone as the event was walked. What becomes of an item as a whole is decided once
	// its texts are written, which is after the walk.
	var afterWalk []func()
	items := 0
	w := &walk.Walker{
		Write:   true,
		Edit:    ev.rewrite(),
		Unasked: ev.unasked,
		MadeUp:  ev.madeUp(r),
	}
	w.End = func(it *walk.Item) {
		judged := ev.items[items]
		items++
		blocked := judged.verdict.Action == policy.Block
		switch {
		case it.Call != nil:
			afterWalk = append(afterWalk, func() {
				why := ev.whyDenied(ctx, r, judged, it.Call)
				switch {
				case why != "":
					emit = append(emit, ev.denial(it.Call, why))
				case judged.asks():
					id := cmp.Or(it.Call.ID, it.Call.Name)
					if judged.unpinned != nil {
						shown[id] = judged.unpinned.Digest
					}
					asks[id] = ev.guard.withHidden(it.Call.Args, session.Confirmation{
						Hint: judged.hint(), Ask: judged.asked(ev.policy.Policy),
					})
				}
			})
		case it.Response != nil && blocked:
			afterWalk = append(afterWalk, func() {
				why := withOrigin(&judged.verdict, cmp.Or(judged.verdict.Message,
					fmt.Sprintf("withheld: the policy's rule %s does not let the answer of %s pass; go on without it", judged.verdict.Rule, it.Response.Name)))
				it.Response.Response = map[string]any{"error": why}
				it.Response.Parts = nil
			})
		case judged.Stage == policy.Summary && blocked && !judged.takesOut():
			afterWalk = append(afterWalk, func() {
				withheld := "[a policy withholds this summary]"
				c.Actions.Compaction.Content = genai.NewContentFromText(withheld, genai.RoleUser)
			})
		}
	}
	w.Event(c, ev.stage())
	for _, f := range afterWalk {
		f()
	}

	// Ask a human about all calls at once.
	if len(asks) > 0 {
		emit = append(emit, ev.question(asks, shown))
	}
	return emit
}
