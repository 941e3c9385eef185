package plugin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// TestHooks: what is said of a hook in the list Hooks holds for a plugin that has this hook alone.
func TestHooks(t *testing.T) {
	ctx := t.Context()
	inv := &session.Invocation{ID: "i"}
	given := plugin.Args{
		Event:   session.Reply("hello"),
		Request: &model.Request{Model: "m"},
		End:     plugin.End{Kind: plugin.EndDone},
	}
	for _, kind := range plugin.Hooks {
		t.Run(string(kind.Name), func(t *testing.T) {
			// The plugin notes what its hook is called with.
			var got plugin.Args
			failure := errors.New("the hook's own")
			p := &plugin.Plugin{Name: "p"}
			p.SetHooks(
				func(_ context.Context, i *session.Invocation, args plugin.Args) (plugin.Outcome, error) {
					require.Same(t, inv, i)
					got = args
					return plugin.Outcome{Reason: "asked"}, failure
				},
				kind.Name,
			)
			require.Equal(t, []plugin.Hook{kind.Name}, p.Subscribes())

			// It is called with its own arguments only.
			args := given
			args.Hook = kind.Name
			out, err := p.Call(ctx, inv, args)
			require.Equal(t, plugin.Outcome{Reason: "asked"}, out)
			require.Equal(t, failure, err)
			require.Equal(t, kind.Name, got.Hook)
			require.Equal(t, kind.Name == plugin.OnEvent, got.Event == given.Event)
			require.Equal(t, kind.Name == plugin.BeforeModel, got.Request == given.Request)
			require.Equal(t, kind.Name == plugin.AfterRun, got.End == given.End)

			// A wrapper stands in for it.
			wrapped := p.Wrap(func(ctx context.Context, i *session.Invocation, args plugin.Args,
				call plugin.HookFunc) (plugin.Outcome, error) {
				out, err := call(ctx, i, args)
				require.Equal(t, failure, err)
				return out, nil
			})
			out, err = wrapped.Call(ctx, inv, args)
			require.NoError(t, err)
			require.Equal(t, "asked", out.Reason)
			require.Equal(t, p.Subscribes(), wrapped.Subscribes())

			// No other hook is there.
			for _, other := range plugin.Hooks {
				if other.Name != kind.Name {
					_, err := p.Call(ctx, inv, plugin.Args{Hook: other.Name})
					require.ErrorContains(t, err, "plugin p has no hook")
				}
			}

			// The fields of an outcome that it may not set are refused.
			for _, field := range []struct {
				outcome plugin.Outcome
				allowed bool
			}{
				{plugin.Outcome{Replace: given.Event}, kind.Replace},
				{plugin.Outcome{Emit: []*session.Event{given.Event}}, true},
				{plugin.Outcome{Withhold: true}, kind.Withhold},
				{plugin.Outcome{Stop: true}, kind.Stop},
			} {
				err := field.outcome.Check(kind.Name)
				if field.allowed {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, plugin.ErrOutcome)
				}
			}
		})
	}
	require.ErrorIs(t, plugin.Outcome{Stop: true}.Check("AfterLunch"), plugin.ErrOutcome)
}
