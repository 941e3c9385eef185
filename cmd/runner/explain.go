package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// explainer returns a trace that tells a person what each plugin did to what, and why.
func explainer(w io.Writer, plugins []*plugin.Plugin) func(runner.HookCall) {
	observer := map[string]bool{}
	for _, p := range plugins {
		observer[p.Name] = p.Observer
	}
	return func(c runner.HookCall) {
		did := strings.Join(c.Did(), ", ")
		if observer[c.Plugin] {
			did = cmp.Or(did, "observed")
		}
		did = cmp.Or(did, "nothing")
		if why := cmp.Or(c.Outcome.Reason, c.Outcome.Unchecked); why != "" {
			did += ": " + why
		}
		if c.Err != nil {
			did += ": " + c.Err.Error()
		}
		at := string(c.Hook) + " (session " + c.Key.String() + ")"
		if c.Event != nil {
			at = "event " + c.Event.ID + " (" + c.Event.Author + ": " + oneLine(strings.Join(doings(c.Event), ", "), 60) + ")"
		}
		fmt.Fprintf(w, "explain: %s: %s: %s\n", printable(at), c.Plugin, printable(did))
	}
}

// doings says in words what is in an event, its content left out.
func doings(e *session.Event) []string {
	var list []string
	add := func(is bool, what string) {
		if is {
			list = append(list, what)
		}
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.FunctionCall != nil:
				list = append(list, "calls "+p.FunctionCall.Name)
			case p.FunctionResponse != nil:
				list = append(list, "response of "+p.FunctionResponse.Name)
			case p.Thought:
				list = append(list, "thought")
			case p.Text != "":
				list = append(list, "text")
			default:
				list = append(list, "data")
			}
		}
	}
	add(e.ErrorCode != "", "error "+e.ErrorCode)
	add(len(e.Actions.StateDelta)+len(e.Actions.StateIncrement) > 0, "state")
	add(e.Actions.Compaction != nil, "compaction")
	add(e.Actions.Rewind != nil, "rewind")
	if len(list) == 0 {
		return []string{"no content"}
	}
	return list
}
