package runs

import (
	"context"
	"maps"
	"slices"

	"github.com/plughook/plughook/session"
)

type stateRuleKey struct{}

// WithStateRule returns a context of a caller. mayWrite returns an error for a key of the state of an app's sessions
// that is not the caller's to write: Start refuses an input that does, and CheckState a state that has it.
func WithStateRule(ctx context.Context, mayWrite func(app, key string) error) context.Context {
	return context.WithValue(ctx, stateRuleKey{}, mayWrite)
}

// CheckState returns an error, which is session.ErrInvalid, if the context's caller may not write one of the keys of a
// session's state.
func CheckState[V any](ctx context.Context, session session.Key, state map[string]V) error {
	mayWrite, ok := ctx.Value(stateRuleKey{}).(func(app, key string) error)
	if !ok {
		return nil // the server's own work
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if err := mayWrite(session.App, key); err != nil {
			return err
		}
	}
	return nil
}

type senderKey struct{}

// WithSender returns a context of a caller. of says who the caller is on the session of a user: Start tells the
// runner, which lets nobody answer what another one is asked.
func WithSender(ctx context.Context, of func(user string) session.Sender) context.Context {
	return context.WithValue(ctx, senderKey{}, of)
}

// SenderOf returns who the context's caller is on a session: its own user, if the context is of no caller.
func SenderOf(ctx context.Context, key session.Key) session.Sender {
	if of, ok := ctx.Value(senderKey{}).(func(string) session.Sender); ok {
		return of(key.User)
	}
	return session.Sender{}
}

// checkInput is CheckState of what a request's input does to the state.
func checkInput(ctx context.Context, q Request) error {
	if q.Input == nil {
		return nil
	}
	if err := CheckState(ctx, q.Key, q.Input.Actions.StateDelta); err != nil {
		return err
	}
	return CheckState(ctx, q.Key, q.Input.Actions.StateIncrement)
}
