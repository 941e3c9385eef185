package runner

import (
	"reflect"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// leaveOutSuperseded leaves out every response to a call that a later event of the batch answers, too.
// An event that is left with nothing is left out, unless it is the input; one that is left with
// something has a note of who answered in its place.
func (b *batch) leaveOutSuperseded(inputID string) {
	if len(b.pending) < 2 {
		return
	}

	// Which event has the last word on each call?
	var last map[string]*pending
	for _, p := range b.pending {
		for _, part := range p.event.Parts() {
			if call := answeredCall(part); call != "" {
				if last == nil {
					last = map[string]*pending{}
				}
				last[call] = p
			}
		}
	}
	if last == nil {
		return
	}

	// The others lose their responses.
	left := b.pending[:0]
	for _, p := range b.pending {
		superseded := func(part *genai.Part) bool {
			call := answeredCall(part)
			return call != "" && last[call] != p
		}
		all := p.event.Parts()
		parts := slices.DeleteFunc(slices.Clone(all), superseded)
		if len(parts) == len(all) {
			left = append(left, p)
			continue
		}
		if len(parts) == 0 && p.event.ID != inputID && onlyContent(p.event) {
			continue
		}
		c := *p.event
		c.Content = nil
		if len(parts) > 0 {
			content := *p.event.Content
			content.Parts = parts
			c.Content = &content
		}
		notes := plugin.NotesOf(p.event)
		for _, part := range all {
			by := last[answeredCall(part)]
			if by == nil || by == p {
				continue
			}
			name, _ := by.event.Plugin()
			note := plugin.Note{Plugin: name, Reason: "it answered the call"}
			if !slices.Contains(notes.Changed, note) {
				notes.Changed = append(slices.Clone(notes.Changed), note)
			}
		}
		p.swap(notes.With(&c))
		left = append(left, p)
	}
	b.pending = left
}

// onlyContent reports whether an event carries nothing beside its content. What says how the content
// came about and how it ended (model, finish reason, error code, the runner's notes) goes with it.
func onlyContent(e *session.Event) bool {
	return e.UsageMetadata == nil && e.GroundingMetadata == nil && e.CitationMetadata == nil &&
		e.Output == nil && (e.NodeInfo == nil || !e.NodeInfo.Ended) &&
		len(e.LongRunningToolIDs) == 0 && len(e.Extra) == 0 && reflect.ValueOf(e.Actions).IsZero() &&
		plugin.Notes{}.With(e).CustomMetadata == nil
}

// answeredCall names the call that a part answers, "" if it answers none.
func answeredCall(p *genai.Part) string {
	switch {
	case p.FunctionResponse == nil:
		return ""
	case p.FunctionResponse.ID != "":
		return "id " + p.FunctionResponse.ID
	}
	return "name " + p.FunctionResponse.Name
}
