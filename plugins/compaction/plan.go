package compaction

import (
	"fmt"
	"math"
	"slices"

	"github.com/plughook/plughook/session"
)

// A Plan says what a compaction would do to a live view.
type Plan struct {
	// Trigger is what asks for the compaction: command, budget, tokens, events, invocations, idle or too long.
	Trigger string
	// Declined is why the compaction does not happen: nothing (there is nothing to cover), gain (it would save too
	// little), busy (another one is being made) or failed (no summary could be made). It is "" if the compaction
	// happens. Why says the reason in words.
	Declined string
	Why      string
	// Through and Keep are those of session.Compaction.
	Through int64
	Keep    []int64
	// Stays says, by position, why an event stays: question (the message that is being answered), goal (the first
	// message of the session), pinned (Config.Keep names it), branch (another branch of the invocation is working on
	// it), open (a call waits for an answer), workflow (it is of a workflow's run that has not ended, or that run's input)
	// or tail (it is one of the latest).
	Stays map[int64]string
	// Covered are the events that the summary stands in for. The summary before it is covered too.
	Covered []*session.Event
	// Before, Kept and Summary are tokens. Before is the prompt (the live view, where no prompt is at hand), Kept what
	// stays of it, instruction and tools included, and Summary the most that the summary may have.
	Before, Kept, Summary int
	// After is how many tokens the view has when the summary is made, 0 until then.
	After int
	// Pinned are the tokens of the events that Config.Keep names; Shortened are those of them that the summary has the
	// first lines of, since they have more than Keep.Tokens or there is no room for them.
	Pinned    int
	Shortened []int64
	// Cleared is how many results of tools the prompt has a line in place of, of the events that stay; Hidden is how many
	// calls that wait for an answer it does not have, since there is no room for them.
	Cleared, Hidden int
	// ClearedNext is how many old results of tools the plugin clears at the end of the next
	// invocation, by Config.Clear and in place of a summary. Only Preview and Draft set it.
	ClearedNext int

	// Draft has the texts of the summaries, if the Plan is of the function Draft.
	Draft SummaryDraft

	replaced int                 // tokens of the view that the summary replaces
	minGain  int                 // tokens that the compaction must save
	meter    meter               // with what is cleared afterwards
	lines    map[string][]string // by branch: the first lines of what was kept
}

// Reasons why an event stays; see Plan.Stays.
const (
	stayQuestion = "question"
	stayGoal     = "goal"
	stayPinned   = "pinned"
	stayBranch   = "branch"
	stayOpen     = "open"
	stayWorkflow = "workflow"
	stayTail     = "tail"
)

// Reasons why a compaction does not happen; see Plan.Declined.
const (
	declineNothing = "nothing"
	declineGain    = "gain"
	declineBusy    = "busy"
	declineFailed  = "failed"
)

// A task is what a compaction is asked to do.
type task struct {
	trigger      string
	instructions string // what the summary should not leave out
	branch       string // the branch of the prompt
	running      bool   // the invocation goes on, so its question and what its other branches work on stay
	background   bool   // the summary is appended later
	offline      bool   // the Summarizer is not asked

	// refused is how many tokens the prompt had that the provider refused with a message, 0 if none was refused.
	refused int
	message string

	// limit is how many tokens the prompt may have afterwards; 0 if the compaction has to save Config.MinGain.
	limit int
	// fixedTokens are the tokens of the prompt that are not conversation: instruction and tools.
	fixedTokens int
	// attributionTokens are the tokens of the conversation that are not in the view: words about who said what, and
	// what plugins added.
	attributionTokens int
}

// decline says why the compaction does not happen.
func (p *Plan) decline(reason, format string, args ...any) {
	p.Declined = reason
	p.Why = fmt.Sprintf(format, args...)
}

// reason returns the reason of the plugin's outcome.
func (p *Plan) reason() string {
	if p.Declined != "" {
		return fmt.Sprintf("trigger %s: not compacted: %s", p.Trigger, p.Why)
	}
	number := func(n int, one, several string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprint(n, " ", several)
	}
	what := number(len(p.Covered), "event", "events") + " summarized"
	if len(p.Covered) == 0 {
		what = number(p.Cleared, "result of a tool", "results of tools") + " cleared"
		if p.Hidden > 0 {
			what += ", " + number(p.Hidden, "call", "calls") + " hidden"
		}
	}
	return fmt.Sprintf("trigger %s: %s, %d tokens to %d", p.Trigger, what, p.Before, p.After)
}

// plan decides what to cover. It counts the attribution tokens as fixed first. If nothing fits then, it counts them as
// part of the events, so that they disappear with the events that are covered.
func (k *compactor) plan(m meter, inv *session.Invocation, t task) Plan {
	fixed := t
	fixed.fixedTokens += t.attributionTokens
	fixed.attributionTokens = 0
	p := k.planned(m, inv, fixed)
	if p.Declined == "" || t.attributionTokens == 0 || t.limit == 0 {
		return p
	}
	shared := k.planned(m, inv, t)
	if shared.Declined == "" {
		return shared
	}
	return p
}

