package printer

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Explain returns a Runner's trace that writes what each plugin did to what, and why, a line each.
func Explain(w io.Writer, plugins []*plugin.Plugin) func(runner.HookCall) {
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
		subject := string(c.Hook) + " (session " + c.Key.String() + ")"
		if c.Event != nil {
			kinds := eventtext.OneLine(strings.Join(contents(c.Event), ", "), 60)
			subject = "event " + c.Event.ID + " (" + c.Event.Author + ": " + kinds + ")"
		}
		fmt.Fprintf(w, "explain: %s: %s: %s\n", eventtext.Printable(subject), c.Plugin, eventtext.Printable(did))
	}
}

// contents lists the kinds of what an event contains: "text", "call of a tool". It quotes nothing, not even the name
// of a tool or an error code: a model may have made these up, and a later plugin may redact them.
func contents(e *session.Event) []string {
	var list []string
	add := func(is bool, what string) {
		if is {
			list = append(list, what)
		}
	}
	for _, p := range e.Parts() {
		switch {
		case p.FunctionCall != nil:
			list = append(list, "call of a tool")
		case p.FunctionResponse != nil:
			list = append(list, "response of a tool")
		case p.Thought:
			list = append(list, "thought")
		case p.Text != "":
			list = append(list, "text")
		default:
			list = append(list, "data")
		}
	}
	add(e.ErrorCode != "", "error")
	add(len(e.Actions.StateDelta)+len(e.Actions.StateIncrement) > 0, "state")
	add(e.Output != nil, "output")
	add(e.Actions.Route != nil, "route")
	add(e.NodeInfo != nil && e.NodeInfo.Ended, "end of a node")
	add(e.Actions.Compaction != nil, "compaction")
	add(e.Actions.Rewind != nil, "rewind")
	if len(list) == 0 {
		return []string{"no content"}
	}
	return list
}
