package config

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
)

// A plugin is closed once, by the Runner or by Opened.Close, and its error is reported by that one.
func TestPluginsAreClosedOnce(t *testing.T) {
	closed := 0
	p := &plugin.Plugin{Name: "p", Close: func(context.Context) error {
		closed++
		return io.ErrUnexpectedEOF
	}}
	parts := &Opened{Plugins: closingOnce([]*plugin.Plugin{p, {Name: "nothing to close"}})}
	err := parts.Close(t.Context())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var failure *Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, pluginFailed, failure.Component)
	require.NoError(t, parts.Close(t.Context()))
	require.Equal(t, 1, closed)
}
