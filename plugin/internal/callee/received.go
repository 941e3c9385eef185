package callee

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// received is what a plugin has received of the sessions, and the host does not send again. Only
// the goroutine that receives uses it.
type received map[session.Key]*receivedSession

// receivedSession is what a plugin has received of one session.
type receivedSession struct {
	events   map[int64]*session.Event
	offered  map[string]*session.Event // by ID: seen in OnEvent
	spans    [][2]int64                // of live
	live     []*session.Event
	state    map[string]any
	contents []*genai.Content // of the last request
	run      string           // the invocation of the last call
}

// invocation adds what a call brings, and returns the whole invocation.
func (r received) invocation(w *wire.Invocation) (*session.Invocation, *receivedSession, error) {
	key := message.KeyOf(w.GetKey())
	c := r[key]
	if c == nil || w.Fresh {
		c = &receivedSession{events: map[int64]*session.Event{}, offered: map[string]*session.Event{}}
		r[key] = c
	}
	for _, data := range w.Events {
		e, err := message.DecodeEvent(data)
		if err != nil {
			return nil, nil, err
		}
		c.events[e.Seq] = e
	}
	for _, a := range w.Appended {
		was := c.offered[a.Id]
		if was == nil {
			return nil, nil, fmt.Errorf("event %q at %d was never offered", a.Id, a.Seq)
		}
		delete(c.offered, a.Id)
		e := was.Clone() // hooks may hold the event that they were offered
		e.Seq = a.Seq
		c.events[a.Seq] = e
	}
	if err := c.setLive(w.Live); err != nil {
		return nil, nil, err
	}
	if err := c.setState(w.State); err != nil {
		return nil, nil, err
	}
	inv := &session.Invocation{
		ID:       w.Id,
		Key:      key,
		Config:   session.RunConfig{Create: w.Create, Streaming: session.Streaming(w.Streaming)},
		Live:     slices.Clip(c.live),
		State:    c.state,
		Position: w.Position,
		Frontier: w.Frontier,
	}
	if w.Now != nil {
		now := w.Now.AsTime()
		inv.Clock = func() time.Time { return now }
	}
	if w.Input != 0 {
		inv.Input = c.events[w.Input]
		if inv.Input == nil {
			return nil, nil, fmt.Errorf("the input at %d was never sent", w.Input)
		}
	}
	c.drop(inv)
	return inv, c, nil
}

// drop drops what the host sends again if it is needed: events that are neither live nor the
// input, and what was offered in an earlier invocation.
func (c *receivedSession) drop(inv *session.Invocation) {
	if len(c.events) > len(inv.Live)+1 {
		c.events = make(map[int64]*session.Event, len(inv.Live)+1)
		for _, e := range inv.Live {
			c.events[e.Seq] = e
		}
		if inv.Input != nil {
			c.events[inv.Input.Seq] = inv.Input
		}
	}
	if c.run != inv.ID {
		c.run = inv.ID
		clear(c.offered)
	}
}

// setLive makes the live view from its spans. Mostly the last span has only grown: then the slice
// grows too, and hooks that hold the shorter one see no change.
func (c *receivedSession) setLive(spans []*wire.Span) error {
	now := make([][2]int64, len(spans))
	for i, s := range spans {
		now[i] = [2]int64{s.First, s.Last}
	}
	if slices.Equal(now, c.spans) {
		return nil
	}

	// Begin with what there is, if only the last span has grown.
	var live []*session.Event
	kept := 0         // spans that live has
	first := int64(0) // the first event of the next span that live does not have
	if grown(c.spans, now) {
		last := len(c.spans) - 1
		live = c.live
		kept = last
		first = c.spans[last][1] + 1
	}

	for _, s := range now[kept:] {
		for seq := max(s[0], first); seq <= s[1]; seq++ {
			e := c.events[seq]
			if e == nil {
				return fmt.Errorf("the live event at %d was never sent", seq)
			}
			live = append(live, e)
		}
		first = 0
	}
	c.spans = now
	c.live = live
	return nil
}

// grown reports whether now is was, but for a later end of the last span.
func grown(was, now [][2]int64) bool {
	last := len(was) - 1
	return last >= 0 && len(now) == len(was) && slices.Equal(now[:last], was[:last]) &&
		now[last][0] == was[last][0] && now[last][1] > was[last][1]
}

// setState changes keys of the state, on a copy: hooks may hold the old state.
func (c *receivedSession) setState(delta []byte) error {
	if len(delta) == 0 {
		if c.state == nil {
			c.state = map[string]any{}
		}
		return nil
	}
	var changed map[string]any
	if err := json.Unmarshal(delta, &changed); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	state := maps.Clone(c.state)
	if state == nil {
		state = map[string]any{}
	}
	for key, v := range changed {
		if v == nil {
			delete(state, key)
		} else {
			state[key] = v
		}
	}
	c.state = state
	return nil
}
