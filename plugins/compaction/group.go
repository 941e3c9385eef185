package compaction

import (
	"cmp"
	"strings"

	"github.com/plughook/plughook/session"
)

// A group is events that are covered together or not at all: one event, or calls with their responses, the questions
// about them and the answers to those; in the form of other kits too.
type group struct {
	events []*session.Event
	open   bool // a call in it has no response that counts
	stays  bool
	why    string // the reason why it stays
	pinned int    // tokens of what Config.Keep names in it
}

// grouped returns the groups of events, in the order of their first events.
func grouped(events []*session.Event) []*group {
	of := make(map[*session.Event]*group, len(events))
	for _, e := range events {
		of[e] = &group{events: []*session.Event{e}}
	}
	calls := session.Calls(events)
	kits := answers(events, calls)
	for i, c := range calls {
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
	var groups []*group
	seen := map[*group]bool{}
	for _, e := range events {
		g := of[e]
		if !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
	}
	return groups
}

// keep makes the group stay for a reason, if stays is true. The first reason counts; but a pin may give way, so every other
// reason that may not counts before it.
func (g *group) keep(why string, stays bool) {
	overPin := g.why == stayPinned && why != stayGoal && why != stayTail
	if stays && (!g.stays || overPin) {
		g.stays = true
		g.why = why
	}
}

// newest returns the position of the group's last event.
func (g *group) newest() (seq int64) {
	for _, e := range g.events {
		seq = max(seq, e.Seq)
	}
	return seq
}

func oldestFirst(a, b *group) int { return cmp.Compare(a.newest(), b.newest()) }

// giveWay makes a group stay no longer.
func (g *group) giveWay() {
	g.stays = false
	g.why = ""
}

// elsewhere reports whether a branch is beside own: neither above nor below it. An agent that runs others in branches
// below its own waits for them before it calls its model, so nothing below is in work at that time.
func elsewhere(own, branch string) bool {
	if own == "" || branch == "" || own == branch {
		return false
	}
	return !strings.HasPrefix(own, branch+".") && !strings.HasPrefix(branch, own+".")
}
