// Package rewind is a plugin that takes back the end of a conversation: its messages, tool calls and
// changes of the session's state count no more. The log keeps them, and a rewind is an event like others,
// so a rewind to a position before it takes back the rewind.
//
// A caller sends a command (To, Before, Turns) as a run's input, with no content. No agent runs. The run's
// events are the rewind, or one with the ErrorCode Invalid that says why there is none. The command itself
// is not kept. A command whose input has an ID is carried out once: sent again with that ID, the run fails
// with session.ErrIDReused.
//
// On the wire a command is {"command": {"name": "rewind", "args": {…}}} in the input's customMetadata, with
// one of these args: "to", a position; "before", an invocation's id; "turns", a number.
package rewind

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Name is the name of the plugin and of its command.
const Name = "rewind"

// Invalid is the ErrorCode of the answer to a command that cannot be carried out.
const Invalid = "INVALID_ARGUMENT"

// To returns the command to make the session what it was when its last event was the one at position seq,
// 0 being the beginning. What that one was covered or voided by later counts as it did then.
func To(seq int64) session.Command { return command("to", float64(seq)) }

// Before returns the command to make the session what it was before an invocation.
func Before(invocationID string) session.Command { return command("before", invocationID) }

// Turns returns the command to take back the last n invocations that began with a user's message, and all
// that came after the first of them.
func Turns(n int) session.Command { return command("turns", float64(n)) }

func command(arg string, value any) session.Command {
	return session.Command{Name: Name, Args: map[string]any{arg: value}}
}

// New returns the plugin. Put it before plugins that look at the user's input, and after those that decide
// who may rewind.
func New() *plugin.Plugin {
	return &plugin.Plugin{
		Name: Name, Doc: "Takes back the end of a conversation on command.", Partials: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			c, ok := e.Command()
			if !ok || c.Name != Name || e.Author != session.User || e.Partial {
				return plugin.Outcome{}, nil
			}
			answer := &session.Event{}
			reason := "a rewind that cannot be"
			if to, err := target(inv, e, c.Args); err != nil {
				answer.ErrorCode, answer.ErrorMessage = Invalid, "rewind: "+err.Error()
			} else {
				answer.ID, answer.Actions.Rewind = Name+":"+e.ID, &session.Rewind{To: to}
				reason = fmt.Sprintf("to position %d, by command", to)
			}
			return plugin.Outcome{Emit: []*session.Event{answer}, Withhold: true, Stop: true, Reason: reason}, nil
		},
	}
}

// target returns the position that a command means.
func target(inv *session.Invocation, e *session.Event, args map[string]any) (to int64, err error) {
	if e.Content != nil {
		return 0, fmt.Errorf("the command came with a message; send the message afterwards, as an input of its own")
	}
	if len(args) != 1 {
		return 0, fmt.Errorf("it takes one argument, and there are %d: to (a position), before (an invocation's id) or turns (how many)", len(args))
	}
	for arg, value := range args {
		number, whole := integer(value)
		id, text := value.(string)
		switch {
		case arg == "to" && whole && number >= 0:
			if number > inv.Position {
				return 0, fmt.Errorf("position %d is ahead: the last event is at %d", number, inv.Position)
			}
			to = number
		case arg == "before" && text:
			to, err = before(inv, id)
		case arg == "turns" && whole && number >= 1:
			to, err = turns(inv, number)
		default:
			err = fmt.Errorf("%s cannot be %v; it takes to (a position from 0), before (an invocation's id) or turns (a number from 1)", arg, value)
		}
	}
	if err == nil && to == inv.Position {
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

// through returns up to where a compaction stands in for what there was, 0 if there is none. Where things
// began up to there is not in the live view, but for what the compaction keeps.
func through(inv *session.Invocation) int64 {
	if len(inv.Live) > 0 && inv.Live[0].Marker() {
		return inv.Live[0].Actions.Compaction.Through
	}
	return 0
}

// before returns the position before an invocation's first event.
func before(inv *session.Invocation, id string) (int64, error) {
	covered := through(inv)
	at := slices.IndexFunc(inv.Live, func(e *session.Event) bool { return e.InvocationID == id && !e.Marker() })
	if at >= 0 {
		// An input is its invocation's first event; something else right after what is covered may have been preceded.
		if e := inv.Live[at]; e.Author == session.User || e.Seq > covered+1 {
			return e.Seq - 1, nil
		}
	}
	if covered > 0 {
		return 0, fmt.Errorf("where invocation %q began is not to be seen: it is unknown, was taken back, or a summary stands for events up to position %d, its own among them; name a position instead (to), which may be within what was summarized", id, covered)
	}
	return 0, fmt.Errorf("there is no invocation %q, or it was taken back; name one that counts, or a position (to)", id)
}

// turns returns the position before the n-th last invocation that began with a user's message.
func turns(inv *session.Invocation, n int64) (int64, error) {
	covered := through(inv)
	var starts []int64
	seen := map[string]bool{}
	for _, e := range inv.Live {
		if e.Marker() {
			continue
		}
		if e.Seq > covered && !seen[e.InvocationID] && message(e) {
			starts = append(starts, e.Seq)
		}
		seen[e.InvocationID] = true
	}
	switch {
	case n <= int64(len(starts)):
		return starts[int64(len(starts))-n] - 1, nil
	case covered > 0:
		return 0, fmt.Errorf("%d turns cannot be taken back: there are %d after position %d, up to which a summary stands for the rest; name a position instead (to), which may be within what was summarized", n, len(starts), covered)
	}
	return 0, fmt.Errorf("%d turns cannot be taken back: there are %d", n, len(starts))
}

// message reports whether the user says something in the event, rather than answer a call.
func message(e *session.Event) bool {
	return e.Author == session.User && e.Content != nil &&
		slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionResponse == nil })
}
