package session

import (
	"cmp"
	"math"
	"slices"
)

// An EventStatus says what has become of an event of a log. The zero EventStatus is that of a rewind in force: it is
// not in the view, and nothing has voided it.
type EventStatus struct {
	// Live says that the event is in the live view.
	Live bool
	// Behind is the position of the compaction that stands for the event, 0 if none does. That one may stand
	// behind a later one itself; the last of them heads the view.
	Behind int64
	// Void is the position of the rewind in force that voids the event, 0 if none does.
	Void int64
}

// EventStatuses tells what has become of each event of a log. Add takes in the whole log in order; after that,
// Of answers. Only the places of compactions and rewinds are kept, so a long log can be read once for Add
// and once more for Of. The zero EventStatuses is that of an empty log.
//
// The law, for every log: an event is Live exactly if it is in Live(log).
type EventStatuses struct {
	marks    []mark
	resolved bool
	voids    []void // ascending, not overlapping
	heads    []mark // the compactions that count, ascending
}

// mark is a compaction, or a rewind to a position if it has no compaction.
type mark struct {
	seq, to int64
	c       *Compaction // without its content
}

type void struct{ first, last, by int64 }

// Add takes in the log's next event.
func (s *EventStatuses) Add(e *Event) {
	if r := e.Actions.Rewind; r != nil {
		s.marks = append(s.marks, mark{seq: e.Seq, to: r.To})
		s.resolved = false
	} else if c := e.compaction(); c != nil {
		s.marks = append(s.marks, mark{seq: e.Seq, c: &Compaction{Through: c.Through, Keep: c.Keep}})
		s.resolved = false
	}
}

// resolve walks as Live does.
func (s *EventStatuses) resolve() {
	s.voids = nil
	s.heads = nil
	s.resolved = true
	last := int64(math.MaxInt64) // of what the walk has not skipped
	for _, m := range slices.Backward(s.marks) {
		switch {
		case m.seq > last:
		case m.c != nil:
			s.heads = append(s.heads, m)
		default:
			if m.to < m.seq-1 {
				s.voids = append(s.voids, void{m.to + 1, m.seq - 1, m.seq})
			}
			last = min(last, m.to)
		}
	}
	slices.Reverse(s.voids)
	slices.Reverse(s.heads)
}

// Of returns the status of an event that was added.
func (s *EventStatuses) Of(e *Event) EventStatus {
	if !s.resolved {
		s.resolve()
	}
	i, _ := slices.BinarySearchFunc(s.voids, e.Seq, func(v void, seq int64) int { return cmp.Compare(v.last, seq) })
	if i < len(s.voids) && s.voids[i].first <= e.Seq {
		return EventStatus{Void: s.voids[i].by}
	}
	if e.Actions.Rewind != nil {
		return EventStatus{}
	}
	after, _ := slices.BinarySearchFunc(s.heads, e.Seq+1, func(m mark, seq int64) int { return cmp.Compare(m.seq, seq) })
	later := s.heads[after:]
	if len(later) == 0 {
		return EventStatus{Live: true}
	}
	if e.compaction() != nil {
		return EventStatus{Behind: later[0].seq}
	}
	covers := func(m mark) bool { return e.Seq <= m.c.Through && !slices.Contains(m.c.Keep, e.Seq) }
	if !covers(later[len(later)-1]) {
		return EventStatus{Live: true}
	}
	return EventStatus{Behind: later[slices.IndexFunc(later, covers)].seq}
}
