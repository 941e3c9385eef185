package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/plughook/plughook/session"
)

type appStateKey struct{}

// WithoutAppState returns a context of a caller who may not set the state that all users of an app share:
// keys with session.AppPrefix. Start refuses such an input of theirs, and CheckAppState such a state.
func WithoutAppState(ctx context.Context) context.Context {
	return context.WithValue(ctx, appStateKey{}, true)
}

// CheckAppState returns an error, which is session.ErrInvalid, if the context's caller may not set one of the
// keys of a state.
func CheckAppState[V any](ctx context.Context, state map[string]V) error {
	if ctx.Value(appStateKey{}) == nil {
		return nil
	}
	for key := range state {
		if strings.HasPrefix(key, session.AppPrefix) {
			return fmt.Errorf("%w: state key %q is shared by all users of the app: only an admin "+
				"may set it", session.ErrInvalid, key)
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

// checkInput is CheckAppState of what an input does to the state.
func checkInput(ctx context.Context, input *session.Event) error {
	if input == nil {
		return nil
	}
	if err := CheckAppState(ctx, input.Actions.StateDelta); err != nil {
		return err
	}
	return CheckAppState(ctx, input.Actions.StateIncrement)
}
