package llm

import (
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// pair finds the responses to the agent's own calls. A second response to a call (of a long-running tool
// that had answered with a status at first) is told where it stands.
func (b *builder) pair(inv *session.Invocation) {
	for _, c := range session.Calls(inv.Live) { // of all branches: a user answers outside of them
		if c.Response == nil || !agent.Sees(b.host.Branch, c.Event.Branch) || !b.ownTurn(c.Event) {
			continue
		}
		b.answers[c.FunctionCall], b.used[c.Result] = c, true
	}
}

// turnOfModel begins the turn at a position: the model is told which of its calls were answered since its last one, if they
// are not of that one, for their answers stand further up. And it sees to it that the model speaks to somebody: providers
// refuse calls that do not follow a user's content or a function's response.
func (b *builder) turnOfModel(at int64) {
	parts := []*genai.Part{{Text: "For context:"}}
	for _, c := range b.answered {
		if c.Event.Seq < b.turnAt && b.turnAt < c.Response.Seq && c.Response.Seq < at {
			parts = append(parts, &genai.Part{Text: fmt.Sprintf("Your earlier call of %s (id %s) has been answered: the response stands with the call.", c.Name, c.ID)})
		}
	}
	b.answered = slices.DeleteFunc(b.answered, func(c session.Call) bool { return c.Response.Seq < at }) // told by now, or at once
	n := len(b.contents)
	switch {
	case len(parts) > 1:
		b.told(append(parts, &genai.Part{Text: "Go on from there."})...)
	case n == 0 || b.contents[n-1].Role == genai.RoleModel:
		b.told(parts[0], &genai.Part{Text: "Nothing new was said. Go on with what you were told to do."})
	}
}
