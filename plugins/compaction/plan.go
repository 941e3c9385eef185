package compaction

import (
	"context"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A Plan says what a compaction would do to a live view.
type Plan struct {
	// Trigger is why there is one.
	Trigger string
	// Declined is why it would not happen, "" if it would; Why says it in words, with the arithmetic.
	Declined Decline
	Why      string
	// Through and Keep are the compaction's; see session.Compaction.
	Through int64
	Keep    []int64
	// Stays says of each event that stays, by position, as what: Question, Goal, Pinned, Branch, Open or Tail.
	Stays map[int64]string
	// Covered are the events that the summary stands in for, beside those of the summary before it.
	Covered []*session.Event
	// Before is how many tokens the view has, Kept how many of what stays, Summary how many the summary
	// may have.
	Before, Kept, Summary int
	// After is how many the view has afterwards, once the summary is made.
	After int

	gone int // tokens of the view that a summary is made in place of
}

// What events stay as.
const (
	Question = "question" // the message that is being answered
	Goal     = "goal"     // the session's first message
	Pinned   = "pinned"   // Config.Keep names it
	Branch   = "branch"   // another branch of this invocation is at work on it
	Open     = "open"     // a call waits for an answer, or the agent that makes it
	Tail     = "tail"     // the latest
)

// A Decline is a reason, for programs, why a compaction did not happen.
type Decline string

// Declines.
const (
	Nothing Decline = "nothing" // all that is left stays
	Gain    Decline = "gain"    // it would gain too little
	Busy    Decline = "busy"    // one is being made
	Failed  Decline = "failed"  // no summary could be made
)

// task is what a compaction is asked to be.
type task struct {
	trigger      string
	instructions string
	// running says that the invocation goes on: its question stays, and what its other branches do.
	running bool
	branch  string          // whose prompt it is about
	late    bool            // it is appended once the session's turn is free
	asking  context.Context // bounds what all sections ask the Summarizer
	offline bool            // nobody is asked: a summary is being made already, and this one cannot wait
	// limit, if it is not 0, is how many tokens the prompt may have afterwards. slack is what it has beside the
	// conversation, told what the conversation has beyond the view: in words about who said what, or from plugins.
	limit, slack, told int
}

// plan decides what to cover. What a prompt has beyond the view is taken to stay; if nothing fits then, to go with the
// events that it is about.
func (k *keeper) plan(m meter, inv *session.Invocation, t task) Plan {
	fixed := t
	fixed.slack, fixed.told = t.slack+t.told, 0
	p := k.planned(m, inv, fixed)
	if p.Declined == "" || t.told == 0 || t.limit == 0 {
		return p
	}
	if q := k.planned(m, inv, t); q.Declined == "" {
		return q
	}
	return p
}

func (k *keeper) planned(m meter, inv *session.Invocation, t task) Plan {
	p := Plan{Trigger: t.trigger}
	tail := inv.Live
	if len(tail) > 0 && tail[0].Marker() {
		tail = tail[1:]
	}
	groups := grouped(tail)
	k.pin(m, inv, t, groups)
	// What other branches are at is in their prompts, not in this one.
	view := m.view(inv.Live, t.branch)
	counts := func(g *group) int { return m.seen(g, t.branch) * (view + t.told) / max(1, view) }
	p.Before = view + t.told + t.slack
	p.Kept = t.slack + m.head
	for _, g := range groups {
		if g.stays {
			p.Kept += counts(g)
		}
	}
	room := p.Before - max(1, k.MinGain) // what is left for the view
	if t.limit > 0 {
		room = t.limit
	}
	// The tail: the latest groups, as far as they leave half of a summary's room.
	used := 0
	latest := slices.Clone(groups)
	slices.SortStableFunc(latest, func(a, b *group) int { return int(b.newest() - a.newest()) })
	for _, g := range latest {
		if g.stays {
			continue
		}
		size := counts(g)
		first := used == 0 && size <= room/4 // the last exchange stays if it can
		all := max(size, m.seen(g, ""))      // the tail is everyone's
		if (used+all > k.Tail && !first) || p.Kept+size > room-k.Summary/2 {
			break
		}
		used += all
		g.keep(Tail, true)
		p.Kept += size
	}
	if t.limit > 0 {
		p.Kept -= giveUp(groups, p.Kept-room, counts)
	}
	p.Summary = max(0, min(k.Summary, room-p.Kept))
	p.gone = view - m.head
	for _, g := range groups {
		if g.stays {
			p.gone -= m.seen(g, t.branch)
		}
	}
	p.cover(inv.Live, groups)
	switch {
	case len(p.Covered) == 0:
		p.decline(Nothing, "all of the %d tokens are of what stays", p.Before)
	case p.Kept > room && t.limit > 0:
		p.decline(Gain, "what stays has %d tokens, and there is room for %d", p.Kept, room)
	case t.limit > 0 && !k.bare && p.Summary < k.Summary/4 && k.headed(m, inv.Live) > p.Summary: // it would forget nearly all
		p.decline(Gain, "what stays has %d tokens, and leaves %d for the summary, which has %d by now", p.Kept, p.Summary, k.headed(m, inv.Live))
	case t.limit == 0 && p.Summary < min(k.Summary, smallest/4):
		p.decline(Gain, "of %d tokens %d stay, so that it would gain less than %d", p.Before, p.Kept, k.MinGain)
	}
	return p
}

// headed returns the tokens of the summary that heads a view.
func (k *keeper) headed(m meter, live []*session.Event) int {
	if len(live) == 0 || !live[0].Marker() {
		return 0
	}
	return m.event(live[0])
}

// cover fills in what is covered: all groups that do not stay. It reaches as far as the summary before, at least: all
// that is covered may be what that one kept.
func (p *Plan) cover(live []*session.Event, groups []*group) {
	covered := map[int64]bool{}
	p.Stays = map[int64]string{}
	for _, g := range groups {
		for _, e := range g.events {
			if !g.stays {
				covered[e.Seq], p.Through = true, max(p.Through, e.Seq)
				p.Covered = append(p.Covered, e)
			}
		}
	}
	if len(covered) > 0 && live[0].Marker() && live[0].Actions.Compaction != nil {
		p.Through = max(p.Through, live[0].Actions.Compaction.Through)
	}
	for _, g := range groups {
		for _, e := range g.events {
			if covered[e.Seq] {
				continue
			}
			p.Stays[e.Seq] = g.why
			if e.Seq <= p.Through {
				p.Keep = append(p.Keep, e.Seq)
			}
		}
	}
	slices.Sort(p.Keep)
	slices.SortFunc(p.Covered, func(a, b *session.Event) int { return int(a.Seq - b.Seq) })
}

// pin marks the groups that stay wherever they stand.
func (k *keeper) pin(m meter, inv *session.Invocation, t task, groups []*group) {
	calls := session.Calls(inv.Live)
	question := k.question(inv, t)
	goal := goalOf(inv.Live)
	if goal != nil && m.event(goal) > k.Budget/8 {
		goal = nil
	}
	for _, g := range groups {
		for _, e := range g.events {
			g.keep(Question, e == question)
			g.keep(Pinned, k.pinned(e))
			g.keep(Branch, t.running && e.InvocationID == inv.ID && elsewhere(t.branch, e.Branch))
		}
		g.keep(Open, g.open)
	}
	for _, c := range calls {
		if c.Response != nil {
			continue
		}
		for _, g := range groups { // the conversation of an agent that answers it
			g.keep(Open, slices.ContainsFunc(g.events, func(e *session.Event) bool { return c.Conversation(e.Branch) }))
		}
	}
	for _, g := range groups { // last, since it is given up where another reason is not
		g.keep(Goal, slices.Contains(g.events, goal))
	}
}

// question returns the message that is being answered.
func (k *keeper) question(inv *session.Invocation, t task) *session.Event {
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

// goalOf returns the first message of the session, if it is live.
func goalOf(live []*session.Event) *session.Event {
	for i, e := range live {
		switch {
		case e.Marker() && i == 0:
		case e.Author == session.User && e.Content != nil && e.Branch == "":
			return e
		default:
			if i > 0 && live[0].Marker() {
				return nil // it was covered
			}
		}
	}
	return nil
}

func (k *keeper) pinned(e *session.Event) bool {
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

// elsewhere reports whether a branch neither leads to own nor comes from it. Who runs agents in branches below its own
// waits for them, so what is there when it asks its model is done.
func elsewhere(own, branch string) bool {
	return own != "" && branch != "" && own != branch && !strings.HasPrefix(own, branch+".") && !strings.HasPrefix(branch, own+".")
}
