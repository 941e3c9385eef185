package config

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// runFlow runs the workflow of a file with inputs, one run each, and returns the last event and the state.
func runFlow(t *testing.T, text string, inputs ...*session.Event) (last *session.Event, inv *session.Invocation) {
	c, err := Parse("f.yaml", []byte("agent:\n  name: desk\n  workflow:\n"+text))
	require.NoError(t, err)
	parts, err := c.Open(t.Context(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, parts.Close(context.Background())) }()
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	key := session.Key{App: "a", User: "u", ID: "s"}
	for _, input := range inputs {
		for e, err := range r.Run(t.Context(), key, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			last = e
		}
	}
	inv, err = session.Snapshot(t.Context(), parts.Sessions, key)
	require.NoError(t, err)
	return last, inv
}

// Nodes that set one key at the same time need a reducer, and what they set fits the state's schema.
func TestTheStateOfAWorkflow(t *testing.T) {
	const nodes = `    nodes:
    - {name: a, ask: {message: A?}, output_key: notes}
    - {name: b, ask: {message: B?}, output_key: notes}
    - {name: both, join: true}
    edges:
    - {from: START, to: [a, b]}
    - {from: a, to: both}
    - {from: b, to: both}
`
	begin := session.Message("go")
	begin.ID = "m"
	inputs := []*session.Event{begin,
		workflow.Answer("desk@m/a@1#answer", "one"), workflow.Answer("desk@m/b@1#answer", "two")}
	for name, tt := range map[string]struct {
		text, code string
		notes      any
	}{
		"nothing":             {nodes, workflow.NodeState, "one"},
		"a reducer":           {"    reduce: {notes: append}\n" + nodes, "", []any{"one", "two"}},
		"a schema that fits":  {"    state: {notes: {type: array, items: {type: string}}}\n    reduce: {notes: union}\n" + nodes, "", []any{"one", "two"}},
		"one that does not":   {"    state: {notes: {type: array, items: {type: integer}}}\n    reduce: {notes: append}\n" + nodes, workflow.NodeState, nil},
		"no number to add to": {"    reduce: {notes: add}\n" + nodes, workflow.NodeState, nil},
	} {
		t.Run(name, func(t *testing.T) {
			last, inv := runFlow(t, tt.text, inputs...)
			require.Equal(t, tt.code, last.ErrorCode, last.ErrorMessage)
			require.Equal(t, tt.notes, inv.State["notes"])
		})
	}
	for text, want := range map[string]string{
		"    reduce: {notes: appendd}\n" + nodes:                                    `there is no reducer "appendd"; did you mean`,
		"    state: {notes: {type: string}}\n    reduce: {notes: append}\n" + nodes: "append makes a value of type array, and the state's schema asks for string",
		"    state: {notes: {type: sting}}\n" + nodes:                               "f.yaml:4:20: the whole is of type sting",
		"    state: {other: {type: string}}\n" + nodes:                              `the state has no key "notes"`,
		"    state: {notes: {type: integer}}\n    reduce: {x: add}\n" + nodes:       `the state has no key "x"`,
	} {
		c, err := Parse("f.yaml", []byte("agent:\n  name: desk\n  workflow:\n"+text))
		if err == nil {
			_, err = c.Open(t.Context(), Options{})
		}
		require.ErrorContains(t, err, want)
	}
}
