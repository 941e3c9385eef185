// Package groups says which events of a session belong together, so that a summary covers them together or
// not at all.
//
// Another way in which a kit of the Agent Development Kit's family answers a call or asks a human about it:
// kits.go.
package groups

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Group is events that are covered together or not at all: one event, or calls with their responses, the
// questions about them and the answers to those; in the form of other kits too.
type Group struct {
	Events  []*session.Event
	Open    bool // a call in it has no response that counts
	Answers bool // it is of the conversation of an agent that answers a call without response
}

// Of returns the groups of events, in the order of their first events, and the responses that count as the
// answers to their calls.
func Of(events []*session.Event) (list []*Group, answered map[*genai.FunctionResponse]bool) {
	of := make(map[*session.Event]*Group, len(events))
	for _, e := range events {
		of[e] = &Group{Events: []*session.Event{e}}
	}
	calls := session.Calls(events)
	related := relatedTo(events, calls)
	answered = map[*genai.FunctionResponse]bool{}
	for i, c := range calls {
		if c.Response != nil {
			answered[c.Result] = true
		}
		own := of[c.Event]
		own.Open = own.Open || c.Response == nil
		for _, e := range append(c.Events(), related[i]...) {
			other := of[e]
			if other == nil || other == own {
				continue
			}
			own.Events = append(own.Events, other.Events...)
			own.Open = own.Open || other.Open
			for _, e := range other.Events {
				of[e] = own
			}
		}
	}

	// The conversation of an agent that answers an open call stays with the call.
	asTools := slices.DeleteFunc(slices.Clone(events), func(e *session.Event) bool {
		return !strings.Contains(e.Branch, "@")
	})
	for _, c := range calls {
		if c.Response != nil {
			continue
		}
		for _, e := range asTools {
			of[e].Answers = of[e].Answers || c.Conversation(e.Branch)
		}
	}

	seen := map[*Group]bool{}
	for _, e := range events {
		g := of[e]
		if !seen[g] {
			seen[g] = true
			list = append(list, g)
		}
	}
	return list, answered
}

// Newest returns the position of the group's last event.
func (g *Group) Newest() (seq int64) {
	for _, e := range g.Events {
		seq = max(seq, e.Seq)
	}
	return seq
}
