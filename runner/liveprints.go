package runner

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// livePrints finds out whether somebody has changed the live view, or the state, in place. Hooks, tools, agents and the
// caller share it, and none may change it. A model request is made from it, so it is compared before.
//
// A fingerprint is taken of every event of the run when it is appended. Of the events that the run began with
// it is taken of a sample, since all of them would cost a third of reading the events: of the last
// sampleSize, and of as many others, others in each run. An event is compared at the first request after its
// fingerprint was taken, and after that in turn: sampleSize of them for each request.
//
// The state is compared whole, then and before an event changes it.
type livePrints struct {
	view     []*session.Event // which events the live view has
	prints   []fingerprint    // of the events of view, 0 where none was taken
	taken    []int            // the indexes in view where one was
	compared int              // so many of taken, from its beginning, were compared
	next     int              // the first of the next sample in taken

	state      map[string]any // which map the state is, and its fingerprint
	statePrint uint64
}

// sampleSize is how many events are compared again for one request.
const sampleSize = 64

// read takes in a view that was just read.
func (l *livePrints) read(live []*session.Event) {
	*l = livePrints{view: slices.Clone(live), prints: make([]fingerprint, len(live))}
	older := max(0, len(live)-sampleSize)
	step := max(1, older/sampleSize)
	for i := rand.IntN(step); i < older; i += step {
		l.take(i)
	}
	for i := older; i < len(live); i++ {
		l.take(i)
	}
}

func (l *livePrints) take(i int) {
	l.prints[i] = fingerprintOf(l.view[i])
	l.taken = append(l.taken, i)
}

// appended takes in an event that was just appended. live is the view with it.
func (l *livePrints) appended(e *session.Event, live []*session.Event) {
	if !e.Marker() {
		l.view = append(l.view, e)
		l.prints = append(l.prints, 0)
		l.take(len(l.view) - 1)
		return
	}

	// A compaction: what it stands for is gone, and the order is another one.
	was := make(map[*session.Event]fingerprint, len(l.taken))
	for _, i := range l.taken {
		was[l.view[i]] = l.prints[i]
	}
	l.view = slices.Clone(live)
	l.prints = make([]fingerprint, len(live))
	l.taken = nil
	l.compared = 0
	for i, kept := range live {
		print, taken := was[kept]
		switch {
		case taken:
			l.prints[i] = print
			l.taken = append(l.taken, i)
		case kept == e:
			l.take(i)
		}
	}
}

// lend takes in the state that hooks are about to be given.
func (l *livePrints) lend(state map[string]any) {
	if reflect.ValueOf(state).Pointer() == reflect.ValueOf(l.state).Pointer() {
		return
	}
	l.state = state
	l.statePrint = hashObject(0, state, 0)
}

// compareState returns an error if the state was changed in place.
func (l *livePrints) compareState() error {
	if l.state == nil || hashObject(0, l.state, 0) == l.statePrint {
		return nil
	}
	return fmt.Errorf("runner: the state: %w. It was changed by a hook, a tool or an agent that was given it;"+
		" it is changed by the StateDelta of an event. What is run next reads it from the store", plugin.ErrInPlace)
}

// compare returns an error if the live view or the state was changed in place, as far as this comparison goes.
func (l *livePrints) compare(live []*session.Event) error {
	if err := l.compareState(); err != nil {
		return err
	}

	// Has another event been put in the place of one?
	for i, e := range l.view {
		if live[i] != e {
			return changedInLog(e)
		}
	}

	// A sample of the events that were compared before.
	for range min(sampleSize, l.compared) {
		l.next %= l.compared
		if err := l.compareOne(l.taken[l.next]); err != nil {
			return err
		}
		l.next++
	}

	// All that were not.
	for ; l.compared < len(l.taken); l.compared++ {
		if err := l.compareOne(l.taken[l.compared]); err != nil {
			return err
		}
	}
	return nil
}

func (l *livePrints) compareOne(i int) error {
	if fingerprintOf(l.view[i]) == l.prints[i] {
		return nil
	}
	return changedInLog(l.view[i])
}

func changedInLog(e *session.Event) error {
	return fmt.Errorf("runner: event %q, number %d of the log: %w. It was changed after it was appended, by a hook,"+
		" a tool, an agent or the caller. The log has it as it was: what is run next reads it from there",
		e.ID, e.Seq, plugin.ErrInPlace)
}
