package caller

import (
	"encoding/json"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// maxSent is how many bytes of events a plugin is asked to keep.
const maxSent = 64 << 20

// sent is what a plugin has of the sessions: what need not be sent again. It belongs to who holds the
// connection's lock.
type Sent struct {
	sessions map[session.Key]*sentSession
	bytes    int
	clock    int // counts uses
}

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

// session returns what the plugin has of a session; it is empty, and said to be fresh, if that is nothing.
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

// forget returns a session to be dropped, the one that was not used for longest, if there is too much.
func (x *Sent) Forget(but session.Key) (key session.Key, ok bool) {
	if x.bytes <= maxSent {
		return key, false
	}
	oldest := -1
	for other, s := range x.sessions {
		if other != but && (oldest < 0 || s.used < oldest) {
			key, oldest, ok = other, s.used, true
		}
	}
	if ok {
		x.Drop(key)
	}
	return key, ok
}

func (x *Sent) Drop(key session.Key) {
	if s := x.sessions[key]; s != nil {
		x.bytes -= s.bytes
		delete(x.sessions, key)
	}
}

// invocation returns an invocation for the wire, with what the plugin has not got.
func (x *Sent) invocation(inv *session.Invocation) (*wire.Invocation, error) {
	s := x.session(inv.Key)
	if s.bytes > maxSent/2 && len(s.events) > 2*len(inv.Live) { // most of it is behind a compaction by now
		x.Drop(inv.Key)
		s = x.session(inv.Key)
	}
	w := &wire.Invocation{Fresh: s.fresh, Id: inv.ID, Key: message.WireKey(inv.Key), Create: inv.Config.Create, Streaming: string(inv.Config.Streaming),
		Position: inv.Position, Frontier: inv.Frontier}
	s.fresh = false
	grow := func(n int) { s.bytes, x.bytes = s.bytes+n, x.bytes+n }
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
		if n := len(w.Live); n > 0 && w.Live[n-1].Last+1 == e.Seq {
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

// sameButSeq reports whether an event was appended as it was offered: it shares all that it points to.
func sameButSeq(offered, appended *session.Event) bool {
	a, b := *offered, *appended
	a.Seq = b.Seq
	return reflect.DeepEqual(a, b)
}

// kept returns how many contents of a request are those of the request before it.
func (s *sentSession) kept(contents []*genai.Content) int {
	n := 0
	for n < len(contents) && n < len(s.contents) && reflect.DeepEqual(contents[n], s.contents[n]) {
		n++
	}
	s.contents = contents
	return n
}