func (k *compactor) planned(m meter, inv *session.Invocation, t task) Plan {
	m = m.copy()
	p := Plan{Trigger: t.trigger, meter: m}

	// Group the events that can only be covered together. The summary before, which heads the view, is always covered.
	events := inv.Live
	if len(events) > 0 && events[0].Marker() {
		events = events[1:]
	}
	groups := grouped(events)
	k.pin(m, inv, t, groups)

	// Measure the prompt of the branch. What other branches work on is not in it. Attribution tokens are spread over
	// the events by size.
	view := m.view(inv.Live, t.branch)
	size := func(g *group) int {
		return m.seen(g, t.branch) * (view + t.attributionTokens) / max(1, view)
	}
	p.Before = view + t.attributionTokens + t.fixedTokens
	pins := k.boundPins(m, &p, groups)
	room := t.limit // for the whole prompt
	summary := k.Summary
	tail := k.Tail
	p.minGain = 1
	if t.limit == 0 {
		summary, tail, p.minGain = k.sizes(p.Before)
		room = p.Before - max(1, p.minGain)
	}
	p.Kept = t.fixedTokens + m.head
	for _, g := range groups {
		if g.stays {
			p.Kept += size(g)
		}
	}

	// Keep the latest groups as the tail, newest first, until Config.Tail is used or less than half a summary's room is
	// left. The newest group stays if it takes no more than a quarter of the room, even if it is larger than
	// Config.Tail.
	latest := slices.Clone(groups)
	slices.SortStableFunc(latest, func(a, b *group) int { return int(b.newest() - a.newest()) })
	used := 0
	for _, g := range latest {
		if g.stays {
			continue
		}
		own := size(g)
		all := max(own, m.seen(g, "")) // Config.Tail counts what any branch sees
		newest := used == 0 && own <= room/4
		if used+all > tail && !newest {
			break
		}
		if p.Kept+own > room-summary/2 {
			break
		}
		used += all
		g.keep(stayTail, true)
		p.Kept += own
	}

	// If the prompt would be too long all the same, the tail and then the goal give way.
	if t.limit > 0 {
		p.Kept -= giveUp(groups, p.Kept-room, size)
	}

	// If it is too long still, the prompt gets lines in place of results, and then of more.
	if t.limit > 0 {
		k.shrink(&p, inv, t, groups, room, size)
	}
	k.shorten(&p, pins)

	// The summary gets the rest of the room.
	p.Summary = max(0, min(summary, room-p.Kept))
	p.replaced = view - m.head
	for _, g := range groups {
		if g.stays {
			p.replaced -= m.seen(g, t.branch)
		}
	}
	p.cover(inv.Live, groups)
	k.check(&p, m, inv, t, room)
	return p
}

// check declines a plan that is not worth to be carried out.
func (k *compactor) check(p *Plan, m meter, inv *session.Invocation, t task, room int) {
	heading := m.heading(inv.Live)
	minSummary := min(k.Summary, smallest/4)
	if len(p.Covered) == 0 {
		p.Kept += max(0, heading-m.head) // the summary stays
	}
	switch {
	case len(p.Covered) == 0 && t.limit > 0 && t.refused == 0 && p.Kept <= room && p.Cleared+p.Hidden > 0:
		// Clearing is enough. A prompt that the provider has refused is only sent again after a compaction.
	case len(p.Covered) == 0:
		p.decline(declineNothing, "all events stay (%d tokens); there is nothing to summarize", p.Before)
	case t.limit == 0 && p.Before <= p.minGain:
		p.decline(declineGain, "too short (%d tokens); a summary must save %d (min_gain)", p.Before, p.minGain)
	case t.limit > 0 && p.Kept > room:
		p.decline(declineGain, "the events that stay have %d tokens, and there is room for %d", p.Kept, room)
	case t.limit > 0 && !k.measureTextOnly && p.Summary < k.Summary/4 && heading > p.Summary:
		// Shortening the summary this much would lose nearly everything.
		p.decline(declineGain, "the events that stay have %d tokens; that leaves %d for the summary, which has %d now", p.Kept, p.Summary, heading)
	case t.limit == 0 && p.Summary < minSummary:
		p.decline(declineGain, "%d of %d tokens stay; a summary of the others cannot save %d (min_gain)", p.Kept, p.Before, p.minGain)
	}
}

// cover fills in what is covered: all groups that do not stay.
func (p *Plan) cover(live []*session.Event, groups []*group) {
	covered := map[int64]bool{}
	for _, g := range groups {
		if g.stays {
			continue
		}
		for _, e := range g.events {
			covered[e.Seq] = true
			p.Through = max(p.Through, e.Seq)
			p.Covered = append(p.Covered, e)
		}
	}

	// All covered events may be ones that the summary before kept. The new one has to reach as far as that one.
	if len(covered) > 0 && live[0].Marker() && live[0].Actions.Compaction != nil {
		p.Through = max(p.Through, live[0].Actions.Compaction.Through)
	}

	p.Stays = map[int64]string{}
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

// tailFrom returns the position from which on the latest events have at most Config.Tail tokens.
func (k *compactor) tailFrom(m meter, groups []*group) int64 {
	latest := slices.Clone(groups)
	slices.SortStableFunc(latest, func(a, b *group) int { return oldestFirst(b, a) })
	from := int64(math.MaxInt64)
	used := 0
	for _, g := range latest {
		used += m.seen(g, "")
		if used > k.Tail {
			break
		}
		from = g.newest()
	}
	return from
}
