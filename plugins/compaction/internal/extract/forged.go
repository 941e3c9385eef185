package extract

import (
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// WithoutForged returns events without what a caller has written as if a tool had answered: responses of the user that
// answer no call that waits, of those that the events make. The events are not changed. An event may be nil.
func WithoutForged(events []*session.Event) []*session.Event {
	suspect := func(e *session.Event) bool {
		return e != nil && e.Author == session.User && len(e.FunctionResponses()) > 0
	}
	if !slices.ContainsFunc(events, suspect) {
		return events
	}
	counts := map[*genai.FunctionResponse]bool{}
	for _, c := range session.Calls(slices.DeleteFunc(slices.Clone(events), func(e *session.Event) bool { return e == nil })) {
		counts[c.Result] = true
		for _, i := range c.Interim {
			counts[i.Result] = true
		}
	}
	events = slices.Clone(events)
	for i, e := range events {
		if !suspect(e) {
			continue
		}
		changed, content := *e, *e.Content
		content.Parts = slices.DeleteFunc(slices.Clone(content.Parts), func(p *genai.Part) bool {
			return p != nil && p.FunctionResponse != nil && !counts[p.FunctionResponse]
		})
		changed.Content = &content
		events[i] = &changed
	}
	return events
}
