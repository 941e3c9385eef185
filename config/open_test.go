package config

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
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

// What tools and plugins save belongs to a session that is there: nothing is left behind when it is deleted meanwhile.
func TestArtifactsAreBoundToTheirSession(t *testing.T) {
	c, err := Parse("runner.yaml", []byte("artifacts: memory\n"))
	require.NoError(t, err)
	opened, err := c.Open(t.Context(), Options{NoAgent: true})
	require.NoError(t, err)
	key := session.Key{App: "desk", User: "ann", ID: "s"}
	save := func() error {
		_, err := opened.Artifacts.Save(t.Context(), key, "note.txt", genai.NewPartFromText("hi"))
		return err
	}
	require.ErrorIs(t, save(), session.ErrNotFound)
	_, err = opened.Sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	require.NoError(t, save())
	require.NoError(t, opened.Close(t.Context()))
}
