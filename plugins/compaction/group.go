package compaction

import (
	"slices"

	"github.com/plughook/plughook/session"
)

// group is what is covered together or not at all: an event, or calls with their responses, the questions
// about them and the answers.
type group struct {
	events []*session.Event
	open   bool // a call waits, or was left open
	stays  bool
	why    string // it stays
}

// grouped returns the groups of events in the order of their first events.
func grouped(events []*session.Event) []*group {
	of := make(map[*session.Event]*group, len(events))
	for _, e := range events {
		of[e] = &group{events: []*session.Event{e}}
	}
	for _, c := range session.Calls(events) {
		own := of[c.Event]
		own.open = own.open || c.Response == nil
		for _, other := range []*session.Event{c.Response, c.Deferred, c.Held, c.Decision} {
			g := of[other]
			if other == nil || g == own {
				continue
			}
			own.events, own.open = append(own.events, g.events...), own.open || g.open
			for _, e := range g.events {
				of[e] = own
			}
		}
	}
	var groups []*group
	seen := map[*group]bool{}
	for _, e := range events {
		if g := of[e]; !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
	}
	return groups
}

// keep says why the group stays, if it does; the first reason counts.
func (g *group) keep(why string, stays bool) {
	if stays && !g.stays {
		g.stays, g.why = true, why
	}
}

// giveUp lets go of what need not stay if the prompt is too long otherwise, because nothing is left to cover or over tokens
// too many stay: the tail, then the first message. It returns how many tokens that is.
func giveUp(groups []*group, over int, counts func(*group) int) (tokens int) {
	for _, why := range []string{Tail, Goal} {
		if tokens >= over && slices.ContainsFunc(groups, func(g *group) bool { return !g.stays }) {
			return tokens
		}
		for _, g := range groups {
			if g.why == why {
				g.stays, g.why = false, ""
				tokens += counts(g)
			}
		}
	}
	return tokens
}

// newest returns the position of the group's last event.
func (g *group) newest() (seq int64) {
	for _, e := range g.events {
		seq = max(seq, e.Seq)
	}
	return seq
}
