package compaction_test

import (
	"slices"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// mustStay counts, the long way round, the tokens of what must stay in the prompt of an event's branch
// while its invocation runs: with the summary that is there, since none is made in its place unless
// something new is covered, with a few words for each call that has no answer yet, and with the responses after
// which no agent has spoken.
func (w *world) mustStay(live []*session.Event, of *session.Event) (n int) {
	stays := map[*session.Event]bool{}
	together := map[*session.Event][]*session.Event{}
	for i, e := range live {
		if e.Marker() {
			if c := e.Actions.Compaction.Content; c != nil {
				n += tokens(c)
			}
			continue
		}
		first := true
		for _, before := range live[:i] {
			first = first &&
				(before.Marker() || before.Author != session.User || before.Content == nil || before.Branch != "")
		}
		if e.Author == session.User && e.Content != nil && len(e.FunctionResponses()) == 0 {
			last := true
			for _, after := range live[i+1:] {
				last = last &&
					(after.Author != session.User || after.Content == nil || len(after.FunctionResponses()) > 0)
			}
			stays[e] = last || first
		}
		stays[e] = stays[e] || slices.Contains(w.config.Keep.Events, e.ID)
	}
	for _, c := range session.Calls(live) {
		for _, other := range []*session.Event{c.Response, c.Held, c.Decision} {
			if other != nil {
				together[c.Event], together[other] = append(together[c.Event], other), append(together[other], c.Event)
			}
		}
		if c.Response == nil {
			n += 12
		}
		unseen := c.Response != nil
		for _, e := range live {
			unseen = unseen && (e.Seq <= c.Response.Seq || !e.FromAgent() || e.Content == nil ||
				len(e.FunctionResponses()) > 0 || !agent.Sees(e.Branch, c.Response.Branch))
		}
		stays[c.Event] = stays[c.Event] || unseen
		stays[c.Event] = stays[c.Event] || c.Response == nil ||
			slices.Contains(w.config.Keep.Tools, c.Name)
		for _, e := range live {
			stays[e] = stays[e] || c.Response == nil && c.Conversation(e.Branch)
		}
	}
	for range live { // what goes together, as far as it reaches
		for e, others := range together {
			for _, other := range others {
				stays[other] = stays[other] || stays[e]
			}
		}
	}
	for e, stay := range stays {
		if stay && e.Content != nil && agent.Sees(of.Branch, e.Branch) {
			n += tokens(e.Content)
		}
	}
	return n
}
