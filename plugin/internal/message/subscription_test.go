package message

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// TestSubscription: each hook has the number that the protocol says, and a plugin is the same after
// its subscription was sent.
func TestSubscription(t *testing.T) {
	require.Equal(t, map[plugin.Hook]wire.Hook{
		plugin.BeforeRun:   wire.Hook_BEFORE_RUN,
		plugin.BeforeModel: wire.Hook_BEFORE_MODEL,
		plugin.OnEvent:     wire.Hook_ON_EVENT,
		plugin.AfterRun:    wire.Hook_AFTER_RUN,
	}, WireHook)

	call := func(context.Context, *session.Invocation, plugin.Args) (plugin.Outcome, error) {
		return plugin.Outcome{}, nil
	}
	for _, kind := range plugin.Hooks {
		p := &plugin.Plugin{
			Filter: &plugin.Filter{
				Authors: []string{"user"},
				Has:     []plugin.EventFeature{plugin.HasText},
			},
			Partials:    true,
			SharedState: true,
		}
		p.SetHooks(call, kind.Name)
		sent := Subscription(p)
		received := Hooks(sent, call)
		require.Equal(t, []plugin.Hook{kind.Name}, received.Subscribes())
		require.Equal(t, sent.String(), Subscription(received).String())
	}
}
