package compaction

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A group is events that are covered together or not at all: one event, or calls with their responses, the questions
// about them and the answers to those; in the form of other kits too.
type group struct {
	events  []*session.Event
	open    bool // a call in it has no response that counts
	answers bool // it is of the conversation of an agent that answers a call without response

	pinned bool   // Config.Keep names an event in it, and it need not stay otherwise
	goal   bool   // it has the first message of the session, which is short
	stays  string // why it stays, "" if it does not; see Fate.Stays
	gave   string // why it last gave way, "" if it has not; see Fate.GaveWay
}

// grouped returns the groups of events, in the order of their first events, and the responses that count as the answers to
// their calls.
func grouped(events []*session.Event) (groups []*group, answered map[*genai.FunctionResponse]bool) {
	of := make(map[*session.Event]*group, len(events))
	for _, e := range events {
		of[e] = &group{events: []*session.Event{e}}
	}
	calls := session.Calls(events)
	kits := answers(events, calls)
	answered = map[*genai.FunctionResponse]bool{}
	for i, c := range calls {
		if c.Response != nil && !kits[i].open {
			answered[c.Result] = true
		}
		own := of[c.Event]
		own.open = own.open || c.Response == nil || kits[i].open
		related := append([]*session.Event{c.Response, c.Deferred, c.Held, c.Decision}, kits[i].related...)
		for _, e := range related {
			other := of[e]
			if other == nil || other == own {
				continue
			}
			own.events = append(own.events, other.events...)
			own.open = own.open || other.open
			for _, e := range other.events {
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
			of[e].answers = of[e].answers || c.Conversation(e.Branch)
		}
	}

	seen := map[*group]bool{}
	for _, e := range events {
		g := of[e]
		if !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
	}
	return groups, answered
}

// newest returns the position of the group's last event.
func (g *group) newest() (seq int64) {
	for _, e := range g.events {
		seq = max(seq, e.Seq)
	}
	return seq
}
