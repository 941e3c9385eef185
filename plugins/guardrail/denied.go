package guardrail

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// denies returns what a model is told about a call that is not to be made, "" if it is.
func (j *judgment) denies(r *running, it *judgedItem, call *genai.FunctionCall) string {
	switch {
	case it.verdict.Action == Block:
		return cmp.Or(it.verdict.Message, fmt.Sprintf("not executed: the policy's rule %s does not allow this call of %s; go on without it, or call it in a way that the rule allows", it.verdict.Rule, call.Name))
	case it.key:
		return fmt.Sprintf("not executed: the policy's rule %s takes out the name of the function or of an argument; use other names", it.verdict.Rule)
	case it.edited:
		if err := r.fits(j.event.Author, call, it.args); err != nil {
			return fmt.Sprintf("not executed: the policy's rule %s takes %s out of the arguments, and without it they are not what %s takes: %v; leave it out, or use something else", hiding(it.verdict.Findings), typesOf(it.verdict.Findings), call.Name, err)
		}
	}
	return ""
}

// denied is the answer to a call that is not to be made.
func (j *judgment) denied(call *genai.FunctionCall, why string) *session.Event {
	e := session.Respond(call, map[string]any{"error": why})
	e.ErrorCode, e.ErrorMessage = session.Denied, j.reason()
	e.CustomMetadata = map[string]any{Key: j.note().value()}
	return e
}

// hiding names the first rule that hides something.
func hiding(findings []Finding) string {
	for _, f := range findings {
		if f.Action.hides() {
			return f.Rule
		}
	}
	return ""
}

// typesOf names what was found.
func typesOf(findings []Finding) string {
	var names []string
	seen := map[string]bool{}
	for _, f := range findings {
		if f.Action.hides() && !seen[f.Type] {
			seen[f.Type] = true
			names = append(names, f.Type)
		}
	}
	return strings.Join(names, ", ")
}
