package guardrail

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// taintKey is the key in the session's state that lists the tools that are not trusted whose answers it has. It is in
// the state, so that a compaction does not take it away, and a rewind does.
const taintKey = "guardrail:taint"

func taintOf(state map[string]any) (names []string) {
	list, _ := state[taintKey].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// answering returns the names of the tools whose answers an event has: of the program's, and of those that a model's
// provider runs.
func answering(e *session.Event) (names []string) {
	if e.GroundingMetadata != nil && len(e.GroundingMetadata.GroundingChunks) > 0 {
		names = append(names, searchTool)
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
			names = append(names, codeTool)
		}
	}
	return names
}

// ran returns the names of the tools whose answers an event has, but for calls to which a human has said no: nobody ran them,
// and the answer is the agent's.
func (j *judgment) ran(e *session.Event) []string {
	names := answering(e)
	no := func(r *genai.FunctionResponse) bool { return r.Response["declined"] == true }
	if !j.policy.taints || !slices.ContainsFunc(e.FunctionResponses(), no) {
		return names
	}
	for _, c := range session.Calls(append(slices.Clip(j.inv.Live), e)) {
		if c.Response == e && no(c.Result) && c.Held != nil && c.Decision != nil && !c.Approved() {
			i := slices.Index(names, c.Result.Name)
			names = slices.Delete(names, i, i+1)
		}
	}
	return names
}

// sees notes that the event at hand, or the stream that it ends, has the answers of tools. It is before anything is judged:
// what an answer says may be in what stands before it, for nobody knows in which order a provider puts the two.
func (j *judgment) sees(names []string) {
	if !j.policy.taints {
		return
	}
	for _, name := range names {
		if !j.policy.trusts(name) && !slices.Contains(j.scope.Taint, name) {
			j.scope.Taint, j.tainted = append(j.scope.Taint, name), true
		}
	}
}

// taints returns what the state says after an event that has become another: a name that was edited is what it has become.
func (j *judgment) taints(was, is *session.Event) []any {
	names, edited := answering(&session.Event{Content: was.Content}), answering(&session.Event{Content: is.Content})
	list := make([]any, len(j.scope.Taint))
	for i, name := range j.scope.Taint {
		list[i] = name
		if n := slices.Index(names, name); n >= 0 {
			list[i] = edited[n]
		}
	}
	return list
}

// providers are the names of what a model's provider may answer with, in the event that it makes of a stream.
var providers = []string{searchTool, codeTool, string(genai.ToolTypeGoogleSearchWeb), string(genai.ToolTypeGoogleSearchImage), string(genai.ToolTypeURLContext),
	string(genai.ToolTypeGoogleMaps), string(genai.ToolTypeFileSearch)}

// maybe returns the scope that a stream has if answers are in it that are still to come; false if there are none that
// would change it.
func (j *judgment) maybe() (Scope, bool) {
	later := *j
	later.scope.Taint, later.tainted = slices.Clone(j.scope.Taint), false
	later.sees(providers)
	return later.scope, later.tainted
}

// stateWord begins the keys in the state that are this plugin's alone, after "user:" or "app:" if they have that.
const stateWord = "guardrail:"

// owned reports whether a key in the state is this plugin's alone.
func owned(key string) bool {
	key = strings.TrimPrefix(strings.TrimPrefix(key, session.UserPrefix), session.AppPrefix)
	return strings.HasPrefix(key, stateWord)
}

// forges reports whether an event would change what is this plugin's alone.
func forges(e *session.Event) bool {
	for key := range e.Actions.StateDelta {
		if owned(key) {
			return true
		}
	}
	for key := range e.Actions.StateIncrement {
		if owned(key) {
			return true
		}
	}
	return false
}

// disown takes what is this plugin's alone out of what an event does.
func disown(a *session.Actions) {
	maps.DeleteFunc(a.StateDelta, func(key string, _ any) bool { return owned(key) })
	maps.DeleteFunc(a.StateIncrement, func(key string, _ float64) bool { return owned(key) })
}
