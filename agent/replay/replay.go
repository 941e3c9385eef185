// Package replay plays recorded sessions. It has an agent that yields the events that the agents of
// a recording yielded, and the inputs to run the agent with. Run it with runner.Options.Restore, so
// that the events of plugins and of other invocations come back unchanged. Without plugins the log
// equals the recording.
package replay

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// An Agent plays recordings, each on the session with its key. Each run on a session plays one
// recorded invocation: the one that Inputs has come to, or else the one whose input the run has.
// The invocations of a script are played in order, whatever the inputs are; the state key
// "replay:next" has the number of the next one, so a rewind goes back to an earlier one.
//
// Plugins may change a session while it is played. If a call was answered by somebody else or
// withheld, its recorded response is left out. Compactions and rewinds cover the events that they
// covered in the recording, at their new positions.
type Agent struct {
	name  string
	any   *recording // for sessions without a recording of their own
	mu    sync.Mutex
	plays map[session.Key]*recording
}

// recording is a recording in play. All but its turns is guarded by Agent.mu.
type recording struct {
	script bool
	turns  []turn
	seqs   map[string]int64 // the recorded position of each event, by ID
	next   int              // the turn that Inputs has come to, -1 if it is not used
	at     map[int64]int64  // where recorded positions are in the log
}

// turn is a recorded invocation, or a part of one that was interrupted by another.
type turn struct {
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

// NewScript returns an Agent that plays the agent's side of one recording on every session, with
// new ids and times.
func NewScript(name string, rec *session.Recording) (*Agent, error) {
	p, err := split(rec)
	return &Agent{name: name, any: p, plays: map[session.Key]*recording{}}, err
}

// split finds the invocations: one begins with each event of the user, and where the invocation
// changes.
func split(rec *session.Recording) (*recording, error) {
	p := &recording{seqs: map[string]int64{}, at: map[int64]int64{}, next: -1}
	last := ""
	for _, e := range rec.Events {
		if e.ID == "" || p.seqs[e.ID] != 0 {
			return nil, fmt.Errorf("replay: session %s: event %d: %w: its id %q is empty or taken", rec.Key,
				e.Seq, session.ErrInvalid, e.ID)
		}
		p.seqs[e.ID] = e.Seq
		switch {
		case e.Author == session.User && !e.Marker():
			p.turns = append(p.turns, turn{input: e})
		case len(p.turns) == 0 || e.InvocationID != last:
			p.turns = append(p.turns, turn{events: []*session.Event{e}})
		default:
			t := &p.turns[len(p.turns)-1]
			t.events = append(t.events, e)
		}
		last = e.InvocationID
	}
	return p, nil
}

// Name implements agent.Agent.
func (a *Agent) Name() string { return a.name }

// Description implements agent.Agent.
func (a *Agent) Description() string { return "plays recorded sessions" }

// Inputs yields the input of each recorded invocation of a session in turn, nil for one without.
// Each is to be run before the next is taken.
func (a *Agent) Inputs(key session.Key) iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		p := a.recording(key)
		for i, t := range p.turns {
			a.seek(p, i)
			if !yield(t.input) {
				break
			}
		}
		a.seek(p, -1)
	}
}

func (a *Agent) seek(p *recording, turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.next = turn
}

func (a *Agent) recording(key session.Key) *recording {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.plays[key]
	if p == nil {
		p = &recording{at: map[int64]int64{}, next: -1}
		if a.any != nil {
			p.turns = fresh(a.any.turns)
			p.script = true
		}
		a.plays[key] = p
	}
	return p
}

// nextKey is where a session on which a script is played has the number of the next invocation.
const nextKey = "replay:next"

// fresh returns the turns that have events of agents, without the identity of those events, to be
// played any number of times.
func fresh(turns []turn) []turn {
	var list []turn
	for _, t := range turns {
		var played turn
		for _, e := range t.events {
			if e.Marker() || strings.HasPrefix(e.Author, session.PluginPrefix) {
				continue // not the agent's side
			}
			c := *e
			c.ID = ""
			c.InvocationID = ""
			c.Timestamp = time.Time{}
			if len(played.events) == 0 { // the first, so that a run cut short counts
				c.Actions.StateDelta = maps.Clone(c.Actions.StateDelta)
				if c.Actions.StateDelta == nil {
					c.Actions.StateDelta = map[string]any{}
				}
				c.Actions.StateDelta[nextKey] = float64(len(list) + 1)
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
		i := a.turn(p, inv)
		if i < 0 || i >= len(p.turns) {
			yield(nil, fmt.Errorf("replay: session %s: nothing is left of the %d recorded invocations, or the input is not one of theirs", inv.Key, len(p.turns)))
			return
		}
		t := p.turns[i]
		if t.input != nil && inv.Input != nil && t.input.ID == inv.Input.ID {
			a.place(p, t.input, inv.Input.Seq)
		}
		for _, recorded := range t.events {
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

// turn returns the number of the turn to play, -1 if there is none.
func (a *Agent) turn(p *recording, inv *session.Invocation) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.next >= 0 {
		return p.next
	}
	if p.script {
		next, _ := inv.State[nextKey].(float64)
		return int(next)
	}
	return slices.IndexFunc(p.turns, func(t turn) bool {
		return t.input != nil && inv.Input != nil && t.input.ID == inv.Input.ID
	})
}

func (a *Agent) place(p *recording, recorded *session.Event, seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := p.seqs[recorded.ID]; n != 0 {
		p.at[n] = seq
	}
}
