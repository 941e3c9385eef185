// Package retry is a plugin that tells the model about a tool's failure. It adds the number of the
// attempt, the arguments that failed, and what to do now to the response {"error": …}. A tool that
// has failed as often as it may in one invocation is not executed again in that invocation: the
// plugin answers further calls.
//
// The plugin has no state of its own. It counts the failed responses that the live view has of the
// invocation. So it goes on counting in another process, and does not count what a rewind voids, or
// what a compaction in the middle of an invocation covers. The next invocation begins at zero.
//
// These are not failures: a response that a plugin gives in place of a tool, a denial by policy
// (session.Denied), a human's refusal ("declined"), and the response to a call that an earlier run
// has left open ("interrupted"). What a workflow calls for a node is left alone, since no model reads
// the response: the node says how often it is tried.
//
// A new kind of response that counts as no failure: the function that tells failures in retry.go.
package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says which tools may fail how often. The zero Config is valid.
type Config struct {
	Max   int      `yaml:"max" json:"max,omitempty" jsonschema:"how often a tool may fail in one invocation; after that it is not executed again in the invocation; 3 if not set"`
	Tools []string `yaml:"tools" json:"tools,omitempty" jsonschema:"the names of the tools that the plugin watches; all if not set"`
}

// Key is the key that the plugin adds to a failed response. Its value is an object with attempt,
// max, args and guidance.
const Key = "retry"

// New returns the plugin, named "retry", or an error if the configuration is invalid. Put it after
// plugins that deny calls or change responses.
func New(c Config) (*plugin.Plugin, error) {
	if c.Max < 0 {
		return nil, fmt.Errorf("retry: max is %d; it must be how often a tool may fail, at least 1", c.Max)
	}
	if slices.Contains(c.Tools, "") {
		return nil, errors.New("retry: tools has an empty name")
	}
	r := retry{Config: c}
	r.Max = cmp.Or(r.Max, 3)
	return &plugin.Plugin{
		Name:     "retry",
		Doc:      "Tells the model about a tool's failure, and bounds the attempts.",
		Partials: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			// A workflow calls the tool of a node by itself, as often as the node's own attempts say.
			if e.Partial || e.Content == nil || e.FromWorkflow() {
				return plugin.Outcome{}, nil
			}
			out := r.reflect(inv, e)
			r.answer(inv, e, &out)
			return out, nil
		},
	}, nil
}

type retry struct{ Config }

func (r *retry) about(tool string) bool { return len(r.Tools) == 0 || slices.Contains(r.Tools, tool) }

// reflect answers a replacement for an event in which tools have failed.
func (r *retry) reflect(inv *session.Invocation, e *session.Event) (out plugin.Outcome) {
	var args map[int]map[string]any
	counts := map[string]int{}
	for i, p := range e.Content.Parts {
		if !failed(e, p) || !r.about(p.FunctionResponse.Name) {
			continue
		}
		if args == nil {
			args = argsOf(inv, e)
		}
		name := p.FunctionResponse.Name
		if counts[name] == 0 {
			counts[name] = failures(inv, e, name)
		}
		counts[name]++
		reflected := maps.Clone(p.FunctionResponse.Response)
		reflected[Key] = r.note(name, counts[name], args[i])
		if reflect.DeepEqual(reflected, p.FunctionResponse.Response) {
			continue // it was played from a record
		}
		if out.Replace == nil {
			out.Replace = e.Clone()
		}
		out.Replace.Content.Parts[i].FunctionResponse.Response = reflected
		out.Reason = fmt.Sprintf("%s has failed, attempt %d of %d", name, counts[name], r.Max)
	}
	return out
}

// note is what the model is told about a failure. Its values are as JSON's are once they were read.
func (r *retry) note(name string, attempt int, args map[string]any) map[string]any {
	note := map[string]any{
		"attempt": float64(attempt),
		"max":     float64(r.Max),
		"guidance": fmt.Sprintf(
			"Read the error. If the arguments may be its cause, call %s again with better ones; the same call again is of use only if the error may pass. Otherwise go on without it.", name),
	}
	if attempt >= r.Max {
		note["guidance"] = fmt.Sprintf("This was the last attempt: do not call %s again now. Go on without it, and say what could not be done.", name)
	}
	if len(args) > 0 {
		note["args"] = args
	}
	return note
}

// answer answers, in the tools' place, the calls of an event to tools that may not be executed
// again.
func (r *retry) answer(inv *session.Invocation, e *session.Event, out *plugin.Outcome) {
	for _, p := range e.Content.Parts {
		if p == nil || p.FunctionCall == nil || !r.about(p.FunctionCall.Name) {
			continue
		}
		name := p.FunctionCall.Name
		if n := failures(inv, e, name); n >= r.Max {
			refused := session.Respond(p.FunctionCall, map[string]any{
				"error": fmt.Sprintf("not executed: %s has failed %d times in this run, and may not be called again in it; go on without it, and say what could not be done", name, n)})
			out.Emit = append(out.Emit, refused)
			out.Reason = fmt.Sprintf("%s has failed %d times, and %d is the limit", name, n, r.Max)
		}
	}
}

// failures counts how often a tool has failed in the invocation before the event.
func failures(inv *session.Invocation, before *session.Event, tool string) (n int) {
	for _, e := range inv.Live {
		if e.InvocationID != inv.ID || e.ID == before.ID || e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			if failed(e, p) && p.FunctionResponse.Name == tool {
				n++
			}
		}
	}
	return n
}

// failed reports whether a part of the event is the response of a tool that has failed.
func failed(e *session.Event, p *genai.Part) bool {
	if p == nil || p.FunctionResponse == nil || e.ErrorCode == session.Denied || e.FromWorkflow() {
		return false
	}
	if _, emitted := e.Plugin(); emitted {
		return false
	}
	r := p.FunctionResponse.Response
	return r["error"] != nil && r["declined"] != true && r["interrupted"] != true
}

// argsOf returns the arguments of the calls that the event's parts answer, by the part's number.
func argsOf(inv *session.Invocation, e *session.Event) map[int]map[string]any {
	args := map[int]map[string]any{}
	var calls []session.Call // that it answers
	for _, c := range session.Calls(append(slices.Clone(inv.Live), e)) {
		if c.Response == e {
			calls = append(calls, c)
		}
	}
	for i, p := range e.Content.Parts {
		if p == nil || p.FunctionResponse == nil {
			continue
		}
		at := slices.IndexFunc(calls, func(c session.Call) bool {
			return c.ID == p.FunctionResponse.ID && c.Name == p.FunctionResponse.Name
		})
		if at >= 0 {
			args[i] = calls[at].Args
			calls = slices.Delete(calls, at, at+1)
		}
	}
	return args
}
