// Package rewind is a plugin that takes back the end of a conversation: messages, tool calls and changes of the session's
// state do not count any more. The log keeps them. A rewind is an event like others, so a rewind to a position before it
// takes back the rewind.
//
// A caller sends a command (To, Before, Turns, Undo) as the input of a run, without content. No agent runs. The run yields
// the rewind, or an event with the ErrorCode Invalid that says why there is none. The command itself is not appended. A
// command whose input has an ID is carried out once: if it is sent again with that ID, the run fails with
// session.ErrIDReused.
//
// On the wire a command is {"command": {"name": "rewind", "args": {…}}} in the input's customMetadata, with one of these
// args: "to", a position; "before", an invocation's ID; "turns", a number; "undo", true.
//
// A rewind changes what is in the log, and nothing else: not what tools have done, not artifacts that were saved, and not
// the state that sessions share ("app:" and "user:" keys). DryRun says what a command would do.
//
// A position may be within a turn, even between a call and its response. The call is open again then. If it waits for a
// human or a later answer, it goes on waiting; otherwise the next run answers it as interrupted.
//
// A new way to say how far: a field of the command, resolved in target.go; DryRun (dryrun.go) uses the same.
package rewind

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// name is the name of the plugin and of its command.
const name = "rewind"

// Invalid is the ErrorCode of the answer to a command that cannot be carried out.
const Invalid = plugin.CommandRefused

// To returns the command to make the session what it was when the event at position seq was its last; 0 is the beginning.
// Summaries and rewinds after that position do not count any more.
func To(seq int64) session.Command { return command("to", float64(seq)) }

// Before returns the command to make the session what it was before an invocation.
func Before(invocationID string) session.Command { return command("before", invocationID) }

// Turns returns the command to take back the last n invocations that began with a user's message, and everything after
// the first of them.
func Turns(n int) session.Command { return command("turns", float64(n)) }

// Undo returns the command to take back the last rewind that counts, and everything after it: the session becomes what it
// was just before that rewind. An undo is a rewind itself, so a second Undo takes back the first.
func Undo() session.Command { return command("undo", true) }

func command(arg string, value any) session.Command {
	return session.Command{Name: name, Args: map[string]any{arg: value}}
}

// New returns the plugin for a runner whose sessions are in the given service. Put it before plugins that look at the
// user's input, and after those that decide who may rewind. The plugin reads the log only if the live view is not enough:
// if a summary stands for what a command refers to.
func New(sessions session.Service) *plugin.Plugin {
	r := &rewinder{sessions: sessions}
	return &plugin.Plugin{
		Name:     name,
		Doc:      "Takes back the end of a conversation on command.",
		Partials: true,
		OnEvent:  r.onEvent,
		Commands: []plugin.Command{{Action: plugin.Rewind, Name: name, DryRun: dryRun}},
	}
}

// dryRun is DryRun of a session in a store.
func dryRun(ctx context.Context, sessions session.Reader, key session.Key, c session.Command) (any, error) {
	s, err := sessions.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	log, err := session.ReadAll(ctx, sessions, key, session.Selection{})
	if err != nil {
		return nil, err
	}
	plan, err := DryRun(s.Initial, log, c)
	if err != nil {
		return nil, &plugin.CommandError{Err: err}
	}
	return plan, nil
}

type rewinder struct{ sessions session.Service }

func (r *rewinder) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	c, ok := e.Command()
	if !ok || c.Name != name || e.Author != session.User || e.Partial {
		return plugin.Outcome{}, nil
	}
	to, invalid, err := r.target(ctx, inv, c)
	if err != nil {
		return plugin.Outcome{}, err
	}
	if e.Content != nil {
		invalid = errors.New("the command came with a message; send the message afterwards, as an input of its own")
	}
	if invalid != nil {
		answer := &session.Event{ErrorCode: Invalid, ErrorMessage: "rewind: " + invalid.Error()}
		return answered(answer, "invalid command"), nil
	}
	answer := &session.Event{
		ID:      name + ":" + e.ID,
		Actions: session.Actions{Rewind: &session.Rewind{To: to}},
		// The command is not in the log. Whoever sends it again is told from this event, and another one is not.
		CustomMetadata: map[string]any{name: maps.Clone(c.Args)},
	}
	return answered(answer, fmt.Sprintf("to position %d, by command", to)), nil
}

func answered(e *session.Event, reason string) plugin.Outcome {
	return plugin.Outcome{Emit: []*session.Event{e}, Withhold: true, Stop: true, Reason: reason}
}

// target returns the position that a command refers to; invalid says what is wrong with the command.
func (r *rewinder) target(ctx context.Context, inv *session.Invocation, c session.Command) (to int64, invalid, err error) {
	to, invalid = viewed(inv).target(c)
	_, isPosition := c.Args["to"]
	if invalid == nil || isPosition {
		return to, invalid, nil
	}

	// The live view does not have what the command refers to. The log may have it.
	log, err := session.ReadAll(ctx, r.sessions, inv.Key, session.Selection{})
	if err != nil {
		return 0, nil, err
	}
	to, invalid = whole(log).target(c)
	return to, invalid, nil
}
