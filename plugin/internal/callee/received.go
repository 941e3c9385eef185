package callee

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// copies is what a plugin's process has of the sessions. It belongs to the goroutine that receives.
type copies map[session.Key]*sessionCopy

type sessionCopy struct {
	events   map[int64]*session.Event
	offered  map[string]*session.Event // by ID: seen in OnEvent
	spans    [][2]int64                // of live
	live     []*session.Event
	state    map[string]any
	contents []*genai.Content // of the last request
}

// invocation takes in what a call brings and returns the invocation as it is.
func (cs copies) invocation(w *wire.Invocation) (*session.Invocation, *sessionCopy, error) {
	key := message.KeyOf(w.GetKey())
	c := cs[key]
	if c == nil || w.Fresh {
		c = &sessionCopy{events: map[int64]*session.Event{}, offered: map[string]*session.Event{}}
		cs[key] = c
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
	inv := &session.Invocation{ID: w.Id, Key: key, Config: session.RunConfig{Create: w.Create, Streaming: session.Streaming(w.Streaming)},
		Live: slices.Clip(c.live), State: c.state, Position: w.Position, Frontier: w.Frontier}
	if w.Input != 0 {
		if inv.Input = c.events[w.Input]; inv.Input == nil {
			return nil, nil, fmt.Errorf("the input at %d was never sent", w.Input)
		}
	}
	return inv, c, nil
}

// setLive makes the live view: what there was goes on being used if the new one begins with it.
func (c *sessionCopy) setLive(spans []*wire.Span) error {
	now := make([][2]int64, len(spans))
	for i, s := range spans {
		now[i] = [2]int64{s.First, s.Last}
	}
	if slices.Equal(now, c.spans) {
		return nil
	}
	live := c.live
	n := len(c.spans)
	next := int64(0) // from here on in the last span
	if n > 0 && n == len(now) && slices.Equal(now[:n-1], c.spans[:n-1]) && now[n-1][0] == c.spans[n-1][0] && now[n-1][1] > c.spans[n-1][1] {
		next = c.spans[n-1][1] + 1
		n--
	} else {
		live, n = nil, 0
	}
	for _, s := range now[n:] {
		for seq := max(s[0], next); seq <= s[1]; seq++ {
			e := c.events[seq]
			if e == nil {
				return fmt.Errorf("the live event at %d was never sent", seq)
			}
			live = append(live, e)
		}
		next = 0
	}
	c.spans, c.live = now, live
	return nil
}

// setState takes in changed keys. Hooks may hold the state that there was.
func (c *sessionCopy) setState(delta []byte) error {
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
