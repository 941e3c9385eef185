// Package replay plays recorded sessions. It has an agent that yields the events that the agents of
// a recording yielded, and the inputs to run the agent with. Run it with runner.Options.Restore, so
// that the events of plugins and of other invocations come back unchanged. Without plugins the log
// equals the recording.
//
// A new field of an event that names other events, by their positions or ids, has to be translated in
// Agent.adapt.
package replay

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// An Agent plays recordings, each on the session with its key. Each run on a session plays one
// recorded invocation: the one whose input Inputs has yielded last or, if Inputs is not used, the
// one with the same input as the run. The invocations of a script (see NewScript) are played in
// order, whatever the inputs are. The state key "replay:next" has the number of the next one, so
// after a rewind the earlier ones are played again.
//
// Plugins may change a session while it is played. If a plugin has answered or withheld a call, the
// recorded response to it is left out. Compactions and rewinds cover the events that they covered
// in the recording, at their new positions.
type Agent struct {
	name  string
	any   *recording // for sessions without a recording of their own
	mu    sync.Mutex
	plays map[session.Key]*recording
}

// recording is a recording that is being played. Agent.mu guards all of its fields but segments.
type recording struct {
	script    bool
	segments  []segment
	seqs      map[string]int64 // the recorded position of each event, by ID
	next      int              // the segment whose input Inputs has yielded last, -1 if it is not used
	positions map[int64]int64  // where recorded positions are in the log
}

// segment is a recorded invocation, or a part of one that was interrupted by another.
type segment struct {
	input  *session.Event // nil if there was none
	events []*session.Event
}

// New returns an Agent that plays these recordings.
func New(name string, recs ...*session.Recording) (*Agent, error) {
	a := &Agent{name: name, plays: map[session.Key]*recording{}}
	for _, rec := range recs {
		if a.plays[rec.Key] != nil {
			return nil, fmt.Errorf("replay: session %s: %w: two recordings have its key", rec.Key,
				session.ErrExists)
		}
		p, err := split(rec)
		if err == nil {
			err = check(rec)
		}
		if err != nil {
			return nil, err
		}
		a.plays[rec.Key] = p
	}
	return a, nil
}

// NewScript returns an Agent that plays the events of the agents of one recording on every session,
// with new ids and times.
func NewScript(name string, rec *session.Recording) (*Agent, error) {
	p, err := split(rec)
	return &Agent{name: name, any: p, plays: map[session.Key]*recording{}}, err
}

// split finds the invocations: one begins with each event of the user, and where the invocation
// changes.
func split(rec *session.Recording) (*recording, error) {
	p := &recording{seqs: map[string]int64{}, positions: map[int64]int64{}, next: -1}
	last := ""
	for _, e := range rec.Events {
		if e.ID == "" || p.seqs[e.ID] != 0 {
			return nil, fmt.Errorf("replay: session %s: event %d: %w: its id %q is empty or taken", rec.Key,
				e.Seq, session.ErrInvalid, e.ID)
		}
		p.seqs[e.ID] = e.Seq
		switch {
		case e.Author == session.User && !e.Marker():
			p.segments = append(p.segments, segment{input: e})
		case len(p.segments) == 0 || e.InvocationID != last:
			p.segments = append(p.segments, segment{events: []*session.Event{e}})
		default:
			s := &p.segments[len(p.segments)-1]
			s.events = append(s.events, e)
		}
		last = e.InvocationID
	}
	return p, nil
}

// Name implements agent.Agent.
func (a *Agent) Name() string { return a.name }

// Description implements agent.Agent.
func (a *Agent) Description() string { return "plays recorded sessions" }

// Inputs yields the input of each recorded invocation of a session in order, nil for one without.
// Each is to be run before the next is taken.
func (a *Agent) Inputs(key session.Key) iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		p := a.recording(key)
		for i, s := range p.segments {
			a.seek(p, i)
			if !yield(s.input) {
				break
			}
		}
		a.seek(p, -1)
	}
}

func (a *Agent) seek(p *recording, next int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.next = next
}

func (a *Agent) recording(key session.Key) *recording {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.plays[key]
	if p == nil {
		p = &recording{positions: map[int64]int64{}, next: -1}
		if a.any != nil {
			p.segments = fresh(a.any.segments)
			p.script = true
		}
		a.plays[key] = p
	}
	return p
}

// nextKey is where a session on which a script is played has the number of the next invocation.
const nextKey = "replay:next"

// fresh returns the segments that have events of agents, without the identity of those events, to be
// played any number of times.
func fresh(segments []segment) []segment {
	var list []segment
	for _, s := range segments {
		var played segment
		for _, e := range s.events {
			if _, emitted := e.Plugin(); emitted || e.Marker() {
				continue // not the agent's side
			}
			c := *e
			c.ID = ""
			c.InvocationID = ""
			c.Timestamp = time.Time{}
			if len(played.events) == 0 { // the first event, so that a run that breaks off later counts as played
				c.Actions.StateDelta = maps.Clone(c.Actions.StateDelta)
				c.Actions.Set(nextKey, float64(len(list)+1))
			}
			played.events = append(played.events, &c)
		}
		if len(played.events) > 0 {
			list = append(list, played)
		}
	}
	return list
}

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inv := host.Now()
		p := a.recording(inv.Key)
		i := a.segment(p, inv)
		if i < 0 || i >= len(p.segments) {
			yield(nil, fmt.Errorf("replay: session %s: there is no invocation to play: all of the %d recorded ones were played, or none of them has this input", inv.Key, len(p.segments)))
			return
		}
		s := p.segments[i]
		if s.input != nil && inv.Input != nil && s.input.ID == inv.Input.ID {
			a.place(p, s.input, inv.Input.Seq)
		}
		for _, recorded := range s.events {
			if err := context.Cause(ctx); err != nil {
				yield(nil, err)
				return
			}
			now := host.Now()
			e := a.adapt(p, recorded, now)
			if e == nil {
				continue
			}
			if !yield(e, nil) {
				return
			}
			if after := host.Now(); after.Position > now.Position {
				a.place(p, recorded, now.Position+1)
			}
		}
	}
}

// segment returns the number of the segment to play, -1 if there is none.
func (a *Agent) segment(p *recording, inv *session.Invocation) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.next >= 0 {
		return p.next
	}
	if p.script {
		next, _ := inv.State[nextKey].(float64)
		return int(next)
	}
	return slices.IndexFunc(p.segments, func(s segment) bool {
		return s.input != nil && inv.Input != nil && s.input.ID == inv.Input.ID
	})
}

func (a *Agent) place(p *recording, recorded *session.Event, seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := p.seqs[recorded.ID]; n != 0 {
		p.positions[n] = seq
	}
}
