package runner

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// withoutSuperseded leaves out, of one append, every response to a call that a later event answers too.
// An event that is left with nothing is left out, unless it is the input; one that is left with something
// has a note of who answered in its place.
func withoutSuperseded(events []*session.Event, inputID string) []*session.Event {
	last := map[string]*session.Event{}
	for _, e := range events {
		for _, p := range partsOf(e) {
			if k := answered(p); k != "" {
				last[k] = e
			}
		}
	}
	if len(last) == 0 || len(events) < 2 {
		return events
	}
	var left []*session.Event
	for _, e := range events {
		parts := slices.DeleteFunc(slices.Clone(partsOf(e)), func(p *genai.Part) bool {
			k := answered(p)
			return k != "" && last[k] != e
		})
		if len(parts) == len(partsOf(e)) {
			left = append(left, e)
			continue
		}
		if len(parts) == 0 && e.ID != inputID && onlyContent(e) {
			continue
		}
		content := *e.Content
		content.Parts = parts
		c := *e
		if c.Content = &content; len(parts) == 0 {
			c.Content = nil
		}
		notes := plugin.NotesOf(e)
		for _, p := range partsOf(e) {
			if by := last[answered(p)]; by != nil && by != e {
				note := plugin.Note{Plugin: strings.TrimPrefix(by.Author, session.PluginPrefix), Reason: "it answered the call"}
				if !slices.Contains(notes.Changed, note) {
					notes.Changed = append(slices.Clone(notes.Changed), note)
				}
			}
		}
		left = append(left, notes.With(&c))
	}
	return left
}

// onlyContent reports whether an event carries nothing beside its content: what says how that came about
// and how it ended (model, finish reason, error code, the runner's notes) goes with it.
func onlyContent(e *session.Event) bool {
	return e.UsageMetadata == nil && e.GroundingMetadata == nil && e.CitationMetadata == nil && len(e.LongRunningToolIDs) == 0 &&
		len(e.Extra) == 0 && reflect.ValueOf(e.Actions).IsZero() && plugin.Notes{}.With(e).CustomMetadata == nil
}

func partsOf(e *session.Event) []*genai.Part {
	if e.Content == nil {
		return nil
	}
	return e.Content.Parts
}

// answered names the call that a part answers, "" if it answers none.
func answered(p *genai.Part) string {
	switch {
	case p == nil || p.FunctionResponse == nil:
		return ""
	case p.FunctionResponse.ID != "":
		return "id " + p.FunctionResponse.ID
	}
	return "name " + p.FunctionResponse.Name
}
