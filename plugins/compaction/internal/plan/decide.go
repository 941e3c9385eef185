package plan

import (
	"cmp"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/groups"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// A group is events that stay or go together.
type group struct {
	*groups.Group
	pinned bool   // Config.Keep names an event in it, and it need not stay otherwise
	goal   bool   // it has the first message of the session, which is short
	stays  string // why it stays, "" if it does not; see Fate.Stays
	gave   string // why it last gave way, "" if it has not; see Fate.GaveWay
}

// A result is a part of a group's event that can be cleared.
type result struct {
	meter.Result
	group *group
}

// A decision is a Plan in the making. The type Plan says what is decided in which order; here is a method for
// each step.
type decision struct {
	s   *Settings
	inv *session.Invocation
	t   Task
	p   Plan        // Kept is always up to date with the groups that stay
	m   meter.Meter // counts what is cleared so far as it is then

	groups   []*group                         // the one with the oldest last event first
	answers  map[*genai.FunctionResponse]bool // the responses that count as the answers to their calls
	unseen   map[*genai.FunctionResponse]bool // those of them that no model has been asked with since
	cuts     []result                         // what can be cut; see cuttable
	question *session.Event                   // the message that is being answered, nil if there is none
	view     int                              // tokens of the live view in the prompt's branch
	room     int                              // tokens that the whole prompt may have
	gave     map[int64]string                 // by position: why a result or a call gave way
}

// Make decides what a task does to the live view of an invocation. It counts the attribution tokens as fixed
// first. If nothing fits then, it counts them as part of the events, so that they disappear with the events
// that are covered. If the plan is declined all the same, cutting may be enough.
func Make(s Settings, m meter.Meter, inv *session.Invocation, t Task) Plan {
	p := s.summarizeOrClear(m, inv, t)
	if p.Declined == "" || t.Limit == 0 || t.CutOnly {
		return p
	}
	t.CutOnly = true
	cut := s.summarizeOrClear(m, inv, t)
	if cut.Declined == "" {
		return cut
	}
	return p
}

// summarizeOrClear decides it, and leaves it to Make to cut only.
func (s *Settings) summarizeOrClear(m meter.Meter, inv *session.Invocation, t Task) Plan {
	if t.SummaryFirst {
		summarize := t
		summarize.SummaryFirst = false
		summarize.Clear = 0
		p := s.summarizeOrClear(m, inv, summarize)
		if p.Declined == "" {
			return p
		}
		clearOnly := t
		clearOnly.Trigger = TriggerClear
		cleared := s.decide(m, inv, clearOnly)
		if cleared.Declined == "" {
			return cleared
		}
		return p
	}
	fixed := t
	fixed.FixedTokens += t.AttributionTokens
	fixed.AttributionTokens = 0
	p := s.decide(m, inv, fixed)
	if p.Declined == "" || t.AttributionTokens == 0 || t.Limit == 0 {
		return p
	}
	shared := s.decide(m, inv, t)
	if shared.Declined == "" {
		return shared
	}
	return p
}

// decide decides it in the steps that the comment of Plan has.
func (s *Settings) decide(m meter.Meter, inv *session.Invocation, t Task) Plan {
	// The summary before, which heads the view, is always covered.
	events := inv.Live
	if len(events) > 0 && events[0].Marker() {
		events = events[1:]
	}
	list, answers := groups.Of(events)
	ordered := make([]*group, len(list))
	for i, g := range list {
		ordered[i] = &group{Group: g}
	}
	slices.SortStableFunc(ordered, func(a, b *group) int { return cmp.Compare(a.Newest(), b.Newest()) })

	d := &decision{
		s:        s,
		inv:      inv,
		t:        t,
		m:        m.Copy(),
		groups:   ordered,
		answers:  answers,
		unseen:   unseenIn(events, answers),
		question: answering(inv, t),
		view:     m.View(inv.Live, t.Branch),
		gave:     map[int64]string{},
	}
	d.p = Plan{
		Trigger: t.Trigger,
		Before:  d.view + t.AttributionTokens + t.FixedTokens,
		Kept:    t.FixedTokens + m.Head,
		MinGain: 1,
	}
	if d.clearOld() {
		return d.p
	}

	summary := s.Summary
	tail := s.Tail
	d.room = t.Limit
	if t.Limit == 0 {
		summary, tail, d.p.MinGain = s.Sizes(d.p.Before)
		d.room = d.p.Before - max(1, d.p.MinGain)
	}
	d.stayIfNeeded()
	d.cuts = d.cuttable()
	if d.cutOnly(d.room / 2) {
		return d.p
	}
	if t.CutOnly {
		if !d.cutOnly(0) {
			d.p.Decline(DeclineGain, "what stays has no room, even if it is cut")
		}
		return d.p
	}
	d.boundPins()
	d.stayAsTail(tail, summary)
	if t.Limit > 0 {
		d.makeRoom()
	}

	// The summary gets the rest of the room. In a view that is short beside the summary before, a share of it
	// would lose most of that.
	if t.Limit == 0 && s.Scales.Summary {
		summary = max(summary, min(s.Summary, d.m.Heading(inv.Live)-d.m.Head))
	}
	d.p.Summary = max(0, min(summary, d.room-d.p.Kept))
	d.settle()
	d.declineIfFutile()
	return d.p
}

// size returns the tokens that a group has in the prompt. Attribution tokens are spread over the events by
// size. Events that only other branches see are not in the prompt, and count nothing.
func (d *decision) size(g *group) int {
	return d.m.View(g.Events, d.t.Branch) * (d.view + d.t.AttributionTokens) / max(1, d.view)
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
		d.change(r.group, func() { d.m.Clear(r.Result) })
		d.gave[r.Seq] = why
		d.p.Cleared++
		for i, c := range d.cuts {
			if c.Part == r.Part {
				d.cuts[i].Size -= r.Gain
			}
		}
	}
}

