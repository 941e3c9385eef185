package web

import (
	"context"
	"slices"

	"github.com/plughook/plughook/session"
)

// A Call is a function call that waits for an answer from outside.
type Call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitzero"`
	// Confirm says that it waits for a yes or no, rather than for its response.
	Confirm bool   `json:"confirm"`
	Hint    string `json:"hint,omitzero"`
	// Invocation is the invocation that has made the call.
	Invocation string `json:"-"`
}

// Live returns the live view of a session.
func Live(ctx context.Context, sessions session.Service, key session.Key) ([]*session.Event, error) {
	return session.ReadAll(ctx, sessions, key, session.Selection{Live: true})
}

// WaitingCalls returns the calls of a session that wait for an answer from outside, not those that an
// agent answers.
func WaitingCalls(ctx context.Context, sessions session.Service, key session.Key) ([]Call, error) {
	live, err := Live(ctx, sessions, key)
	if err != nil {
		return nil, err
	}
	return WaitingIn(live), nil
}

// WaitingIn is WaitingCalls of a live view.
func WaitingIn(live []*session.Event) []Call {
	return CallsOf(slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() }))
}

// CallsOf returns what is told of calls that wait, without those that an agent answers.
func CallsOf(calls []session.Call) []Call {
	list := []Call{}
	for _, c := range calls {
		confirm := c.Held != nil && c.Decision == nil
		answeredByAgent := func(other session.Call) bool { return c.Conversation(other.Event.Branch) }
		if !confirm && slices.ContainsFunc(calls, answeredByAgent) {
			continue
		}
		body := Call{ID: c.ID, Name: c.Name, Args: c.Args, Confirm: confirm, Invocation: c.Event.InvocationID}
		if confirm {
			body.Hint = c.Held.Actions.RequestedToolConfirmations[c.ID].Hint
		}
		list = append(list, body)
	}
	return list
}
