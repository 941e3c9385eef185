// Package rewind is a plugin that takes back the end of a conversation: its messages, tool calls and
// changes of the session's state count no more. The log keeps them, and a rewind is an event like others,
// so a rewind to a position before it takes back the rewind.
//
// A caller sends a command (To, Before, Turns, Undo) as a run's input, with no content. No agent runs. The run's
// events are the rewind, or one with the ErrorCode Invalid that says why there is none. The command itself
// is not kept. A command whose input has an ID is carried out once: sent again with that ID, the run fails
// with session.ErrIDReused.
//
// On the wire a command is {"command": {"name": "rewind", "args": {…}}} in the input's customMetadata, with
// one of these args: "to", a position; "before", an invocation's id; "turns", a number; "undo", true.
//
// A rewind takes back what is in the log, and nothing else: not what tools have done, not the artifacts
// that were saved, and not the state that sessions share ("app:" and "user:" keys). DryRun says what a command would do.
//
// A position may be within a turn, between a call and its response too. The call is open again then: one that
// waits for a human or a later answer waits, any other is answered as interrupted by the next run.
package rewind

import (
	"context"
	"errors"
	"fmt"

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

// Undo returns the command to take back the last rewind in force, and with it all that came after it: the session
// becomes what it was just before that rewind. An undo is a rewind itself, so a second Undo takes back the
// first.
func Undo() session.Command { return command("undo", true) }

func command(arg string, value any) session.Command {
	return session.Command{Name: Name, Args: map[string]any{arg: value}}
}

// New returns the plugin. Put it before plugins that look at the user's input, and after those that decide
// who may rewind. Where Before, Turns and Undo would have to look behind a summary, it answers with an error, and
// To does it; see Over.
func New() *plugin.Plugin { return Over(nil) }

// Over returns the plugin for a runner whose sessions are in that service. It reads the log where the
// live view does not say enough: what is behind a summary is found too.
func Over(sessions session.Service) *plugin.Plugin {
	return &plugin.Plugin{
		Name: Name, Doc: "Takes back the end of a conversation on command.", Partials: true,
		OnEvent: func(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			c, ok := e.Command()
			if !ok || c.Name != Name || e.Author != session.User || e.Partial {
				return plugin.Outcome{}, nil
			}
			to, wrong := viewed(inv).target(c)
			if _, position := c.Args["to"]; wrong != nil && !position && sessions != nil {
				var log []*session.Event
				for e, err := range sessions.Read(ctx, inv.Key, session.Selection{}) {
					if err != nil {
						return plugin.Outcome{}, err
					}
					log = append(log, e)
				}
				to, wrong = whole(log).target(c)
			}
			if e.Content != nil {
				wrong = errors.New("the command came with a message; send the message afterwards, as an input of its own")
			}
			answer := &session.Event{}
			reason := "a rewind that cannot be"
			if wrong != nil {
				answer.ErrorCode, answer.ErrorMessage = Invalid, "rewind: "+wrong.Error()
			} else {
				answer.ID, answer.Actions.Rewind = Name+":"+e.ID, &session.Rewind{To: to}
				reason = fmt.Sprintf("to position %d, by command", to)
			}
			return plugin.Outcome{Emit: []*session.Event{answer}, Withhold: true, Stop: true, Reason: reason}, nil
		},
	}
}
