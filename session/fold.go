package session

import (
	"cmp"
	"slices"
)

// A Fold is what somebody has computed of the first events of a live view, in their order. Whoever runs agents
// may keep it with the view for the next run on the session, which adds what is new (see Invocation.Folded).
type Fold interface {
	// Add takes in the next event. The event is shared, and may stay in the fold.
	Add(e *Event)
	// Bytes returns about how much memory the fold takes, without the events.
	Bytes() int64
}

// folded returns a fold over the first events of the live view, and how many these are: nil and 0 if nobody keeps
// any.
func (inv *Invocation) folded(key any, begin func() Fold) (fold Fold, events int) {
	if inv.Folded == nil {
		return nil, 0
	}
	return inv.Folded(key, begin)
}

// openCalls is the fold of the calls that are open.
type openCalls struct{ calls CallTracker }

// openCallsKey is its key.
type openCallsKey struct{}

func (o *openCalls) Add(e *Event) { o.calls.Add(e) }

func (o *openCalls) Bytes() int64 {
	const perCall = 200 // a Call, its key and its place in the map
	return int64(len(o.calls.of)) * perCall
}

// CallsSince returns the calls of the live view, as Calls does, without those that were answered at a position or
// before it: so those that are open now, those that were answered since, and no others. It need not look at the
// whole view.
func (inv *Invocation) CallsSince(position int64) []Call {
	// What was open when the view was kept?
	var open CallTracker
	var all []*Call
	fold, seen := inv.folded(openCallsKey{}, func() Fold { return new(openCalls) })
	if seen > 0 && inv.Live[seen-1].Seq <= position {
		open = fold.(*openCalls).calls.Clone()
		all = open.list()
	} else {
		seen = 0
	}

	// What has become of it, and what came since?
	before := map[*Call]bool{} // those that were answered by then
	for _, e := range inv.Live[seen:] {
		made, answered := open.Add(e)
		all = append(all, made...)
		for _, c := range answered {
			before[c] = e.Seq <= position
		}
	}
	var calls []Call
	for _, c := range all {
		if !before[c] {
			calls = append(calls, *c)
		}
	}
	return calls
}

// Clone returns a copy that goes on by itself.
func (o *CallTracker) Clone() CallTracker {
	c := CallTracker{of: make(map[openKey][]*Call, len(o.of)), said: o.said}
	for key, calls := range o.of {
		own := make([]*Call, len(calls))
		for i, call := range calls {
			own[i] = new(*call)
		}
		c.of[key] = own
	}
	return c
}

// Informed returns the open calls to which an event, the last that was added, has an interim response.
func (o *CallTracker) Informed(e *Event) []*Call {
	var informed []*Call
	for _, p := range e.Parts() {
		if p.FunctionResponse == nil {
			continue
		}
		for _, c := range o.of[callKey(p.FunctionResponse.ID, p.FunctionResponse.Name)] {
			n := len(c.Interim)
			if n > 0 && c.Interim[n-1].Event == e && !slices.Contains(informed, c) {
				informed = append(informed, c)
			}
		}
	}
	return informed
}

// list returns the calls that are open, in the order in which they were made.
func (o *CallTracker) list() []*Call {
	var calls []*Call
	for _, open := range o.of {
		calls = append(calls, open...)
	}
	slices.SortFunc(calls, (*Call).Compare)
	return calls
}

// Compare returns a number below 0 if the call was made before another one of the same log, above 0 if after it.
func (c *Call) Compare(other *Call) int {
	number := func(c *Call) int { return slices.Index(c.Event.FunctionCalls(), c.FunctionCall) }
	return cmp.Or(cmp.Compare(c.Event.Seq, other.Event.Seq), cmp.Compare(number(c), number(other)))
}
