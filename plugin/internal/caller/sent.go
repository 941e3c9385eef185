package caller

import (
	"encoding/json"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// maxSent is how many bytes of events a plugin is made to keep. Beyond that it is told to forget
// sessions.
const maxSent = 64 << 20

// Sent is what a plugin has been sent of the sessions, and need not be sent again. The zero Sent
// is nothing. Its methods must not be called at once.
type Sent struct {
	sessions map[session.Key]*sentSession
	bytes    int
	clock    int // counts uses
}

// sentSession is what a plugin has been sent of one session.
type sentSession struct {
	events   map[int64]bool     // by position
	offered  map[string]offered // by ID: seen in OnEvent, and not known to be appended
	state    map[string]any
	contents []*genai.Content // of the last request
	fresh    bool             // nothing was sent yet
	bytes    int
	used     int
}

type offered struct {
	event *session.Event
	size  int
}

// session returns what the plugin has of a session. If it has nothing, the result is empty and
// fresh.
func (x *Sent) session(key session.Key) *sentSession {
	s := x.sessions[key]
	if s == nil {
		s = &sentSession{events: map[int64]bool{}, offered: map[string]offered{}, fresh: true}
		if x.sessions == nil {
			x.sessions = map[session.Key]*sentSession{}
		}
		x.sessions[key] = s
	}
	x.clock++
	s.used = x.clock
	return s
}

// Forget returns the session that the plugin is to forget next: the one that was used longest
// ago, if the plugin has too much. The session but is kept.
func (x *Sent) Forget(but session.Key) (key session.Key, ok bool) {
	if x.bytes <= maxSent {
		return key, false
	}
	oldest := -1
	for other, s := range x.sessions {
		if other != but && (oldest < 0 || s.used < oldest) {
			key = other
			oldest = s.used
			ok = true
		}
	}
	if ok {
		x.Drop(key)
	}
	return key, ok
}

// Drop notes that the plugin has nothing of a session, or nobody knows what.
func (x *Sent) Drop(key session.Key) {
	if s := x.sessions[key]; s != nil {
		x.bytes -= s.bytes
		delete(x.sessions, key)
	}
}

// invocation returns an invocation as a message, with what the plugin does not have.
func (x *Sent) invocation(inv *session.Invocation) (*wire.Invocation, error) {
	s := x.session(inv.Key)
	if s.bytes > maxSent/2 && len(s.events) > 2*len(inv.Live) { // a compaction has replaced most of it by now
		x.Drop(inv.Key)
		s = x.session(inv.Key)
	}
	w := &wire.Invocation{
		Fresh:     s.fresh,
		Id:        inv.ID,
		Key:       message.WireKey(inv.Key),
		Create:    inv.Config.Create,
		Streaming: string(inv.Config.Streaming),
		Position:  inv.Position,
		Frontier:  inv.Frontier,
	}
	s.fresh = false
	grow := func(n int) {
		s.bytes += n
		x.bytes += n
	}
	send := func(e *session.Event) error {
		if s.events[e.Seq] {
			return nil
		}
		s.events[e.Seq] = true
		was := s.offered[e.ID]
		delete(s.offered, e.ID)
		if was.event != nil && sameButSeq(was.event, e) {
			grow(was.size)
			w.Appended = append(w.Appended, &wire.Appended{Id: e.ID, Seq: e.Seq})
			return nil
		}
		data, err := message.EncodeEvent(e)
		w.Events = append(w.Events, data)
		grow(len(data))
		return err
	}
	for _, e := range inv.Live {
		n := len(w.Live)
		if n > 0 && w.Live[n-1].Last+1 == e.Seq {
			w.Live[n-1].Last = e.Seq
		} else {
			w.Live = append(w.Live, &wire.Span{First: e.Seq, Last: e.Seq})
		}
		if err := send(e); err != nil {
			return nil, err
		}
	}
	if inv.Input != nil {
		w.Input = inv.Input.Seq
		if err := send(inv.Input); err != nil {
			return nil, err
		}
	}
	var err error
	w.State, err = s.stateDelta(inv.State)
	return w, err
}

// stateDelta returns the keys of a state that have changed, as JSON, nil if none has.
func (s *sentSession) stateDelta(state map[string]any) ([]byte, error) {
	if reflect.ValueOf(s.state).UnsafePointer() == reflect.ValueOf(state).UnsafePointer() {
		return nil, nil
	}
	delta := map[string]any{}
	for key, v := range state {
		if was, ok := s.state[key]; !ok || !reflect.DeepEqual(was, v) {
			delta[key] = v
		}
	}
	for key := range s.state {
		if _, ok := state[key]; !ok {
			delta[key] = nil
		}
	}
	s.state = state
	if len(delta) == 0 {
		return nil, nil
	}
	return json.Marshal(delta)
}

// sameButSeq reports whether an event was appended as it was offered, but for its position.
func sameButSeq(offered, appended *session.Event) bool {
	a := *offered
	b := *appended
	a.Seq = b.Seq
	return reflect.DeepEqual(a, b)
}

// kept returns with how many contents of the previous request a request begins, and keeps its
// contents for the next.
func (s *sentSession) kept(contents []*genai.Content) int {
	n := 0
	for n < len(contents) && n < len(s.contents) && reflect.DeepEqual(contents[n], s.contents[n]) {
		n++
	}
	s.contents = contents
	return n
}
