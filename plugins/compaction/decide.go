package compaction

import (
	"cmp"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A decision is a Plan in the making. The type Plan says what is decided in which order; here is a method for each step.
type decision struct {
	k   *compactor
	inv *session.Invocation
	t   task
	p   Plan  // Kept is always up to date with the groups that stay
	m   meter // counts what is cleared so far as it is then

	groups  []*group                         // the one with the oldest last event first
	answers map[*genai.FunctionResponse]bool // the responses that count as the answers to their calls
	view    int                              // tokens of the live view in the prompt's branch
	room    int                              // tokens that the whole prompt may have
	gave    map[int64]string                 // by position: why a result or a call gave way
}

// plan decides what a task does to the live view. It counts the attribution tokens as fixed first. If nothing fits then, it
// counts them as part of the events, so that they disappear with the events that are covered.
func (k *compactor) plan(m meter, inv *session.Invocation, t task) Plan {
	if t.summaryFirst {
		summarize := t
		summarize.summaryFirst = false
		summarize.clear = 0
		p := k.plan(m, inv, summarize)
		if p.Declined == "" {
			return p
		}
		clearOnly := t
		clearOnly.trigger = triggerClear
		cleared := k.decide(m, inv, clearOnly)
		if cleared.Declined == "" {
			return cleared
		}
		return p
	}
	fixed := t
	fixed.fixedTokens += t.attributionTokens
	fixed.attributionTokens = 0
	p := k.decide(m, inv, fixed)
	if p.Declined == "" || t.attributionTokens == 0 || t.limit == 0 {
		return p
	}
	shared := k.decide(m, inv, t)
	if shared.Declined == "" {
		return shared
	}
	return p
}

func (k *compactor) decide(m meter, inv *session.Invocation, t task) Plan {
	// The summary before, which heads the view, is always covered.
	events := inv.Live
	if len(events) > 0 && events[0].Marker() {
		events = events[1:]
	}
	groups, answers := grouped(events)
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.newest(), b.newest()) })

	d := &decision{
		k:       k,
		inv:     inv,
		t:       t,
		m:       m.copy(),
		groups:  groups,
		answers: answers,
		view:    m.view(inv.Live, t.branch),
		gave:    map[int64]string{},
	}
	d.p = Plan{
		Trigger: t.trigger,
		Before:  d.view + t.attributionTokens + t.fixedTokens,
		Kept:    t.fixedTokens + m.head,
		minGain: 1,
	}
	if d.clearOld() {
		return d.p
	}

	summary := k.Summary
	tail := k.Tail
	d.room = t.limit
	if t.limit == 0 {
		summary, tail, d.p.minGain = k.sizes(d.p.Before)
		d.room = d.p.Before - max(1, d.p.minGain)
	}
	d.stayIfNeeded()
	d.boundPins()
	d.stayAsTail(tail, summary)
	if t.limit > 0 {
		d.makeRoom()
	}

	// The summary gets the rest of the room. In a view that is short beside the summary before, a share of it would lose
	// most of that.
	if t.limit == 0 && k.scales.summary {
		summary = max(summary, min(k.Summary, d.m.heading(inv.Live)-d.m.head))
	}
	d.p.Summary = max(0, min(summary, d.room-d.p.Kept))
	d.settle()
	d.declineIfFutile()
	return d.p
}

// size returns the tokens that a group has in the prompt. Attribution tokens are spread over the events by size. What
// other branches work on is not in the prompt.
func (d *decision) size(g *group) int {
	return d.m.seen(g, d.t.branch) * (d.view + d.t.attributionTokens) / max(1, d.view)
}

// change does something to a group, and keeps Kept up to date.
func (d *decision) change(g *group, do func()) {
	if g.stays != "" {
		d.p.Kept -= d.size(g)
	}
	do()
	if g.stays != "" {
		d.p.Kept += d.size(g)
	}
}

// stay makes a group stay, for a reason.
func (d *decision) stay(g *group, why string) {
	d.change(g, func() { g.stays = why })
}

// giveWay makes a group stay no longer.
func (d *decision) giveWay(g *group, why string) {
	d.change(g, func() {
		g.stays = ""
		g.gave = why
	})
}

