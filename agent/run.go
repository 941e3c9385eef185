package agent

import (
	"context"
	"strings"

	"github.com/plughook/plughook/session"
)

// Run runs an agent for another one: its events are of the host's branch, and in its own name where they
// have none. It reports whether the one that called it may go on: not after an error, and not after yield
// has returned false.
func Run(ctx context.Context, a Agent, host *Host, yield func(*session.Event, error) bool) bool {
	for e, err := range a.Run(ctx, host) {
		if e != nil && (e.Author == "" || e.Branch == "") {
			named := *e
			if named.Author == "" {
				named.Author = a.Name()
			}
			if named.Branch == "" {
				named.Branch = host.Branch
			}
			e = &named
		}
		if !yield(e, err) || err != nil {
			return false
		}
	}
	return ctx.Err() == nil
}

// Waits reports whether root, or an agent below it, has come to where it waits for an answer: a call of
// this invocation, or one made together with a call that this invocation's input has answered, is still
// to be answered.
func Waits(inv *session.Invocation, root Agent) bool {
	answered := map[*session.Event]bool{}
	for _, c := range Answered(inv) {
		answered[c.Event] = true
	}
	for _, c := range session.Calls(inv.Live) {
		if !c.Waits() || c.Event.InvocationID != inv.ID && !answered[c.Event] {
			continue
		}
		if strings.HasPrefix(c.Event.Author, session.PluginPrefix) || Find(root, c.Event.Author) != nil { // a plugin may stand in for it
			return true
		}
	}
	return false
}
