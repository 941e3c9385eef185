package compaction

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// pin marks the groups that stay wherever they are in the view.
func (k *compactor) pin(m meter, inv *session.Invocation, t task, groups []*group) {
	asked := answering(inv, t)
	for _, g := range groups {
		for _, e := range g.events {
			g.keep(stayQuestion, e == asked)
			g.keep(stayPinned, k.names(e))
			g.keep(stayBranch, t.running && e.InvocationID == inv.ID && elsewhere(t.branch, e.Branch))
		}
		g.keep(stayOpen, g.open)
	}

	// The conversation of an agent that answers an open call stays with the call.
	asTools := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool {
		return !slices.ContainsFunc(g.events, func(e *session.Event) bool { return strings.Contains(e.Branch, "@") })
	})
	for _, c := range session.Calls(inv.Live) {
		if c.Response != nil {
			continue
		}
		for _, g := range asTools {
			g.keep(stayOpen, slices.ContainsFunc(g.events, func(e *session.Event) bool {
				return c.Conversation(e.Branch)
			}))
		}
	}

	// A workflow goes on with what the live view has of its run, so all of that stays until the run has ended.
	unfinished := map[*session.Event]bool{}
	for _, w := range session.Nodes(inv.Live).Workflows() {
		if !w.Open() {
			continue
		}
		unfinished[w.Input] = true
		for _, e := range w.Events {
			unfinished[e] = true
		}
	}
	for _, g := range groups {
		g.keep(stayWorkflow, slices.ContainsFunc(g.events, func(e *session.Event) bool { return unfinished[e] }))
	}

	// The goal comes last: a group that has another reason to stay is not given up with the goal.
	first := firstMessage(inv.Live)
	if first == nil || m.event(first) > k.Budget/8 {
		return
	}
	for _, g := range groups {
		g.keep(stayGoal, slices.Contains(g.events, first))
	}
}

// names reports whether Config.Keep names an event.
func (k *compactor) names(e *session.Event) bool {
	if slices.Contains(k.Keep.Authors, e.Author) || slices.Contains(k.Keep.Events, e.ID) {
		return true
	}
	for _, c := range e.FunctionCalls() {
		if slices.Contains(k.Keep.Tools, c.Name) {
			return true
		}
	}
	return false
}

// answering returns the message that the running invocation answers.
func answering(inv *session.Invocation, t task) *session.Event {
	if !t.running {
		return nil
	}
	for _, e := range slices.Backward(inv.Live) {
		if e.Author == session.User && e.Content != nil && len(e.FunctionResponses()) == 0 && !e.Marker() {
			return e
		}
	}
	return nil
}

// firstMessage returns the first message of the session, nil if a summary covers it.
func firstMessage(live []*session.Event) *session.Event {
	for i, e := range live {
		switch {
		case i == 0 && e.Marker():
		case e.Author == session.User && e.Content != nil && e.Branch == "":
			return e
		case i > 0 && live[0].Marker():
			return nil
		}
	}
	return nil
}

// giveUp makes groups stay no longer, as far as the prompt needs it: the tail, and then the goal. It stops when something
// is covered and the tokens given up are at least over. It returns how many those are.
func giveUp(groups []*group, over int, size func(*group) int) (tokens int) {
	for _, why := range []string{stayTail, stayGoal} {
		somethingCovered := slices.ContainsFunc(groups, func(g *group) bool { return !g.stays })
		if tokens >= over && somethingCovered {
			return tokens
		}
		for _, g := range groups {
			if g.why == why {
				g.stays = false
				g.why = ""
				tokens += size(g)
			}
		}
	}
	return tokens
}

// boundPins makes the oldest of the groups that Config.Keep names stay no longer, until the others have at most Keep.Tokens.
// Of older groups that stay for the sake of one call, it clears the results of the other calls. It returns the groups that
// were named, the oldest first.
func (k *compactor) boundPins(m meter, p *Plan, groups []*group) (pins []*group) {
	tail := k.tailFrom(m, groups)
	for _, g := range groups {
		if g.why != stayPinned && g.why != stayOpen {
			continue
		}
		others := k.others(m, g)
		if g.newest() < tail {
			p.clear(m, others...)
			others = nil
		}
		if g.why != stayPinned {
			continue
		}
		g.pinned = m.seen(g, "")
		for _, r := range others {
			g.pinned -= r.gain
		}
		p.Pinned += g.pinned
		pins = append(pins, g)
	}
	slices.SortStableFunc(pins, oldestFirst)
	left := p.Pinned
	for _, g := range pins {
		if left <= k.Keep.Tokens {
			break
		}
		left -= g.pinned
		g.giveWay()
	}
	return pins
}

// shorten notes the first lines of the groups that were kept and do not stay.
func (k *compactor) shorten(p *Plan, pins []*group) {
	p.lines = map[string][]string{}
	for _, g := range pins {
		if g.stays {
			continue
		}
		for _, e := range g.events {
			p.Shortened = append(p.Shortened, e.Seq)
		}
		branch := g.events[0].Branch
		p.lines[branch] = append(p.lines[branch], k.firstLines(g))
	}
	slices.Sort(p.Shortened)
}
