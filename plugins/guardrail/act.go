package guardrail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// event answers an event, whole. The stream that it ends had the answers of tools that are named in had.
func (g *guard) event(ctx context.Context, inv *session.Invocation, r *running, e *session.Event, had []string) (out plugin.Outcome, err error) {
	p := r.policy
	made := func(call *genai.FunctionCall) bool { return r.made(e.Author, call.Name) }
	j, w := g.judge(p, inv, e, func(w *walker, j *judgment) {
		j.sees(had)
		g.hears(ctx, j)
		w.made = made
		w.event(e, stageOf(e))
	})
	g.shadowed(j, e)
	if err := j.wait(ctx); err != nil {
		return out, err
	}
	forged := forges(e)               // nobody else says what a session has seen
	_, noted := e.CustomMetadata[Key] // nor what became of an event
	out.Unchecked = g.told(ctx, j, e.ID)
	if it := j.strictest((*judgedItem).ends); it != nil {
		return j.refusal(it), nil
	}
	again := reconsidered{}
	if e.Author == session.User {
		if again, err = g.reconsider(ctx, inv, r, e, j.scope.Taint); err != nil {
			return out, err
		}
	}
	out.Emit, out.Reason, out.Unchecked = again.denied, again.reason, cmp.Or(out.Unchecked, again.unchecked)
	if len(j.records) == 0 && len(j.edits) == 0 && !w.dirty && !j.tainted && !forged && !noted && len(again.revoked) == 0 {
		return out, nil
	}
	c := e.Clone()
	if len(j.edits) > 0 || w.dirty {
		c = e.WithoutUnknown() // what is not known here has not been looked at by name
	}
	out.Emit = append(j.change(r, c), out.Emit...)
	again.revoke(&c.Actions)
	if len(j.edits) > 0 { // what goes with a text says the same
		c.GroundingMetadata, c.CitationMetadata = nil, nil
	}
	delete(c.CustomMetadata, Key)
	disown(&c.Actions)
	if j.tainted {
		if c.Actions.StateDelta == nil {
			c.Actions.StateDelta = map[string]any{}
		}
		c.Actions.StateDelta[taintKey] = j.taints(e, c)
	}
	if len(j.records) > 0 {
		if c.CustomMetadata == nil {
			c.CustomMetadata = map[string]any{}
		}
		c.CustomMetadata[Key] = j.note().value()
		out.Reason = strings.Join(slices.DeleteFunc([]string{j.reason(), again.reason}, func(s string) bool { return s == "" }), "; ")
	}
	if out.Reason == "" && len(j.edits) > 0 {
		out.Reason = "the answer broke off, and its end may be the beginning of what a rule hides"
	}
	out.Replace = c
	return out, nil
}

// ends reports whether what becomes of the item ends the run: a text that is blocked. Calls and answers of tools that
// are blocked are answered instead, and summaries replaced.
func (it *judgedItem) ends() bool { return it.verdict.Action == Block && it.mayEnd() }

func (it *judgedItem) mayEnd() bool {
	return it.call == nil && it.response == nil && it.stage != Summary
}

// refusal is what is left of a blocked text.
func (j *judgment) refusal(it *judgedItem) plugin.Outcome {
	text := cmp.Or(it.verdict.Message, "I cannot go on with this: a policy does not allow it.")
	out := plugin.Deny(text, j.reason())
	out.Emit[0].CustomMetadata = map[string]any{Key: j.note().value()}
	return out
}

// change makes the judgment's changes to a clone of the event, and returns what is emitted on it.
func (j *judgment) change(r *running, c *session.Event) (emit []*session.Event) {
	items := 0
	asks := map[string]session.Confirmation{}
	w := &walker{write: true, edit: j.rewrites(), unasked: j.unasked, made: func(call *genai.FunctionCall) bool { return r.made(j.event.Author, call.Name) }}
	var after []func() // once the walk is over, for it writes what a part has become after end
	w.end = func(it *item) {
		judged := j.items[items]
		items++
		switch {
		case it.call != nil:
			after = append(after, func() {
				if why := j.denies(r, judged, it.call); why != "" {
					emit = append(emit, j.denied(it.call, why))
				} else if judged.verdict.Action == Ask {
					asks[cmp.Or(it.call.ID, it.call.Name)] = session.Confirmation{Hint: cmp.Or(judged.verdict.Message, fmt.Sprintf("The policy's rule %s asks about this call of %s.", judged.verdict.Rule, it.call.Name))}
				}
			})
		case it.response != nil && judged.verdict.Action == Block:
			after = append(after, func() {
				it.response.Response = map[string]any{"error": cmp.Or(judged.verdict.Message, fmt.Sprintf("withheld: the policy's rule %s does not let the answer of %s pass; go on without it", judged.verdict.Rule, it.response.Name))}
				it.response.Parts = nil
			})
		case judged.stage == Summary && judged.verdict.Action == Block && len(cuts(nil, judged.verdict.Findings)) == 0:
			after = append(after, func() {
				c.Actions.Compaction.Content = genai.NewContentFromText("[a policy withholds this summary]", genai.RoleUser)
			})
		}
	}
	w.event(c, j.stage())
	for _, f := range after {
		f()
	}
	if len(asks) > 0 {
		ask := &session.Event{Actions: session.Actions{RequestedToolConfirmations: asks}, CustomMetadata: map[string]any{Key: j.note().value()}}
		emit = append(emit, ask)
	}
	return emit
}

// stage is that of what the event's author says.
func (j *judgment) stage() Stage { return stageOf(j.event) }

// reason says which rules have decided, for the log.
func (j *judgment) reason() string {
	var said []string
	for _, r := range j.records {
		what := fmt.Sprintf("%s: %s %s", r.Rule, r.Action, r.Type)
		if r.Would != "" {
			what = fmt.Sprintf("%s: would %s %s", r.Rule, r.Would, r.Type)
		}
		if r.Count > 1 {
			what += fmt.Sprintf(" (%d)", r.Count)
		}
		said = append(said, what)
	}
	return strings.Join(said, "; ")
}
