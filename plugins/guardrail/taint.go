package guardrail

import (
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/provider"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// taintKey is the key in the session's state that lists the tools that the policy does not trust
// and whose answers the session has. In the state it outlasts a compaction, and a rewind takes it
// back. It begins with the plugin's name, so the runner lets nobody else write it.
func (g *guard) taintKey() string { return g.Name + ":taint" }

// taintOf returns the tools that the state lists.
func (g *guard) taintOf(state map[string]any) (names []string) {
	list, _ := state[g.taintKey()].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// toolsIn returns the names of the tools whose answers an event has: of the program's, and of those
// that a model's provider runs. An answer of the provider's in what a caller writes is none.
func toolsIn(e *session.Event) (names []string) {
	if e.Author == session.User {
		for _, r := range e.FunctionResponses() {
			names = append(names, r.Name)
		}
		return names
	}
	if e.GroundingMetadata != nil && len(e.GroundingMetadata.GroundingChunks) > 0 {
		names = append(names, provider.Search)
	}
	if e.Content == nil {
		return names
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil:
		case p.FunctionResponse != nil:
			names = append(names, p.FunctionResponse.Name)
		case p.ToolResponse != nil:
			names = append(names, string(p.ToolResponse.ToolType))
		case p.CodeExecutionResult != nil:
			names = append(names, provider.Code)
		}
	}
	return names
}

// toolsThatRan returns the names of the tools whose answers an event has, but for calls that a
// human has declined: nobody ran them, and the answer is the agent's.
func (ev *evaluation) toolsThatRan(e *session.Event) []string {
	names := toolsIn(e)
	declined := func(r *genai.FunctionResponse) bool { return r.Response["declined"] == true }
	if !ev.policy.taints && !ev.policy.flows || !slices.ContainsFunc(e.FunctionResponses(), declined) {
		return names
	}
	for _, c := range session.Calls(append(slices.Clip(ev.inv.Live), e)) {
		if c.Response == e && declined(c.Result) && c.Held != nil && c.Decision != nil && !c.Approved() {
			i := slices.Index(names, c.Result.Name)
			names = slices.Delete(names, i, i+1)
		}
	}
	return names
}

// taint notes that the event, or the stream that it ends, has answers of tools. It comes before
// anything is judged: what an answer says may be in a text that stands before it, for a provider
// puts the two in any order.
func (ev *evaluation) taint(tools []string) {
	if !ev.policy.taints {
		return
	}
	for _, name := range tools {
		if !ev.policy.Trusts(name) && !slices.Contains(ev.scope.Taint, name) {
			ev.scope.Taint = append(ev.scope.Taint, name)
			ev.tainted = true
		}
	}
}

// taintAfter returns the state's list after the event. The name of a tool that was edited is the
// edited one.
func (ev *evaluation) taintAfter(before, after *session.Event) []any {
	names := toolsIn(&session.Event{Author: before.Author, Content: before.Content})
	edited := toolsIn(&session.Event{Author: after.Author, Content: after.Content})
	list := make([]any, len(ev.scope.Taint))
	for i, name := range ev.scope.Taint {
		list[i] = name
		n := slices.Index(names, name)
		if n >= 0 {
			list[i] = edited[n]
		}
	}
	return list
}

// scopeOfLater returns the scope that a stream will have if answers of the provider's tools come in
// it; false if these would not change the scope.
func (ev *evaluation) scopeOfLater() (policy.Scope, bool) {
	later := *ev
	later.scope.Taint = slices.Clone(ev.scope.Taint)
	later.tainted = false
	later.taint(provider.Tools())
	more := ev.seenLater(&later.scope)
	return later.scope, later.tainted || more
}
