package plan

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// clearOld clears old results, if the task asks for it and that is enough, or if it asks for nothing else. It
// reports whether everything is decided then.
func (d *decision) clearOld() bool {
	if d.t.Clear == 0 {
		return false
	}
	old := d.old()
	gain := 0
	for _, r := range old {
		gain += r.Gain
	}
	switch {
	case gain >= d.t.Clear:
	case d.t.Trigger == TriggerClear:
		d.p.Decline(DeclineGain, "old results have %d tokens; clearing them must save %d", gain, d.t.Clear)
		return true
	default:
		return false
	}
	d.p.Trigger = TriggerClear
	if !d.t.Running { // no prompt is at hand; what the model has reported beside the view is in it
		d.p.Before += d.m.Beside
	}
	for _, g := range d.groups {
		d.stay(g, stayRoom)
	}
	d.clear(gaveOld, old...)
	d.p.Kept = d.p.Before - gain
	d.settle()
	return true
}

// old returns the results that Config.Clear lets the plugin clear and the prompt's branch sees, the oldest
// first.
func (d *decision) old() (list []result) {
	of := map[*session.Event]*group{}
	for _, g := range d.groups {
		for _, e := range g.Events {
			of[e] = g
		}
	}
	seen := 0 // results, counted from the end
	for _, e := range slices.Backward(d.inv.Live) {
		if e.Content == nil || of[e] == nil || !agent.Sees(d.t.Branch, e.Branch) {
			continue
		}
		for i, p := range slices.Backward(e.Content.Parts) {
			if p == nil || !d.answers[p.FunctionResponse] {
				continue
			}
			seen++
			name := p.FunctionResponse.Name
			excepted := d.unseen[p.FunctionResponse] || slices.Contains(d.s.Clear.Except, name) || slices.Contains(d.s.Keep.Tools, name) ||
				d.s.names(e)
			if seen <= d.s.Clear.Keep || excepted {
				continue
			}
			r, ok := d.m.Clearable(e, i, d.s.Clear.Min)
			if ok {
				list = append(list, result{Result: r, group: of[e]})
			}
		}
	}
	slices.Reverse(list)
	return list
}

// boundPins clears the results beside the calls for which older groups stay, and lets the oldest pins give
// way until the others have at most Keep.Tokens.
func (d *decision) boundPins() {
	// The latest events, up to Config.Tail, are left as they are.
	tail := int64(math.MaxInt64)
	used := 0
	for _, g := range slices.Backward(d.groups) {
		used += d.m.View(g.Events, "")
		if used > d.s.Tail {
			break
		}
		tail = g.Newest()
	}

	sizes := map[*group]int{} // of the pins, without what can be cleared
	for _, g := range d.groups {
		if g.stays != stayPinned && g.stays != stayOpen {
			continue
		}
		beside := d.results(g)
		if g.Newest() < tail {
			d.clear(gaveBeside, beside...)
			beside = nil
		}
		if !g.pinned {
			continue
		}
		sizes[g] = d.m.View(g.Events, "")
		for _, r := range beside {
			sizes[g] -= r.Gain
		}
		d.p.Pinned += sizes[g]
	}
	left := d.p.Pinned
	for _, g := range d.groups {
		if g.pinned && left > d.s.Keep.Tokens {
			left -= sizes[g]
			d.giveWay(g, gaveTokens)
			if g.goal {
				d.stay(g, stayGoal)
			}
		}
	}
}

