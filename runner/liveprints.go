package runner

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// livePrints finds out whether somebody has changed the live view, or the state, in place. Hooks, tools, agents and the
// caller share it, and none may change it. A model request is made from it, so it is compared before.
//
// Of the events that the run began with a sample is compared at the first request: the last sampleSize, and as many
// others, others in each run. An event that the run appended is compared at the first request after that. Then
// sampleSize of all these are compared for each request, in turn.
//
// The state is compared whole, then and before an event changes it.
type livePrints struct {
	began    printed // what the run began with
	own      printed // what it appended; all that it has, after a compaction
	sample   []int   // indexes in began, chosen at the first request
	sampled  bool
	compared int // so many of own, from its beginning, were compared
	next     int // the next of sample and own to be compared again
	// beside is a comparison of what the run began with that goes on, nil if there is none.
	beside *comparison

	state      map[string]any // which map the state is, and its fingerprint
	statePrint uint64
}

// sampleSize is how many events are compared again for one request.
const sampleSize = 64

// printed are events of a live view, each with its fingerprint from before anybody was lent it.
type printed struct {
	events []*session.Event
	prints []fingerprint
	ids    []uint32 // hashes of the events' IDs: to look through them is fast
	named  []naming // events that name an input, which the log does not have
}

// A naming is of an event that names an input.
type naming struct {
	input string // its ID
	at    int    // where the event is
}

// notedInput returns the ID of the input that an event names, "" if it names none.
func notedInput(e *session.Event) string {
	notes, _ := e.CustomMetadata[session.NotesKey].(map[string]any)
	if notes["input"] == nil {
		return "" // most events: their notes need not be decoded
	}
	input := plugin.NotesOf(e).Input
	if input == nil {
		return ""
	}
	return input.ID
}

// add adds an event at the end. The elements before it stay as they are, for those who hold them.
func (p *printed) add(e *session.Event, print fingerprint) {
	if input := notedInput(e); input != "" {
		p.named = append(p.named, naming{input: input, at: len(p.events)})
	}
	p.events = append(p.events, e)
	p.prints = append(p.prints, print)
	p.ids = append(p.ids, hashOfID(e.ID))
}

func hashOfID(id string) uint32 { return uint32(maphash.String(hashSeed, id)) }

// changed reports whether event i is another one than it was.
func (p *printed) changed(i int) bool { return fingerprintOf(p.events[i]) != p.prints[i] }

// firstChanged returns the first event from one place up to another that is another one than it was, nil if none is.
func (p *printed) firstChanged(from, to int) *session.Event {
	for i := from; i < to; i++ {
		if p.changed(i) {
			return p.events[i]
		}
	}
	return nil
}

// index returns the place of the input with an ID, or else of the event that names it, -1 if there is neither.
func (p *printed) index(id string) int {
	hash := hashOfID(id)
	for from := 0; ; {
		i := slices.Index(p.ids[from:], hash)
		if i < 0 {
			break
		}
		if p.events[from+i].ID == id {
			return from + i
		}
		from += i + 1
	}
	for _, n := range p.named {
		if n.input == id {
			return n.at
		}
	}
	return -1
}

// read takes in a view that was just read, and the comparison of it that goes on, if there is one.
func (l *livePrints) read(live printed, beside *comparison) {
	*l = livePrints{began: live, beside: beside}
}

// appended takes in an event that was just appended. live is the view with it.
func (l *livePrints) appended(e *session.Event, live []*session.Event) {
	if !e.Marker() {
		l.own.add(e, fingerprintOf(e))
		return
	}

	// A compaction: what it stands for is gone, and the order is another one.
	was := make(map[*session.Event]fingerprint, len(l.began.events)+len(l.own.events))
	for _, p := range []printed{l.began, l.own} {
		for i, kept := range p.events {
			was[kept] = p.prints[i]
		}
	}
	l.read(printed{}, l.beside)
	for _, kept := range live {
		print, known := was[kept]
		if !known {
			print = fingerprintOf(kept)
		}
		l.own.add(kept, print)
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
	for i, e := range l.began.events {
		if live[i] != e {
			return changedInLog(e)
		}
	}
	for i, e := range l.own.events {
		if live[len(l.began.events)+i] != e {
			return changedInLog(e)
		}
	}

	// What has the comparison found that began after the run before?
	if l.beside != nil {
		<-l.beside.done
		if e := l.beside.found; e != nil {
			return changedInLog(e)
		}
		l.beside = nil
	}

	// A sample of the events that were compared before.
	before := len(l.sample) + l.compared
	for range min(sampleSize, before) {
		l.next %= before
		if l.next < len(l.sample) {
			if i := l.sample[l.next]; l.began.changed(i) {
				return changedInLog(l.began.events[i])
			}
		} else if i := l.next - len(l.sample); l.own.changed(i) {
			return changedInLog(l.own.events[i])
		}
		l.next++
	}

	// All that were not.
	if !l.sampled {
		l.sampled = true
		l.sample = sampleOf(len(l.began.events))
		for _, i := range l.sample {
			if l.began.changed(i) {
				return changedInLog(l.began.events[i])
			}
		}
	}
	for ; l.compared < len(l.own.events); l.compared++ {
		if l.own.changed(l.compared) {
			return changedInLog(l.own.events[l.compared])
		}
	}
	return nil
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

func changedInLog(e *session.Event) error {
	return fmt.Errorf("runner: event %q, number %d of the log: %w. It was changed after it was appended, by a hook,"+
		" a tool, an agent or the caller. The log has it as it was: what is run next reads it from there",
		e.ID, e.Seq, plugin.ErrInPlace)
}
