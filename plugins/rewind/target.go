package rewind

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/plughook/plughook/session"
)

// target returns the position that a command means.
func (p *past) target(c session.Command) (to int64, err error) {
	if len(c.Args) != 1 {
		return 0, fmt.Errorf("it takes one argument, and there are %d: to (a position), before (an invocation's id), turns (how many) or undo", len(c.Args))
	}
	for arg, value := range c.Args {
		number, whole := integer(value)
		id, text := value.(string)
		switch {
		case arg == "to" && whole && number >= 0:
			if number > p.position {
				return 0, fmt.Errorf("position %d is ahead: the last event is at %d", number, p.position)
			}
			to = number
		case arg == "before" && text:
			to, err = p.before(id)
		case arg == "turns" && whole && number >= 1:
			to, err = p.back(number)
		case arg == "undo" && value == true:
			to, err = p.undone()
		default:
			err = fmt.Errorf("%s cannot be %v; it takes to (a position from 0), before (an invocation's id), turns (a number from 1) or undo (true)", arg, value)
		}
	}
	if err == nil && to == p.position {
		err = fmt.Errorf("there is nothing to rewind: position %d is where the session is", to)
	}
	return to, err
}

// integer returns the whole number that an argument is, be it from JSON or from Go.
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
	if e := p.start(id); e != nil {
		return e.Seq - 1, nil
	}
	by, gone := p.gone[id]
	switch {
	case gone:
		return 0, fmt.Errorf("invocation %q was taken back, by the rewind at position %d; name one that counts, or a position (to)", id, by)
	case p.gone != nil:
		return 0, fmt.Errorf("there is no invocation %q; name one that counts, or a position (to)", id)
	case p.covered > 0:
		return 0, fmt.Errorf("where invocation %q began is not to be seen: it is unknown, was taken back, or a summary stands for events up to position %d, its own among them; name a position instead (to), which may be within what was summarized", id, p.covered)
	}
	return 0, fmt.Errorf("there is no invocation %q, or it was taken back; name one that counts, or a position (to)", id)
}

// back returns the position before the n-th last invocation that began with a user's message.
func (p *past) back(n int64) (int64, error) {
	starts := p.turns()
	if n <= int64(len(starts)) {
		return starts[int64(len(starts))-n] - 1, nil
	}
	possible := fmt.Sprintf("only %d turns", len(starts))
	switch len(starts) {
	case 0:
		possible = "no turn"
	case 1:
		possible = "only 1 turn"
	}
	if p.covered == 0 {
		return 0, fmt.Errorf("%s can be undone, not %d", possible, n)
	}
	return 0, fmt.Errorf("%s can be undone, not %d: a summary stands for the events up to position %d; name a position instead (to), which may be before that one",
		possible, n, p.covered)
}

// undone returns the position before the last rewind in force.
func (p *past) undone() (int64, error) {
	switch {
	case p.undo < 0:
		return 0, errors.New("the last rewind is not to be seen: a summary was made since; name the position before that rewind instead (to)")
	case p.undo == 0:
		return 0, errors.New("there is no rewind to take back")
	}
	return p.undo - 1, nil
}
