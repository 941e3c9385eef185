package caller

import (
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"time"

	"google.golang.org/genai"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// Besides what is in them, a session and an event take about so many bytes.
const (
	perSession = 2048
	perEvent   = 500
)

// errOtherSession says that the session was deleted, and another one made under its key.
var errOtherSession = errors.New("another session has this key now")

// sentSession is what a plugin has been sent of one session.
type sentSession struct {
	key     session.Key
	number  int64 // of the session in its store
	used    time.Time
	counted int    // its bytes, as they are in Sent.bytes
	fresh   bool   // nothing was sent yet
	run     string // the invocation of the last call

	events       map[int64]sentEvent // by position: what was live in the last call, and its input
	eventBytes   int
	offered      map[string]offeredEvent // by ID: seen in OnEvent, and not known to be appended
	offeredBytes int
	state        map[string]any
	stateSizes   map[string]int // by key
	stateBytes   int
	contents     []*genai.Content // of the last request
	contentSizes []int
	contentBytes int
}

// sentEvent is an event that the plugin has.
type sentEvent struct {
	identity uint64
	size     int // in memory
}

var seed = maphash.MakeSeed()

// identity returns a number that tells an event from the one that another session had at the same
// position, before it was deleted and a session was made under its key.
func identity(e *session.Event) uint64 {
	return maphash.String(seed, e.ID) + uint64(e.Timestamp.UnixNano())
}

// offeredEvent is an event that the plugin was offered.
type offeredEvent struct {
	event *session.Event
	size  int // in memory
}

func newSentSession(key session.Key) *sentSession {
	return &sentSession{
		key:        key,
		fresh:      true,
		events:     map[int64]sentEvent{},
		offered:    map[string]offeredEvent{},
		stateSizes: map[string]int{},
	}
}

// bytes returns about how much memory the session takes.
func (s *sentSession) bytes() int {
	keys := len(s.key.App) + len(s.key.User) + len(s.key.ID)
	return perSession + keys + s.eventBytes + s.offeredBytes + s.stateBytes + s.contentBytes
}

// invocation returns an invocation as a message, with what the plugin does not have of it.
func (s *sentSession) invocation(inv *session.Invocation) (*wire.Invocation, error) {
	if s.fresh {
		s.number = inv.Number
	}
	if s.number != inv.Number {
		return nil, errOtherSession
	}
	w := &wire.Invocation{
		Fresh:     s.fresh,
		Id:        inv.ID,
		Key:       message.WireKey(inv.Key),
		Create:    inv.Config.Create,
		Streaming: string(inv.Config.Streaming),
		Position:  inv.Position,
		Frontier:  inv.Frontier,
		Now:       timestamppb.New(inv.Now()),
	}
	s.fresh = false

	// The events that are live, and the input.
	for _, e := range inv.Live {
		n := len(w.Live)
		if n > 0 && w.Live[n-1].Last+1 == e.Seq {
			w.Live[n-1].Last = e.Seq
		} else {
			w.Live = append(w.Live, &wire.Span{First: e.Seq, Last: e.Seq})
		}
		if err := s.addEvent(w, e); err != nil {
			return nil, err
		}
	}
	if inv.Input != nil {
		w.Input = inv.Input.Seq
		if err := s.addEvent(w, inv.Input); err != nil {
			return nil, err
		}
	}

	// The plugin may drop all others, and what it was offered in an earlier invocation.
	s.dropEvents(inv)
	if s.run != inv.ID {
		s.run = inv.ID
		s.dropOffered()
	}

	var err error
	w.State, err = s.stateDelta(inv.State)
	return w, err
}

// addEvent adds an event to a message, unless the plugin has it.
func (s *sentSession) addEvent(w *wire.Invocation, e *session.Event) error {
	if sent, ok := s.events[e.Seq]; ok {
		if sent.identity != identity(e) {
			return errOtherSession
		}
		return nil
	}
	now := sentEvent{identity: identity(e)}

	// It was offered, and is in the log as it was then.
	was := s.offered[e.ID]
	delete(s.offered, e.ID)
	s.offeredBytes -= was.size
	if was.event != nil && sameButSeq(was.event, e) {
		now.size = was.size
		w.Appended = append(w.Appended, &wire.Appended{Id: e.ID, Seq: e.Seq})
	} else {
		data, err := message.EncodeEvent(e)
		if err != nil {
			return err
		}
		now.size = eventSize(data)
		w.Events = append(w.Events, data)
	}
	s.events[e.Seq] = now
	s.eventBytes += now.size
	return nil
}

// eventSize returns about how much memory an event takes: it is kept decoded, and as it was read.
func eventSize(data []byte) int { return perEvent + len(data) + message.Weight(data) }

// sameButSeq reports whether an event was appended as it was offered, but for its position.
func sameButSeq(offered, appended *session.Event) bool {
	a := *offered
	b := *appended
	a.Seq = b.Seq
	return reflect.DeepEqual(a, b)
}

// dropEvents notes that the plugin has no events but those of an invocation.
func (s *sentSession) dropEvents(inv *session.Invocation) {
	if len(s.events) <= len(inv.Live)+1 {
		return
	}
	all := s.events
	s.events = make(map[int64]sentEvent, len(inv.Live)+1)
	s.eventBytes = 0
	keep := func(e *session.Event) {
		sent := all[e.Seq]
		if _, ok := s.events[e.Seq]; !ok {
			s.events[e.Seq] = sent
			s.eventBytes += sent.size
		}
	}
	for _, e := range inv.Live {
		keep(e)
	}
	if inv.Input != nil {
		keep(inv.Input)
	}
}

// offer notes that the plugin is offered an event.
func (s *sentSession) offer(e *session.Event, data []byte) {
	now := offeredEvent{event: e, size: eventSize(data)}
	s.offeredBytes += now.size - s.offered[e.ID].size
	s.offered[e.ID] = now
}

// dropOffered notes that the plugin does not have the events that it was offered.
func (s *sentSession) dropOffered() {
	clear(s.offered)
	s.offeredBytes = 0
}

// stateDelta returns the keys of a state that have changed, as JSON, nil if none has.
func (s *sentSession) stateDelta(state map[string]any) ([]byte, error) {
	if reflect.ValueOf(s.state).UnsafePointer() == reflect.ValueOf(state).UnsafePointer() {
		return nil, nil
	}
	delta := map[string]json.RawMessage{}
	for key, v := range state {
		if was, ok := s.state[key]; ok && reflect.DeepEqual(was, v) {
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		delta[key] = data
		s.resizeState(key, len(key)+message.Weight(data))
	}
	for key := range s.state {
		if _, ok := state[key]; !ok {
			delta[key] = json.RawMessage("null")
			s.resizeState(key, 0)
		}
	}
	s.state = state
	if len(delta) == 0 {
		return nil, nil
	}
	return object(delta)
}

// resizeState notes how much memory a state key takes, 0 if it is gone.
func (s *sentSession) resizeState(key string, size int) {
	s.stateBytes += size - s.stateSizes[key]
	if size == 0 {
		delete(s.stateSizes, key)
	} else {
		s.stateSizes[key] = size
	}
}

// object returns a JSON object. Unlike json.Marshal it does not read the values again.
func object(values map[string]json.RawMessage) ([]byte, error) {
	size := 2
	for key, v := range values {
		size += len(key) + len(v) + 8
	}
	data := make([]byte, 0, size)
	separator := byte('{')
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		data = append(data, separator)
		data = append(data, name...)
		data = append(data, ':')
		data = append(data, values[key]...)
		separator = ','
	}
	return append(data, '}'), nil
}

// request encodes a model request, without the contents with which the last one began, too. It
// keeps its contents for the next.
func (s *sentSession) request(r *model.Request) (*wire.ModelRequest, error) {
	n := 0
	for n < len(r.Contents) && n < len(s.contents) && reflect.DeepEqual(r.Contents[n], s.contents[n]) {
		n++
	}
	w, err := message.EncodeRequest(r, n)
	if err != nil {
		return nil, err
	}
	for _, size := range s.contentSizes[n:] {
		s.contentBytes -= size
	}
	s.contentSizes = s.contentSizes[:n]
	for _, data := range w.Contents {
		size := message.Weight(data)
		s.contentSizes = append(s.contentSizes, size)
		s.contentBytes += size
	}
	s.contents = r.Contents
	return w, nil
}
