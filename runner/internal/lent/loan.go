package lent

import (
	"fmt"
	"math/rand/v2"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A Loan is the live view and the state that one run lends. It finds out whether somebody has changed them in
// place. The runner asks it before each model request, since a request is made from them.
//
// Of the events that the run began with a sample is compared at the first request: the last sampleSize, and
// as many others, others in each run. An event that the run appended is compared at the first request after
// that. Then sampleSize of all these are compared for each request, in turn.
//
// The state is compared whole, then and before an event changes it.
type Loan struct {
	// Discarded is an event that somebody has changed in place in the view that was kept, nil if there is
	// none. So that view was discarded, and the session read anew.
	Discarded *session.Event
	// Folds are what is kept with the view, nil if the view has changed since otherwise than by appends.
	Folds *Folds

	began    printedEvents // what the run began with
	own      printedEvents // what it appended; all that it has, after a compaction
	sample   []int         // indexes in began, chosen at the first request
	sampled  bool
	compared int // so many of own, from its beginning, were compared
	next     int // the next of sample and own to be compared again
	// background is a comparison of what the run began with that goes on, nil if there is none.
	background *comparison

	state      map[string]any // which map the state is, and its fingerprint
	statePrint uint64
}

// sampleSize is how many events are compared again for one request.
const sampleSize = 64

// Events returns the live view that the run began with.
func (l *Loan) Events() []*session.Event { return l.began.events }

// InputIndex returns the index, in Events, of the input with an ID, or else of the event that names that
// input in its notes. It is -1 if there is neither.
func (l *Loan) InputIndex(id string) int { return l.began.inputIndex(id) }

// Append takes in an event that was just appended. live is the view with it.
func (l *Loan) Append(e *session.Event, live []*session.Event) {
	if !e.Marker() {
		l.own.add(e, FingerprintOf(e))
		return
	}

	// A compaction: what it stands for is gone, and the order is another one.
	before := make(map[*session.Event]Fingerprint, len(l.began.events)+len(l.own.events))
	for _, p := range []printedEvents{l.began, l.own} {
		for i, kept := range p.events {
			before[kept] = p.prints[i]
		}
	}
	*l = Loan{background: l.background}
	for _, kept := range live {
		print, known := before[kept]
		if !known {
			print = FingerprintOf(kept)
		}
		l.own.add(kept, print)
	}
}

// LendState takes in the state that hooks are about to be given.
func (l *Loan) LendState(state map[string]any) {
	if sameMap(state, l.state) {
		return
	}
	l.state = state
	l.statePrint = hashObject(0, state, 0)
}

// CheckState returns an error if the state was changed in place.
func (l *Loan) CheckState() error {
	if l.state == nil || hashObject(0, l.state, 0) == l.statePrint {
		return nil
	}
	return fmt.Errorf("runner: the state: %w. It was changed by a hook, a tool or an agent that was given it;"+
		" it is changed by the StateDelta of an event. What is run next reads it from the store", plugin.ErrInPlace)
}

// Check returns an error if the live view or the state was changed in place, as far as this comparison goes.
// live is the view now.
func (l *Loan) Check(live []*session.Event) error {
	if err := l.CheckState(); err != nil {
		return err
	}
	if e := l.findChanged(live); e != nil {
		return fmt.Errorf("runner: event %q, number %d of the log: %w. It was changed after it was appended, by a hook,"+
			" a tool, an agent or the caller. The log has it as it was: what is run next reads it from there",
			e.ID, e.Seq, plugin.ErrInPlace)
	}
	return nil
}

// findChanged returns an event of the live view that was changed, or replaced by another one; nil if it finds
// none.
func (l *Loan) findChanged(live []*session.Event) *session.Event {
	// Does another event stand where one stood?
	for i, e := range l.began.events {
		if live[i] != e {
			return e
		}
	}
	for i, e := range l.own.events {
		if live[len(l.began.events)+i] != e {
			return e
		}
	}

	// What has the comparison found that began after the run before?
	if l.background != nil {
		<-l.background.done
		if e := l.background.found; e != nil {
			return e
		}
		l.background = nil
	}

	// Some of the events that were compared before.
	before := len(l.sample) + l.compared
	for range min(sampleSize, before) {
		l.next %= before
		if l.next < len(l.sample) {
			if i := l.sample[l.next]; l.began.changed(i) {
				return l.began.events[i]
			}
		} else if i := l.next - len(l.sample); l.own.changed(i) {
			return l.own.events[i]
		}
		l.next++
	}

	// The sample, and all new events, for the first time.
	if !l.sampled {
		l.sampled = true
		l.sample = sampleOf(len(l.began.events))
		for _, i := range l.sample {
			if l.began.changed(i) {
				return l.began.events[i]
			}
		}
	}
	e := l.own.firstChanged(l.compared, len(l.own.events))
	l.compared = len(l.own.events)
	return e
}

// sampleOf returns which of n events are compared: the last ones, and as many others, at random.
func sampleOf(n int) []int {
	var sample []int
	older := max(0, n-sampleSize)
	step := max(1, older/sampleSize)
	for i := rand.IntN(step); i < older; i += step {
		sample = append(sample, i)
	}
	for i := older; i < n; i++ {
		sample = append(sample, i)
	}
	return sample
}
