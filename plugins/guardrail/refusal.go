package guardrail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// endsRun reports whether the item is blocked, and the run ends for that.
func (it *evaluatedItem) endsRun() bool { return it.verdict.Action == policy.Block && it.mayEndRun() }

// mayEndRun reports whether the run ends if the item is blocked. Calls and answers of tools are
// answered instead, and summaries replaced.
func (it *evaluatedItem) mayEndRun() bool {
	return it.Call == nil && it.Response == nil && it.Stage != policy.Summary
}

// refusal is what is said in the place of a blocked text.
func (ev *evaluation) refusal(it *evaluatedItem) plugin.Outcome {
	text := withOrigin(&it.verdict, cmp.Or(it.verdict.Message, "I cannot go on with this: a policy does not allow it."))
	out := plugin.Deny(text, ev.reason())
	out.Emit[0].CustomMetadata = map[string]any{Key: ev.note().value()}
	return out
}

// mayStopCall reports whether the item is a call that is denied, or about which a human is asked. Of a call
// whose arguments are edited that is not known yet.
func (it *evaluatedItem) mayStopCall() bool {
	return it.Call != nil && (it.verdict.Action == policy.Block || it.asks() || it.edited)
}

// approves reports whether the policy approves all calls of the event, so that nobody need be asked about them.
func (ev *evaluation) approves() bool {
	calls := 0
	for _, it := range ev.items {
		if it.Call == nil {
			continue
		}
		if it.verdict.Action != policy.Approve || it.asks() {
			return false
		}
		calls++
	}
	return calls > 0 && ev.err == nil
}

// whyApproved names the rule that approves.
func (ev *evaluation) whyApproved() string {
	for _, r := range ev.records {
		if r.Action == policy.Approve {
			return "The policy's rule " + r.Rule + " approves it."
		}
	}
	return ""
}

// question asks a human about calls. shown has the declarations that the human is shown, by the calls' ids.
func (ev *evaluation) question(asks map[string]session.Confirmation, shown map[string]string) *session.Event {
	n := ev.note()
	n.Shown = shown
	return &session.Event{
		Actions:        session.Actions{RequestedToolConfirmations: asks},
		CustomMetadata: map[string]any{Key: n.value()},
	}
}

// hint is what a human who is asked about the item, a call, is told.
func (it *evaluatedItem) hint() string {
	var said []string
	if it.verdict.Action == policy.Ask {
		said = append(said, hintOf(&it.verdict, it.Call.Name))
	}
	if it.unpinned != nil {
		said = append(said, pinHint(it.unpinned))
	}
	return strings.Join(said, "\n")
}

// whyDenied returns what a model is told about a call that is not to be made, "" if it may be.
func (ev *evaluation) whyDenied(ctx context.Context, r *runState, it *evaluatedItem,
	call *genai.FunctionCall) string {
	v := &it.verdict
	switch {
	case v.Action == policy.Block:
		return withOrigin(v, cmp.Or(v.Message, fmt.Sprintf("not executed: the policy's rule %s does not allow this call of %s; go on without it, or call it in a way that the rule allows", v.Rule, call.Name)))
	case it.keyEdited:
		return fmt.Sprintf("not executed: the policy's rule %s takes out the name of the function or of an argument; use other names", v.Rule)
	case it.edited:
		err := r.fits(ctx, ev.event.Author, call, it.Args)
		if err != nil {
			rule, types := hiddenBy(v.Findings)
			return fmt.Sprintf("not executed: the policy's rule %s takes %s out of the arguments, and without it they are not what %s takes: %v; leave it out, or use something else", rule, types, call.Name, err)
		}
	}
	return ""
}

// withOrigin returns what is said about a verdict, with where the data came from if its rule is about a flow.
func withOrigin(v *policy.Verdict, said string) string {
	if v.Origin == "" {
		return said
	}
	return said + " " + v.Origin
}

// denial is the answer to a call that is not to be made.
func (ev *evaluation) denial(call *genai.FunctionCall, why string) *session.Event {
	e := session.Respond(call, map[string]any{"error": why})
	e.ErrorCode = session.Denied
	e.ErrorMessage = ev.reason()
	e.CustomMetadata = map[string]any{Key: ev.note().value()}
	return e
}

// hiddenBy returns the first rule that hides something, and the types of all that is hidden.
func hiddenBy(findings []policy.Finding) (rule, types string) {
	var names []string
	for _, f := range findings {
		if !f.Action.Hides() {
			continue
		}
		rule = cmp.Or(rule, f.Rule)
		if !slices.Contains(names, f.Type) {
			names = append(names, f.Type)
		}
	}
	return rule, strings.Join(names, ", ")
}