// clear clears results or arguments.
func (d *decision) clear(why string, results ...result) {
	for _, r := range results {
		d.change(r.group, func() { d.m.clear(r) })
		d.gave[r.seq] = why
		d.p.cleared++
	}
}

// settle writes down what becomes of each event. All groups that do not stay are covered.
func (d *decision) settle() {
	d.p.meter = d.m
	d.p.Fates = map[int64]Fate{}
	d.p.lines = map[string][]string{}
	d.p.replaced = d.view - d.m.head
	for _, g := range d.groups {
		if g.stays != "" {
			d.p.replaced -= d.m.seen(g, d.t.branch)
		} else if g.pinned {
			branch := g.events[0].Branch
			d.p.lines[branch] = append(d.p.lines[branch], d.k.firstLines(g))
		}
		for _, e := range g.events {
			d.p.Fates[e.Seq] = d.fate(g, e)
			if g.stays == "" {
				d.p.Covered = append(d.p.Covered, e)
				d.p.Through = max(d.p.Through, e.Seq)
			}
		}
	}
	slices.SortFunc(d.p.Covered, func(a, b *session.Event) int { return cmp.Compare(a.Seq, b.Seq) })

	// All covered events may be ones that the summary before kept. The new one has to reach as far as that one.
	if len(d.p.Covered) > 0 && d.inv.Live[0].Marker() && d.inv.Live[0].Actions.Compaction != nil {
		d.p.Through = max(d.p.Through, d.inv.Live[0].Actions.Compaction.Through)
	}
	for seq, f := range d.p.Fates {
		if f.Stays != "" && seq <= d.p.Through {
			d.p.Keep = append(d.p.Keep, seq)
		}
	}
	slices.Sort(d.p.Keep)
}

// fate returns what becomes of an event in a group.
func (d *decision) fate(g *group, e *session.Event) Fate {
	f := Fate{Form: Whole, Stays: g.stays, GaveWay: g.gave}
	switch {
	case g.stays == "" && g.pinned:
		f.Form = FirstLines
	case g.stays == "":
		f.Form = Summarized
	default:
		f.Form = d.m.cleared.form(e)
		f.GaveWay = ""
		if f.Form != Whole {
			f.GaveWay = cmp.Or(d.gave[e.Seq], gaveBefore)
		}
	}
	return f
}

// declineIfFutile declines a plan that is not worth to be carried out.
func (d *decision) declineIfFutile() {
	heading := d.m.heading(d.inv.Live)
	minSummary := min(d.k.Summary, smallest/4)
	limit := d.t.limit
	if len(d.p.Covered) == 0 {
		d.p.Kept += max(0, heading-d.m.head) // the summary stays
	}
	switch {
	case len(d.p.Covered) == 0 && limit > 0 && d.t.refused == 0 && d.p.Kept <= d.room && d.p.cleared+d.p.hidden > 0:
		// Clearing is enough. A prompt that the provider has refused is only sent again after a compaction.
	case len(d.p.Covered) == 0:
		d.p.decline(declineNothing, "all events stay (%d tokens); there is nothing to summarize", d.p.Before)
	case limit == 0 && d.p.Before <= d.p.minGain:
		d.p.decline(declineGain, "too short (%d tokens); a summary must save %d (min_gain)", d.p.Before, d.p.minGain)
	case limit > 0 && d.p.Kept > d.room:
		d.p.decline(declineGain, "the events that stay have %d tokens, and there is room for %d", d.p.Kept, d.room)
	case limit > 0 && !d.k.measureTextOnly && d.p.Summary < d.k.Summary/4 && heading > d.p.Summary:
		// Shortening the summary this much would lose nearly everything.
		d.p.decline(declineGain, "the events that stay have %d tokens; that leaves %d for the summary, which has %d now",
			d.p.Kept, d.p.Summary, heading)
	case limit == 0 && d.p.Summary < minSummary:
		d.p.decline(declineGain, "%d of %d tokens stay; a summary of the others cannot save %d (min_gain)",
			d.p.Kept, d.p.Before, d.p.minGain)
	}
}
