package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// unjudged returns the events without the notes of a guardrail that has judged them. (It takes off itself what they add to
// its counts.) Each has an id, and a time that is not before that of the event before it; an event without a time gets the
// time of the one before it.
func unjudged(events []*session.Event) []*session.Event {
	list := make([]*session.Event, len(events))
	last := time.Unix(0, 0).UTC()
	for i, e := range events {
		c := e.Clone()
		delete(c.CustomMetadata, guardrail.Key)
		if c.ID == "" { // by which its findings are told apart
			c.ID = fmt.Sprintf("event-%d", i+1)
		}
		if c.Timestamp.Before(last) {
			c.Timestamp = last
		}
		last = c.Timestamp
		list[i] = c
	}
	return list
}

// timedTurn is an invocation of a recording, or a part of one that was interrupted, as agent/replay plays it.
type timedTurn struct {
	session int // its number
	at      time.Time
	begins  bool // a run begins with it: it is no rest of one, and more than a plugin's refusal
}

// turnsInTime returns the turns of all recordings, the earliest first; of those at one time, in the order of the files.
// The times of a recording's events never go back.
func turnsInTime(recs []*session.Recording) (list []timedTurn) {
	for i, rec := range recs {
		last, known := "", map[string]bool{}
		for n, e := range rec.Events {
			input := e.Author == session.User && !e.Marker()
			if input || n == 0 || e.InvocationID != last {
				list = append(list, timedTurn{session: i, at: e.Timestamp})
			}
			if input || !known[e.InvocationID] && !strings.HasPrefix(e.Author, session.PluginPrefix) {
				list[len(list)-1].begins = true
				known[e.InvocationID] = true
			}
			last = e.InvocationID
		}
	}
	slices.SortStableFunc(list, func(a, b timedTurn) int { return a.at.Compare(b.at) })
	return list
}

// recordedClock is the clock of a plugin to which recordings are played, one turn after the other.
type recordedClock struct {
	now  atomic.Pointer[time.Time]
	turn atomic.Pointer[timedTurn]
}

func newRecordedClock() *recordedClock {
	c := &recordedClock{}
	c.begin(&timedTurn{})
	return c
}

func (c *recordedClock) begin(t *timedTurn) {
	c.turn.Store(t)
	c.now.Store(&t.at)
}

func (c *recordedClock) time() time.Time { return *c.now.Load() }

// on makes the clock go by the events that the plugin sees. It hides runs from the plugin that did not begin: the plugin would
// count them.
func (c *recordedClock) on(p *plugin.Plugin) {
	event, run := p.OnEvent, p.BeforeRun
	p.OnEvent = func(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		c.now.Store(&e.Timestamp)
		return event(ctx, inv, e)
	}
	p.BeforeRun = func(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
		if !c.turn.Load().begins {
			return plugin.Outcome{}, nil
		}
		return run(ctx, inv)
	}
}