// settle writes into the Plan what becomes of each event. The summary covers every group that does not stay.
func (d *decision) settle() {
	d.p.Meter = d.m
	d.p.Fates = map[int64]Fate{}
	d.p.FirstLines = map[string][]string{}
	d.p.Replaced = d.view - d.m.Head
	for _, g := range d.groups {
		if g.stays != "" {
			d.p.Replaced -= d.m.View(g.Events, d.t.Branch)
		} else if g.pinned {
			branch := g.Events[0].Branch
			d.p.FirstLines[branch] = append(d.p.FirstLines[branch], d.s.firstLines(g))
		}
		for _, e := range g.Events {
			d.p.Fates[e.Seq] = d.fate(g, e)
			if g.stays == "" {
				d.p.Covered = append(d.p.Covered, e)
				d.p.Through = max(d.p.Through, e.Seq)
			}
		}
	}
	slices.SortFunc(d.p.Covered, func(a, b *session.Event) int { return cmp.Compare(a.Seq, b.Seq) })

	// All covered events may be ones that the summary before kept. The new one has to reach as far as that
	// one.
	if len(d.p.Covered) > 0 && d.inv.Live[0].Marker() && d.inv.Live[0].Actions.Compaction != nil {
		d.p.Through = max(d.p.Through, d.inv.Live[0].Actions.Compaction.Through)
	}
	for seq, f := range d.p.Fates {
		if f.Stays != "" && seq <= d.p.Through {
			d.p.Keep = append(d.p.Keep, seq)
		}
	}
	slices.Sort(d.p.Keep)
	for _, e := range d.p.Covered {
		d.p.Covers = append(d.p.Covers, e.Seq)
	}
	d.p.list()
}

// fate returns what becomes of an event in a group.
func (d *decision) fate(g *group, e *session.Event) Fate {
	f := Fate{Form: meter.Whole, Stays: g.stays, GaveWay: g.gave}
	switch {
	case g.stays == "" && g.pinned:
		f.Form = meter.FirstLines
	case g.stays == "":
		f.Form = meter.Summarized
	default:
		f.Form = d.m.Cleared.Form(e)
		f.GaveWay = ""
		if f.Form != meter.Whole {
			f.GaveWay = cmp.Or(d.gave[e.Seq], gaveBefore)
		}
	}
	return f
}

// declineIfFutile declines a plan that is not worth to be carried out.
func (d *decision) declineIfFutile() {
	heading := d.m.Heading(d.inv.Live)
	minSummary := min(d.s.Summary, Smallest/4)
	limit := d.t.Limit
	if len(d.p.Covered) == 0 {
		d.p.Kept += max(0, heading-d.m.Head) // the summary stays
	}
	switch {
	case len(d.p.Covered) == 0 && limit > 0 && d.t.Refused == 0 && d.p.Kept <= d.room && d.p.Cleared+d.p.Hidden > 0:
		// Clearing is enough. A prompt that the provider has refused is only sent again after a compaction.
	case len(d.p.Covered) == 0:
		d.p.Decline(DeclineNothing, "all events stay (%d tokens); there is nothing to summarize", d.p.Before)
	case limit == 0 && d.p.Before <= d.p.MinGain:
		d.p.Decline(DeclineGain, "too short (%d tokens); a summary must save %d (min_gain)",
			d.p.Before, d.p.MinGain)
	case limit > 0 && d.p.Kept > d.room:
		d.p.Decline(DeclineGain, "the events that stay have %d tokens, and there is room for %d",
			d.p.Kept, d.room)
	case limit > 0 && !d.s.TextOnly && d.p.Summary < d.s.Summary/4 && heading > d.p.Summary:
		// Shortening the summary this much would lose nearly everything.
		d.p.Decline(DeclineGain,
			"the events that stay have %d tokens; that leaves %d for the summary, which has %d now",
			d.p.Kept, d.p.Summary, heading)
	case limit == 0 && d.p.Summary < minSummary:
		d.p.Decline(DeclineGain, "of %d tokens, %d stay with the frame of a summary; no summary can save %d (min_gain)",
			d.p.Before, d.p.Kept, d.p.MinGain)
	}
}
