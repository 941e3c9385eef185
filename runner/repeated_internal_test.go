package runner

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// What became of an invocation is told by its events, and by those of others that answer its calls.
func TestOutcomeOf(t *testing.T) {
	// An event of the invocation "first", of which the input begins, by an agent.
	by := func(e *session.Event, change ...func(*session.Event)) *session.Event {
		e.InvocationID = "first"
		e.Author = "bot"
		for _, f := range change {
			f(e)
		}
		return e
	}
	later := func(e *session.Event) { e.InvocationID = "second" }
	in := func(branch string) func(*session.Event) { return func(e *session.Event) { e.Branch = branch } }
	node := func(path string, ended bool) func(*session.Event) {
		return func(e *session.Event) { e.NodeInfo = &session.NodeInfo{Path: path, Ended: ended} }
	}
	input := func(change ...func(*session.Event)) *session.Event {
		e := session.Message("hi")
		e.ID = "input"
		e.InvocationID = "first"
		for _, f := range change {
			f(e)
		}
		return e
	}
	call := &genai.FunctionCall{ID: "1", Name: "tool"}
	calls := func(change ...func(*session.Event)) *session.Event {
		parts := []*genai.Part{{FunctionCall: call}}
		return by(
			&session.Event{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}},
			change...)
	}
	responds := func(change ...func(*session.Event)) *session.Event {
		return by(session.Respond(call, map[string]any{"ok": true}), change...)
	}
	answers := func(change ...func(*session.Event)) *session.Event { return by(session.Reply("hello"), change...) }
	brokenOff := func(e *session.Event) { e.Interrupted = true }
	byPlugin := func(e *session.Event) { e.Author = session.PluginPrefix + "p" }
	cancels := func(e *session.Event) {
		e.Author = session.User
		e.Interrupted = true
		e.ErrorCode = session.Cancelled
	}
	stops := func(e *session.Event) { *e = *plugin.Notes{Stopped: "p"}.With(e) }
	notes := func(e *session.Event) { e.Content.Role = genai.RoleUser }
	command := func(e *session.Event) {
		made := session.Command{Name: "compact"}.Event()
		e.Content = nil
		e.CustomMetadata = made.CustomMetadata
	}
	changesState := func(e *session.Event) {
		e.Content = nil
		e.Actions.StateDelta = map[string]any{"a": 1.0}
	}
	holds := func(e *session.Event) {
		e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"1": {Hint: "sure?"}}
	}

	for name, c := range map[string]struct {
		events []*session.Event
		want   outcomeKind
	}{
		"nothing has followed":              {[]*session.Event{input()}, unfinished},
		"an agent has answered":             {[]*session.Event{input(), answers()}, finished},
		"a plugin has answered":             {[]*session.Event{input(), answers(byPlugin)}, finished},
		"a plugin has noted something":      {[]*session.Event{input(), answers(byPlugin, notes)}, unfinished},
		"another invocation has answered":   {[]*session.Event{input(), answers(later)}, unfinished},
		"the answer has broken off":         {[]*session.Event{input(), answers(brokenOff)}, unfinished},
		"it was given again after that":     {[]*session.Event{input(), answers(brokenOff), answers()}, finished},
		"it was given above the branch":     {[]*session.Event{input(), answers(brokenOff, in("a.b")), answers(in("a"))}, finished},
		"it was given in another branch":    {[]*session.Event{input(), answers(brokenOff, in("ab")), answers(in("a"))}, unfinished},
		"a call is open":                    {[]*session.Event{input(), calls()}, unfinished},
		"nothing was made of a response":    {[]*session.Event{input(), calls(), responds()}, unfinished},
		"something was made of it":          {[]*session.Event{input(), calls(), responds(), answers()}, finished},
		"of it in another branch":           {[]*session.Event{input(), calls(in("a")), responds(in("a")), answers()}, unfinished},
		"a call waits for a human":          {[]*session.Event{input(), calls(holds)}, finished},
		"a run in between has responded":    {[]*session.Event{input(), answers(), calls(), responds(later)}, unfinished},
		"a node's end is an answer":         {[]*session.Event{input(), answers(node("w@mon", true))}, finished},
		"a workflow is open":                {[]*session.Event{input(), answers(node("w@mon/n@1", true))}, unfinished},
		"the user has cancelled":            {[]*session.Event{input(), answers(), answers(cancels)}, wasCancelled},
		"the cancel names the input":        {[]*session.Event{answers(cancels)}, wasCancelled},
		"a plugin has stopped at the input": {[]*session.Event{input(stops)}, finished},
		"a plugin has stopped at a call":    {[]*session.Event{input(), calls(stops)}, finished},
		"the input was withheld":            {[]*session.Event{answers(byPlugin, notes)}, finished},
		"a command was carried out":         {[]*session.Event{input(command), answers(byPlugin, changesState)}, finished},
	} {
		t.Run(name, func(t *testing.T) {
			before := answers(func(e *session.Event) { e.InvocationID = "before" })
			live := append([]*session.Event{before}, c.events...)
			for i, e := range live {
				e.Seq = int64(i + 1)
			}
			o := outcomeOf(live, 1, "input")
			require.Equal(t, c.want, o.kind)
			var own []*session.Event
			for _, e := range c.events {
				if e.InvocationID == "first" {
					own = append(own, e)
				}
			}
			require.Equal(t, own, o.events, "the caller is told what there is of the invocation")
		})
	}
}
