package rewind

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// past is the history of a session that a command refers to, from the live view or from the log. The live view does not
// have the events that a summary stands for.
type past struct {
	events   []*session.Event // that count, without compactions and rewinds
	covered  int64            // the position up to which a summary stands for missing events; 0 if none are missing
	position int64            // of the last event
	undo     int64            // the position of the last rewind that counts; 0 if there is none or it is not known
	gone     map[string]int64 // the invocations that a rewind took back, with its position; nil if that is not known
}

// viewed returns the past as the live view has it.
func viewed(inv *session.Invocation) *past {
	p := &past{events: inv.Live, position: inv.Position, undo: inv.Frontier}
	if len(inv.Live) > 0 && inv.Live[0].Marker() {
		head := inv.Live[0]
		p.events = inv.Live[1:]
		p.covered = head.Actions.Compaction.Through
		if p.undo == head.Seq { // the frontier is the compaction, and not a rewind
			p.undo = 0
		}
	}
	return p
}

// whole returns the past as the log has it.
func whole(log []*session.Event) *past {
	p := &past{position: int64(len(log)), gone: map[string]int64{}}
	var statuses session.EventStatuses
	for _, e := range log {
		statuses.Add(e)
	}
	for _, e := range log {
		void := statuses.Of(e).Void
		switch {
		case void != 0:
			p.gone[e.InvocationID] = void
		case e.Actions.Rewind != nil:
			p.undo = e.Seq
		case !e.Marker():
			p.events = append(p.events, e)
		}
	}
	return p
}

// start returns the first event of an invocation, nil if it is not known.
func (p *past) start(id string) *session.Event {
	at := slices.IndexFunc(p.events, func(e *session.Event) bool { return e.InvocationID == id })
	if at < 0 {
		return nil
	}
	e := p.events[at]
	if p.covered == 0 || e.Author == session.User || e.Seq > p.covered+1 {
		return e
	}
	return nil // the event before it, which is not known, may belong to the invocation too
}

// turns returns the positions of the messages with which invocations began, if no later one is missing.
func (p *past) turns() (starts []int64) {
	seen := map[string]bool{}
	for _, e := range p.events {
		if e.Seq > p.covered && !seen[e.InvocationID] && message(e) {
			starts = append(starts, e.Seq)
		}
		seen[e.InvocationID] = true
	}
	return starts
}

// message reports whether an event is a message of the user, and not only the answer to a call.
func message(e *session.Event) bool {
	if e.Author != session.User || e.Content == nil {
		return false
	}
	return slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionResponse == nil
	})
}

// target returns the position that a command refers to, or an error that says what is wrong with the command.
func (p *past) target(c session.Command) (to int64, err error) {
	if len(c.Args) != 1 {
		return 0, fmt.Errorf("the command takes one argument, not %d: to (a position), before (an invocation's ID), turns (how many) or undo", len(c.Args))
	}
	for arg, value := range c.Args {
		number, whole := integer(value)
		id, text := value.(string)
		switch {
		case arg == "to" && whole && number >= 0:
			if number > p.position {
				return 0, fmt.Errorf("there is no position %d yet: the last event is at %d", number, p.position)
			}
			to = number
		case arg == "before" && text:
			to, err = p.before(id)
		case arg == "turns" && whole && number >= 1:
			to, err = p.back(number)
		case arg == "undo" && value == true:
			to, err = p.undone()
		default:
			err = fmt.Errorf("%s cannot be %v; the command takes to (a position from 0), before (an invocation's ID), turns (a number from 1) or undo (true)", arg, value)
		}
	}
	if err == nil && to == p.position {
		err = fmt.Errorf("there is nothing to rewind: the session is at position %d", to)
	}
	return to, err
}

// integer returns an argument, from JSON or from Go, as a whole number.
func integer(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

// before returns the position before an invocation's first event.
func (p *past) before(id string) (int64, error) {
	e := p.start(id)
	if e != nil {
		return e.Seq - 1, nil
	}
	by, gone := p.gone[id]
	if gone {
		return 0, fmt.Errorf("invocation %q was taken back, by the rewind at position %d; name one that counts, or a position (to)", id, by)
	}
	return 0, fmt.Errorf("there is no invocation %q; name one that counts, or a position (to)", id)
}

// back returns the position before the n-th last invocation that began with a user's message.
func (p *past) back(n int64) (int64, error) {
	starts := p.turns()
	count := int64(len(starts))
	switch {
	case n <= count:
		return starts[count-n] - 1, nil
	case count == 0:
		return 0, errors.New("there are no turns to undo")
	case count == 1:
		return 0, errors.New("only 1 turn can be undone")
	}
	return 0, fmt.Errorf("only %d turns can be undone", count)
}

// undone returns the position before the last rewind that counts.
func (p *past) undone() (int64, error) {
	if p.undo <= 0 {
		return 0, errors.New("there is no rewind to undo")
	}
	return p.undo - 1, nil
}
