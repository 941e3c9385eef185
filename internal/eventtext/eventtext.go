// Package eventtext writes events for people: what is in one and what it does, a line each. What it returns cannot steer a
// terminal, but for Call, Response, Object and JSON, which return what is there.
//
// A new field of events that people are to see: a line in Lines.
package eventtext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// DeciderMark ends the names of the nodes that decide which edges with conditions of a runner.yaml lead on: each stands
// behind the node that the edges leave from, and has its name before the mark. A file gives no other node such a name.
const DeciderMark = "?"

// Lines says what is in an event and what it does, a line or a text of some for each thing.
func Lines(e *session.Event) []string {
	lines := contentLines(e.Content)
	add := func(format string, args ...any) { lines = append(lines, Printable(fmt.Sprintf(format, args...))) }
	if e.Interrupted && e.ErrorCode == "" {
		add("(interrupted)")
	}
	if e.ErrorCode != "" {
		add("(error %s)", Error(e))
	}
	for _, line := range nodeLines(e) {
		add("%s", line)
	}
	if c := e.Actions.Compaction; c != nil {
		except := ""
		if len(c.Keep) > 0 {
			except = fmt.Sprintf(", except %v", c.Keep)
		}
		add("compaction: stands for the events up to %d%s", c.Through, except)
		lines = append(lines, contentLines(c.Content)...)
	}
	if r := e.Actions.Rewind; r != nil {
		add("rewind to %d", r.To)
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		switch {
		case e.Author != session.User:
			add("asks whether call %s may go on%s", id, Because(c.Hint))
		case c.Confirmed:
			add("approves call %s", id)
		default:
			add("declines call %s", id)
		}
	}
	to := e.Actions.TransferToAgent
	if to != "" && !e.Marker() { // a summary repeats who goes on
		add("hands over to %s", to)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Actions.ArtifactDelta)) {
		add("saves %s, version %d", name, e.Actions.ArtifactDelta[name])
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateDelta)) {
		add("state %s = %s", key, JSON(e.Actions.StateDelta[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateIncrement)) {
		add("state %s + %v", key, e.Actions.StateIncrement[key])
	}
	for _, line := range noteLines(e) {
		add("%s", line)
	}
	return lines
}

// contentLines says what is in a content, part by part.
func contentLines(c *genai.Content) (lines []string) {
	if c == nil {
		return nil
	}
	add := func(format string, args ...any) { lines = append(lines, Printable(fmt.Sprintf(format, args...))) }
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			add("%s", Call(p.FunctionCall))
		case p.FunctionResponse != nil:
			add("%s", Response(p.FunctionResponse))
		case p.Text != "" && p.Thought:
			add("(thinks) %s", p.Text)
		case p.Text != "":
			add("%s", p.Text)
		case p.InlineData != nil:
			add("(%s, %d bytes)", p.InlineData.MIMEType, len(p.InlineData.Data))
		case p.FileData != nil:
			add("(%s, %s)", p.FileData.MIMEType, p.FileData.FileURI)
		default:
			add("%s", JSON(p))
		}
	}
	return lines
}

// nodeLines says which run of a workflow's node an event is of, and what the node hands on.
func nodeLines(e *session.Event) (lines []string) {
	if n := e.NodeInfo; n != nil {
		what := "of node " + n.Path
		if n.Ended {
			what = "ends node " + n.Path
		}
		if n.MessageAsOutput {
			what += ", whose output is the text"
		}
		if n.OutputOf != "" {
			what += ", whose output is that of " + n.OutputOf
		}
		lines = append(lines, what)
	}
	if e.Output != nil {
		lines = append(lines, "output "+JSON(e.Output))
	}
	if e.Actions.Route != nil {
		lines = append(lines, "route "+JSON(e.Actions.Route))
	}
	return lines
}

// noteLines says what plugins have noted on an event.
func noteLines(e *session.Event) (lines []string) {
	notes := plugin.NotesOf(e)
	if notes.Reason != "" && notes.Reason != e.ErrorMessage {
		lines = append(lines, fmt.Sprintf("(reason: %s)", notes.Reason))
	}
	for _, n := range notes.Changed {
		lines = append(lines, fmt.Sprintf("(changed by %s%s)", n.Plugin, Because(n.Reason)))
	}
	// A plugin that has failed in several hooks has one line, with all of them.
	var plugins []string
	hooks := map[string][]string{}
	for _, n := range notes.Unchecked {
		if !slices.Contains(plugins, n.Plugin) {
			plugins = append(plugins, n.Plugin)
		}
		what := strings.TrimPrefix(string(n.Hook)+Because(n.Reason), ": ")
		if what != "" {
			hooks[n.Plugin] = append(hooks[n.Plugin], what)
		}
	}
	for _, name := range plugins {
		lines = append(lines, fmt.Sprintf("(not checked by %s%s)", name, Because(strings.Join(hooks[name], ", "))))
	}
	return lines
}

// Error returns an event's error: its code, and its message. Messages often begin with the code, which is said once.
func Error(e *session.Event) string {
	message := strings.TrimPrefix(e.ErrorMessage, (&model.Error{Code: e.ErrorCode}).Error())
	return e.ErrorCode + Because(strings.TrimPrefix(message, ": "))
}

// Because returns ": " and the reason, "" if there is none.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Call says what a call calls, with its arguments. What models write in it is as it is.
func Call(c *genai.FunctionCall) string { return "calls " + c.Name + " " + Object(c.Args) }

// Response says what a call has answered. What tools write in it is as it is.
func Response(r *genai.FunctionResponse) string {
	return "response of " + r.Name + " " + Object(r.Response)
}

// Object returns a call's arguments, or its response, as JSON on one line. None is an empty object.
func Object(object map[string]any) string {
	if len(object) == 0 {
		return "{}"
	}
	return JSON(object)
}

// JSON returns a value as JSON on one line, its keys sorted, and numbers as they are, also beyond 2^53. A value that cannot
// be JSON is written as fmt.Sprint does.
func JSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Printable returns text with U+FFFD for the control characters that could steer a terminal: models and tools write what
// they like. Line feeds and tabs stay.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// OneLine returns printable text on one line, cut to width characters.
func OneLine(text string, width int) string {
	text = strings.Join(strings.Fields(Printable(text)), " ")
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}
