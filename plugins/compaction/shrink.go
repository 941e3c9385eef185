package compaction

import (
	"cmp"
	"slices"

	"github.com/plughook/plughook/session"
)

// others returns the results in a group that can be cleared: all but those of calls that Config.Keep names.
func (k *compactor) others(m meter, g *group) (list []result) {
	for _, e := range g.events {
		if e.Content == nil || slices.Contains(k.Keep.Authors, e.Author) || slices.Contains(k.Keep.Events, e.ID) {
			continue
		}
		for i, part := range e.Content.Parts {
			if part == nil || part.FunctionResponse == nil || slices.Contains(k.Keep.Tools, part.FunctionResponse.Name) {
				continue
			}
			if r, ok := m.clearable(e, i, smallest/4); ok {
				list = append(list, r)
			}
		}
	}
	return list
}

// clear notes that results are cleared.
func (p *Plan) clear(m meter, results ...result) {
	m.clear(results...)
	p.Cleared += len(results)
}

// shrink makes what stays fit into the room: results become lines, the largest first; then pins give way, the oldest first;
// then the arguments of open calls become lines; then open calls of earlier invocations are hidden, the oldest first.
func (k *compactor) shrink(p *Plan, inv *session.Invocation, t task, groups []*group, room int, size func(*group) int) {
	m := p.meter
	if !k.measureTextOnly {
		// The summary needs room too: if nothing is covered, the one before stays as it is.
		heading := m.heading(inv.Live)
		if slices.ContainsFunc(groups, func(g *group) bool { return !g.stays }) {
			heading = min(heading, k.Summary/4)
		}
		room -= heading
	}
	of := map[*session.Event]*group{}
	for _, g := range groups {
		for _, e := range g.events {
			of[e] = g
		}
	}
	change := func(g *group, do func()) {
		if g.stays {
			p.Kept -= size(g)
		}
		do()
		if g.stays {
			p.Kept += size(g)
		}
	}
	clear := func(results []result) {
		slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(b.gain, a.gain) })
		for _, r := range results {
			if p.Kept <= room {
				return
			}
			change(of[r.event], func() { p.clear(m, r) })
		}
	}
	oldest := slices.Clone(groups)
	slices.SortStableFunc(oldest, oldestFirst)

	// Lines in place of results. Then pins give way.
	if p.Kept > room {
		var results []result
		for _, g := range groups {
			if g.stays {
				results = append(results, k.others(m, g)...)
			}
		}
		clear(results)
	}
	for _, g := range oldest {
		if p.Kept > room && g.why == stayPinned {
			change(g, g.giveWay)
		}
	}

	// Lines in place of arguments, and then nothing in place of open calls. These leave room for the whole summary, and for
	// what comes next: else the next prompt would have to be made smaller again.
	if !k.measureTextOnly {
		room = min(room, t.limit-k.Summary-k.MinGain)
	}
	if p.Kept <= room {
		return
	}
	var arguments []result
	for _, g := range groups {
		if g.stays && g.open {
			arguments = append(arguments, m.arguments(g)...)
		}
	}
	clear(arguments)
	for _, g := range oldest {
		if p.Kept <= room {
			return
		}
		own := slices.ContainsFunc(g.events, func(e *session.Event) bool { return e.InvocationID == inv.ID })
		if g.why != stayOpen || !g.open || own { // what is not open is the conversation in which an agent answers a call
			continue
		}
		change(g, func() { p.hide(m, g) })
	}
}

// hide notes that a group's calls are not shown.
func (p *Plan) hide(m meter, g *group) {
	for _, e := range g.events {
		calls := len(e.FunctionCalls())
		responses := len(e.FunctionResponses()) // they are shown with their calls
		if calls+responses > 0 && !m.cleared.hidden[e.Seq] {
			m.cleared.hidden[e.Seq] = true
			delete(m.of, e)
			p.Hidden += calls
		}
	}
}

// arguments returns the arguments of a group's calls that can be cleared. A part with a signature must not be changed.
func (m *meter) arguments(g *group) (list []result) {
	for _, e := range g.events {
		if e.Content == nil {
			continue
		}
		for i, part := range e.Content.Parts {
			if part == nil || part.FunctionCall == nil || len(part.ThoughtSignature) > 0 {
				continue
			}
			if r, ok := m.clearable(e, i, smallest/4); ok {
				list = append(list, r)
			}
		}
	}
	return list
}
