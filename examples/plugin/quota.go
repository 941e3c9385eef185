// Package quota is an example of a plugin: it gives each user so many inputs, over all of the user's
// sessions, and denies what comes after them.
package quota

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Key is the state key that counts a user's inputs. The prefix "user:" makes it one for all of the user's
// sessions in the app; "quota:" makes it this plugin's, so that nobody else can write it.
const Key = "user:quota:inputs"

// New returns a plugin that lets each user have limit inputs.
func New(limit int) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "quota",
		Doc:  "Denies inputs beyond a number for each user.",
		// It takes nothing out of what agents say, so they may stream.
		Partials: true,
		// The user's other sessions count, too, while this one runs.
		SharedState: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || e.Content == nil {
				return plugin.Outcome{}, nil // a command, or a human's yes or no to a call, is no input to count
			}
			used, _ := inv.State[Key].(float64)
			if used >= float64(limit) {
				return plugin.Deny("That was all for today.", fmt.Sprintf("quota of %d used up", limit)), nil
			}
			// A change is a clone with the change in it. The store adds where it appends the event, in the
			// same step, and refuses to pass the bound. Then another session was faster: the runner offers
			// the event again, and this hook sees that nothing is left.
			counted := e.Clone()
			counted.Actions.Increment(Key, 1, float64(limit))
			return plugin.Outcome{Replace: counted}, nil
		},
	}
}
