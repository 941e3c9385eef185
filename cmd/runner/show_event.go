package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// eventLines says what is in an event and what it does.
func eventLines(e *session.Event) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, printable(fmt.Sprintf(format, args...))) }
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.FunctionCall != nil:
				add("calls %s %s", p.FunctionCall.Name, objectText(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				add("response of %s %s", p.FunctionResponse.Name, objectText(p.FunctionResponse.Response))
			case p.Text != "" && p.Thought:
				add("(thinks) %s", p.Text)
			case p.Text != "":
				add("%s", p.Text)
			case p.InlineData != nil:
				add("(%s, %d bytes)", p.InlineData.MIMEType, len(p.InlineData.Data))
			case p.FileData != nil:
				add("(%s, %s)", p.FileData.MIMEType, p.FileData.FileURI)
			default:
				add("%s", compact(p))
			}
		}
	}
	if e.ErrorCode != "" {
		add("(error %s)", errorText(e))
	}
	if c := e.Actions.Compaction; c != nil {
		but := ""
		if len(c.Keep) > 0 {
			but = fmt.Sprintf(", but for %v", c.Keep)
		}
		add("compaction: stands for the events up to %d%s", c.Through, but)
		if c.Content != nil {
			lines = append(lines, eventLines(&session.Event{Content: c.Content})...)
		}
	}
	if r := e.Actions.Rewind; r != nil {
		add("rewind to %d", r.To)
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		switch c := e.Actions.RequestedToolConfirmations[id]; {
		case e.Author != session.User:
			add("asks whether call %s may go on%s", id, because(c.Hint))
		case c.Confirmed:
			add("approves call %s", id)
		default:
			add("declines call %s", id)
		}
	}
	if to := e.Actions.TransferToAgent; to != "" && !e.Marker() { // a summary says who goes on
		add("hands over to %s", to)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Actions.ArtifactDelta)) {
		add("saves %s, version %d", name, e.Actions.ArtifactDelta[name])
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateDelta)) {
		add("state %s = %s", key, compact(e.Actions.StateDelta[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateIncrement)) {
		add("state %s + %v", key, e.Actions.StateIncrement[key])
	}
	notes := plugin.NotesOf(e)
	if notes.Reason != "" && notes.Reason != e.ErrorMessage {
		add("(reason: %s)", notes.Reason)
	}
	for _, n := range notes.Changed {
		add("(changed by %s%s)", n.Plugin, because(n.Reason))
	}
	for i, n := range notes.Unchecked {
		sameAs := func(other plugin.Note) bool { return other.Plugin == n.Plugin }
		if slices.ContainsFunc(notes.Unchecked[:i], sameAs) {
			continue // the first line about the plugin has all of its hooks
		}
		var hooks []string
		for _, n := range slices.DeleteFunc(slices.Clone(notes.Unchecked), func(n plugin.Note) bool { return !sameAs(n) }) {
			if what := strings.TrimPrefix(string(n.Hook)+because(n.Reason), ": "); what != "" {
				hooks = append(hooks, what)
			}
		}
		add("(not checked by %s%s)", n.Plugin, because(strings.Join(hooks, ", ")))
	}
	return lines
}

// errorText returns an event's error: its code, and its message, which often begins with the code too.
func errorText(e *session.Event) string {
	message := strings.TrimPrefix(e.ErrorMessage, (&model.Error{Code: e.ErrorCode}).Error())
	return e.ErrorCode + because(strings.TrimPrefix(message, ": "))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// objectText returns a call's arguments or response; none is an empty object.
func objectText(object map[string]any) string {
	if len(object) == 0 {
		return "{}"
	}
	return compact(object)
}

// compact returns a value as JSON on one line, integers beyond 2^53 included.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
