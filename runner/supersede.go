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
// An event that is left with nothing is left out; one that is left with something has a note of who
// answered in its place.
func withoutSuperseded(events []*session.Event) []*session.Event {
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
		if len(parts) == 0 && reflect.ValueOf(e.Actions).IsZero() {
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