// makeRoom takes more out of the prompt, step by step, until the rest fits into the room. What no model has seen
// is cut at the end, to the room that is left then, and may have half of the room before.
func (d *decision) makeRoom() {
	// The tail, and then the first message, are summarized. There must be something to summarize, unless cutting
	// is enough.
	share := d.room / 2
	for _, why := range []string{stayTail, stayGoal} {
		if d.least(share) <= d.room && (d.coversSomething() || d.p.Kept > d.room) {
			break
		}
		for _, g := range d.groups {
			if g.stays == why {
				d.giveWay(g, gaveRoom)
			}
		}
	}

	// Lines in place of results. Then pins give way. The summary needs room too: if nothing is covered, the
	// one before stays as it is.
	heading := d.m.Heading(d.inv.Live)
	if d.s.TextOnly && d.coversSomething() {
		heading = 0
	} else if d.coversSomething() {
		heading = min(heading, d.s.Summary/4)
	}
	room := d.room - heading
	fits := room
	d.clearLargest(room, share, d.results)
	for _, g := range d.groups {
		if d.least(share) > room && g.stays == stayPinned {
			d.giveWay(g, gaveRoom)
		}
	}

	// Lines in place of arguments, and then nothing in place of open calls. These leave room for the whole
	// summary, and for what comes next: else the next prompt would have to be made smaller again.
	roomy := d.t.Limit - d.s.Summary - d.s.MinGain
	if !d.s.TextOnly {
		room = min(room, roomy)
	}
	share /= 2
	d.clearLargest(room, share, d.arguments)
	for _, g := range d.groups {
		own := slices.ContainsFunc(g.Events,
			func(e *session.Event) bool { return e.InvocationID == d.inv.ID })
		if d.least(share) > room && g.stays == stayOpen && g.Open &&
			!own && !d.hasUnseen(g) { // an agent's words as it answers a call are not hidden
			d.hide(g)
		}
	}

	// What no model has seen is cut, so that the summary has its whole room, or more where that is not enough. If not
	// even that fits, what is of earlier invocations is summarized: else the session could not go on. No model is
	// asked with a text only, so there all of it is.
	d.cut(min(room, roomy), d.room/8)
	d.cut(fits, 0)
	if d.s.TextOnly {
		fits = roomy
	}
	for _, g := range d.groups {
		own := slices.ContainsFunc(g.Events,
			func(e *session.Event) bool { return e.InvocationID == d.inv.ID })
		if d.p.Kept > fits && g.stays == stayUnseen && (!own || d.s.TextOnly) {
			d.giveWay(g, gaveRoom)
		}
	}
}

// coversSomething reports whether a group does not stay.
func (d *decision) coversSomething() bool {
	return slices.ContainsFunc(d.groups, func(g *group) bool { return g.stays == "" })
}

// clearLargest clears parts of the groups that stay, the largest first, until what stays fits into a room, with
// a share of it for what can be cut.
func (d *decision) clearLargest(room, share int, of func(*group) []result) {
	if d.least(share) <= room {
		return
	}
	var results []result
	for _, g := range d.groups {
		if g.stays != "" {
			results = append(results, of(g)...)
		}
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(b.Gain, a.Gain) })
	for _, r := range results {
		if d.least(share) > room {
			d.clear(gaveRoom, r)
		}
	}
}

// results returns the results in a group that can be cleared. Results of tools that Config.Keep names cannot, and
// neither can those that no model has seen.
func (d *decision) results(g *group) []result {
	return d.clearable(g, Smallest/4, func(e *session.Event, p *genai.Part) bool {
		return p.FunctionResponse != nil && !d.unseen[p.FunctionResponse] && !d.s.namesWhole(e) &&
			!slices.Contains(d.s.Keep.Tools, p.FunctionResponse.Name)
	})
}

// arguments returns the arguments of a group's open calls that can be cleared. A part with a signature must
// not be changed.
func (d *decision) arguments(g *group) []result {
	return d.clearable(g, Smallest/4, func(_ *session.Event, p *genai.Part) bool {
		return g.Open && p.FunctionCall != nil && len(p.ThoughtSignature) == 0
	})
}

// clearable returns those parts of a group that may be cleared, and are shorter by at least so many tokens then.
func (d *decision) clearable(g *group, least int, may func(*session.Event, *genai.Part) bool) []result {
	return d.parts(g, func(e *session.Event, i int) (meter.Result, bool) {
		if !may(e, e.Content.Parts[i]) {
			return meter.Result{}, false
		}
		return d.m.Clearable(e, i, least)
	})
}

// parts returns the parts of a group of which get returns a result.
func (d *decision) parts(g *group, get func(*session.Event, int) (meter.Result, bool)) (list []result) {
	for _, e := range g.Events {
		if e.Content == nil {
			continue
		}
		for i, p := range e.Content.Parts {
			if p == nil {
				continue
			}
			r, ok := get(e, i)
			if ok {
				list = append(list, result{Result: r, group: g})
			}
		}
	}
	return list
}

// hide leaves a group's calls out of the prompt, and their responses with them.
func (d *decision) hide(g *group) {
	d.change(g, func() {
		for _, e := range g.Events {
			calls := len(e.FunctionCalls())
			if calls+len(e.FunctionResponses()) > 0 && !d.m.Cleared.Hidden[e.Seq] {
				d.m.Hide(e)
				d.gave[e.Seq] = gaveRoom
				d.p.Hidden += calls
			}
		}
	})
}
