package config

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

func TestAnAgentThatRunsElsewhere(t *testing.T) {
	var token string
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(
			w,
			`{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello from there"}]}}}`,
		)
	}))
	defer there.Close()
	c, err := Parse("f.yaml",
		[]byte("agent: {name: far, a2a: "+there.URL+"/rpc, token_env: PLUGHOOK_TEST_TOKEN}\n"))
	require.NoError(t, err)

	// Without its token it can be checked, and not be opened.
	report, err := c.Check(t.Context(), Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"PLUGHOOK_TEST_TOKEN (not set)"}, report.Needs)
	_, err = c.Open(t.Context(), Options{})
	require.ErrorContains(t, err,
		"f.yaml:1:64: the environment variable PLUGHOOK_TEST_TOKEN is not set")

	t.Setenv("PLUGHOOK_TEST_TOKEN", "key")
	parts, err := c.Open(t.Context(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, parts.Close(context.Background())) }()
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	last := ""
	for e, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, session.Message("hi"), session.RunConfig{Create: true}) {
		require.NoError(t, err)
		last = e.Author + ": " + e.Text()
	}
	require.Equal(t, "far: hello from there", last)
	require.Equal(t, "Bearer key", token)
}

func TestAnAgentThatRunsElsewhereIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"agent: {a2a: 'ftp://hidden/'}":                         "a2a: agent agent: the URL is not http://HOST/… or https://HOST/…",
		"agent: {a2a: 'http://me:hidden@host/'}":                "a2a: agent agent: the URL has a user or a password in it",
		"agent: {a2a: 'http://host/', token_env: 'A=hidden'}":   "the value is not the name of an environment variable",
		"agent: {a2a: 'http://host/', model: 'gemini:x'}":       "an agent that runs elsewhere asks no model here",
		"agent: {a2a: 'http://host/', instruction: x}":          "only an agent that asks a model can have instruction",
		"agent: {model: 'gemini:x', token_env: X}":              "only an agent that runs elsewhere (a2a) has a token",
		"agent: {a2a: 'http://host/', sequential: [{name: a}]}": "the agent has 2 kinds, sequential and a2a",
	} {
		_, err := Parse("f.yaml", []byte(text))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}
}
