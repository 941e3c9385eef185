package session

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// A view is a service in which one session has only the events that stand, or that are live, as a log
// of its own: numbered from 1, without rewinds, and with a message in the place of a summary.
type view struct {
	session.Service
	name     trajectory.View
	statuses session.EventStatuses
	through  int64          // the last position whose changes of state are part of state
	state    map[string]any // the state that the session begins with
}

// viewOf reads a session's log to find out which of its events belong to a view.
func viewOf(ctx context.Context, svc session.Service, key session.Key,
	name trajectory.View) (*view, error) {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	v := &view{Service: svc, name: name, state: s.Initial}
	var deltas []*session.Event // positions and state deltas
	for e, err := range svc.Read(ctx, key, session.Selection{}) {
		if err != nil {
			return nil, err
		}
		v.statuses.Add(e)
		if len(e.Actions.StateDelta) > 0 || e.Marker() {
			d := &session.Event{Seq: e.Seq}
			d.Actions.StateDelta = e.Actions.StateDelta
			if c := e.Actions.Compaction; c != nil {
				d.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
			}
			d.Actions.Rewind = e.Actions.Rewind
			deltas = append(deltas, d)
		}
	}
	if name != trajectory.Live {
		return v, nil
	}

	// What happened up to the summary is in the state that the session begins with.
	for _, d := range deltas {
		if d.Actions.Compaction != nil && v.statuses.Of(d).Live {
			v.through = max(v.through, d.Actions.Compaction.Through)
		}
	}
	v.state = map[string]any{}
	maps.Copy(v.state, s.Initial)
	for _, d := range deltas {
		if d.Seq > v.through || v.statuses.Of(d).Void != 0 {
			continue
		}
		for key, value := range d.Actions.StateDelta {
			switch {
			case session.SharedKey(key):
			case value == nil:
				delete(v.state, key)
			default:
				v.state[key] = value
			}
		}
	}
	return v, nil
}

// Get implements session.Reader.
func (v *view) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	s, err := v.Service.Get(ctx, key)
	if err == nil {
		s.Initial = v.state
	}
	return s, err
}

// Read implements session.Reader.
func (v *view) Read(ctx context.Context, key session.Key,
	_ session.Selection) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		seq := int64(0)
		live := session.Selection{Live: v.name == trajectory.Live}
		for e, err := range v.Service.Read(ctx, key, live) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range v.shown(e) {
				seq++
				e.Seq = seq
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// shown returns the events that stand in the view for an event of the log: none, itself, or changed copies.
func (v *view) shown(e *session.Event) []*session.Event {
	status := v.statuses.Of(e)
	switch {
	case status.Void != 0 || e.Actions.Rewind != nil:
		return nil
	case e.Marker() && v.name == trajectory.Standing:
		return withoutSummary(e)
	case e.Marker():
		return summary(e)
	case e.Seq <= v.through && len(e.Actions.StateDelta) > 0:
		c := e.Clone()
		maps.DeleteFunc(c.Actions.StateDelta, func(key string, _ any) bool { return !session.SharedKey(key) })
		return []*session.Event{c}
	}
	return []*session.Event{e}
}

// withoutSummary returns the event of a compaction without its summary. A plugin may have put a change of state into
// the same event: then the change is all that is left. Otherwise no event is left.
func withoutSummary(e *session.Event) []*session.Event {
	if len(e.Actions.StateDelta) == 0 && len(e.Actions.StateIncrement) == 0 {
		return nil
	}
	c := e.Clone()
	c.Actions.Compaction = nil
	return []*session.Event{c}
}

// summary returns a compaction as messages: one for all, and one for each branch that has its own.
func summary(e *session.Event) []*session.Event {
	c := e.Actions.Compaction
	var messages []*session.Event
	if c.Content == nil {
		return withoutSummary(e)
	}
	for i, part := range c.Content.Parts {
		branch := ""
		if i < len(c.Branches) {
			branch = c.Branches[i]
		}
		n := len(messages)
		if n > 0 && messages[n-1].Branch == branch {
			messages[n-1].Content.Parts = append(messages[n-1].Content.Parts, part)
			continue
		}
		m := e.Clone()
		m.Actions.Compaction = nil
		m.Branch = branch
		m.Content = &genai.Content{Role: c.Content.Role, Parts: []*genai.Part{part}}
		if n > 0 {
			m.ID = fmt.Sprintf("%s-%d", e.ID, n+1)
		}
		messages = append(messages, m)
	}
	return messages
}
