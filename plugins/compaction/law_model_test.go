package compaction_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/plughook/plughook/session"
)

// A naive view is what a log means, computed from its definition and remembered for every position: an
// event is added, a compaction stands for a set, a rewind goes back to the view that there was. It takes
// O(N²) of space.
type naive struct {
	log   []*session.Event
	views []naiveView // views[n] is after n events
}

type naiveView struct {
	head     int64   // of the compaction at its head, 0 if there is none
	raw      []int64 // ascending
	behind   map[int64]int64
	frontier int64
	state    map[string]any
}

func newNaive(initial map[string]any) *naive {
	return &naive{views: []naiveView{{behind: map[int64]int64{}, state: initial}}}
}

// add takes in the log's next event.
func (n *naive) add(e *session.Event) {
	v := n.views[len(n.views)-1]
	c := e.Actions.Compaction
	switch {
	case e.Actions.Rewind != nil:
		v = n.views[e.Actions.Rewind.To]
		v.frontier = e.Seq
	case c != nil && e.Marker():
		next := naiveView{
			head:     e.Seq,
			behind:   maps.Clone(v.behind),
			frontier: e.Seq,
			state:    v.state,
		}
		if v.head != 0 {
			next.behind[v.head] = e.Seq
		}
		for _, seq := range v.raw {
			if seq <= c.Through && !slices.Contains(c.Keep, seq) {
				next.behind[seq] = e.Seq
			} else {
				next.raw = append(next.raw, seq)
			}
		}
		v = next
	default:
		v.raw = append(slices.Clone(v.raw), e.Seq)
	}
	if len(e.Actions.StateDelta) > 0 {
		v.state = maps.Clone(v.state)
		maps.Copy(v.state, e.Actions.StateDelta)
	}
	n.log, n.views = append(n.log, e), append(n.views, v)
}

func (n *naive) now() naiveView { return n.views[len(n.views)-1] }

// live returns the view as positions, head first.
func (v *naiveView) live() []int64 {
	if v.head == 0 {
		return v.raw
	}
	return append([]int64{v.head}, v.raw...)
}

// events returns the view's events.
func (n *naive) events(v naiveView) (list []*session.Event) {
	for _, seq := range v.live() {
		list = append(list, n.log[seq-1])
	}
	return list
}

// covered returns what the compaction at a position newly stands for, raw events only, and the
// compaction that it stands for, 0 if none.
func (n *naive) covered(seq int64) (fresh []int64, prior int64) {
	before, after := n.views[seq-1], n.views[seq]
	for _, s := range before.raw {
		if after.behind[s] == seq {
			fresh = append(fresh, s)
		}
	}
	return fresh, before.head
}

// fate is what session.EventStatuses is to say.
func (n *naive) fate(seq int64) session.EventStatus {
	v := n.now()
	if seq == v.head || slices.Contains(v.raw, seq) {
		return session.EventStatus{Live: true}
	}
	return session.EventStatus{Behind: v.behind[seq]}
}

// differs compares the whole of what a store says with the model.
func (n *naive) differs(s *session.Session, live []*session.Event) error {
	v := n.now()
	if got, want := seqs(live), v.live(); !slices.Equal(got, want) {
		return fmt.Errorf("the store's live view is %v, want %v", got, want)
	}
	if got, want := seqs(session.Live(n.log)), v.live(); !slices.Equal(got, want) {
		return fmt.Errorf("session.Live is %v, want %v", got, want)
	}
	if s.Frontier != v.frontier || s.Position != int64(len(n.log)) {
		return fmt.Errorf("frontier and position are %d and %d, want %d and %d", s.Frontier,
			s.Position, v.frontier, len(n.log))
	}
	for key, want := range v.state {
		if fmt.Sprint(s.State[key]) != fmt.Sprint(want) {
			return fmt.Errorf("state key %q is %v, want %v", key, s.State[key], want)
		}
	}
	var fates session.EventStatuses
	for _, e := range n.log {
		fates.Add(e)
	}
	for _, e := range n.log {
		got, want := fates.Of(e), n.fate(e.Seq)
		got.Void = 0 // which rewind it was the view does not say
		if got != want {
			return fmt.Errorf("the fate of event %d is %+v, want %+v", e.Seq, got, want)
		}
	}
	return nil
}

func seqs(events []*session.Event) (list []int64) {
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}
