package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// most is how many entries each list of a line has at most.
const most = 256

var names = regexp.MustCompile(`^[\pL\pN._:/@+$-]{0,128}$`)

// name returns a name that a model or a client has chosen, or its length if it could be more than a name.
func name(s string) string {
	if names.MatchString(s) {
		return s
	}
	return fmt.Sprintf("(%d bytes)", len(s))
}

// reason returns the beginning of a reason.
func reason(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "")
}

// event says what an event is.
func (l *line) event(e *session.Event) {
	l.Time, l.ID, l.Author, l.Branch = e.Timestamp.UTC(), name(e.ID), name(e.Author), name(e.Branch)
	if e.InvocationID != "" { // a record that is restored names its own
		l.Invocation = name(e.InvocationID)
	}
	if c, ok := e.Command(); ok {
		l.Command = name(c.Name)
	}
	n := plugin.NotesOf(e)
	l.notes(n)
	l.decided(e, n)
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			l.part(p)
		}
	}
	l.actions(e.Actions)
	l.Error, l.FinishReason, l.Interrupted, l.Model = name(e.ErrorCode), name(string(e.FinishReason)), e.Interrupted, name(e.ModelVersion)
	if u := e.UsageMetadata; u != nil {
		l.Tokens = tokens{u.PromptTokenCount, u.CachedContentTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.ToolUsePromptTokenCount, u.TotalTokenCount}
	}
	l.Calls, l.Responses, l.Media = first(l, l.Calls), first(l, l.Responses), first(l, l.Media)
	l.State, l.Confirmations = first(l, l.State), first(l, l.Confirmations)
}

// first returns the first entries of a list, and counts those that it leaves out.
func first[T any](l *line, list []T) []T {
	if len(list) > most {
		l.More += len(list) - most
		return list[:most]
	}
	return list
}

// notes says what plugins did to the event. Why one failed is an error's text, and left out.
func (l *line) notes(n plugin.Notes) {
	l.Agent, l.Reason = name(n.Agent), reason(n.Reason)
	for _, c := range first(l, n.Changed) {
		l.Changed = append(l.Changed, plugin.Note{Plugin: name(c.Plugin), Reason: reason(c.Reason)})
	}
	for _, c := range first(l, n.Unchecked) {
		l.Unchecked = append(l.Unchecked, plugin.Note{Plugin: name(c.Plugin), Hook: plugin.Hook(name(string(c.Hook)))})
	}
}

func (l *line) part(p *genai.Part) {
	switch {
	case p == nil:
	case p.FunctionCall != nil:
		l.Calls = append(l.Calls, call{Name: name(p.FunctionCall.Name), ID: name(p.FunctionCall.ID), Size: size(p.FunctionCall.Args)})
	case p.FunctionResponse != nil:
		r := p.FunctionResponse
		_, failed := r.Response["error"]
		l.Responses = append(l.Responses, call{Name: name(r.Name), ID: name(r.ID), Size: size(r.Response), Fail: failed})
	case p.InlineData != nil:
		l.Media = append(l.Media, media{Type: kind(p.InlineData.MIMEType), Size: len(p.InlineData.Data)})
	case p.FileData != nil:
		l.Media = append(l.Media, media{Type: kind(p.FileData.MIMEType), Link: true})
	case p.Text != "" && p.Thought:
		l.Thoughts += len(p.Text)
	case p.Text != "":
		l.Text += len(p.Text)
	case p.ExecutableCode != nil, p.CodeExecutionResult != nil:
		l.Others++
	}
}

// kind returns a MIME type without its parameters.
func kind(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	return name(mime)
}

// size returns how long a value is as JSON; 0 if there is nothing in it, for the log does not tell empty from none.
func size(v map[string]any) int {
	if len(v) == 0 {
		return 0
	}
	data, err := json.Marshal(v)
	if err != nil { // then it cannot be appended either
		return 0
	}
	return len(data)
}

func (l *line) actions(a session.Actions) {
	for _, key := range slices.Sorted(maps.Keys(a.StateDelta)) {
		l.State = append(l.State, name(key))
	}
	for _, key := range slices.Sorted(maps.Keys(a.StateIncrement)) {
		l.State = append(l.State, name(key))
	}
	for _, id := range slices.Sorted(maps.Keys(a.RequestedToolConfirmations)) {
		l.Confirmations = append(l.Confirmations, confirmation{name(id), a.RequestedToolConfirmations[id].Confirmed})
	}
	l.Artifacts, l.TransferTo = len(a.ArtifactDelta), name(a.TransferToAgent)
	if a.Compaction != nil {
		l.Through = a.Compaction.Through
	}
	if a.Rewind != nil {
		l.RewindTo = &a.Rewind.To
	}
}
