package config

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A flow is a session on which the workflows of files run.
type flow struct {
	t   *testing.T
	svc session.Service
	now time.Time
}

func newFlow(t *testing.T) *flow { return &flow{t: t, svc: memory.New(), now: time.Now()} }

// run runs the workflow of a file with an input, and returns the last event.
func (f *flow) run(text string, input *session.Event) (last *session.Event) {
	f.t.Helper()
	c, err := Parse("f.yaml", []byte("agent:\n  name: desk\n  workflow:\n"+text))
	require.NoError(f.t, err)
	parts, err := c.Open(f.t.Context(), Options{})
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, parts.Close(context.Background())) }()
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: f.svc, Now: func() time.Time { return f.now }})
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, r.Close(context.Background())) }()
	key := session.Key{App: "a", User: "u", ID: "s"}
	for e, err := range r.Run(f.t.Context(), key, input, session.RunConfig{Create: true}) {
		require.NoError(f.t, err)
		last = e
	}
	return last
}

func begin() *session.Event {
	e := session.Message("go")
	e.ID = "m"
	return e
}

// A question that nobody answers in time fails its node, and an edge leads on from that.
func TestFailureEdgesAndDeadlines(t *testing.T) {
	const text = `    nodes:
    - {name: boss, ask: {message: Pay?, deadline: 72h}}
    - {name: deputy, ask: {message: "The boss: {output.code}, {output.message}. Pay?", deadline: 1h}}
    - {name: pay, ask: {message: Paid?}}
    edges:
    - {from: START, to: boss}
    - {from: boss, to: pay, when: output == "yes"}
    - {from: boss, to: deputy, failed: true}
    - {from: deputy, to: pay}
`
	f := newFlow(t)
	asked := f.run(text, begin())
	require.NotEmpty(t, asked.FunctionCalls()[0].Args["deadline"])
	f.now = f.now.Add(72 * time.Hour)
	asked = f.run(text, nil)
	require.Contains(t, asked.FunctionCalls()[0].Args["message"], "The boss: NODE_TIMEOUT, workflow: nobody has answered in time")
	f.run(text, workflow.Answer("desk@m/deputy@1#answer", "yes"))
	require.Equal(t, "done", f.run(text, workflow.Answer("desk@m/pay@1#answer", "done")).Output)

	// Without such an edge the workflow fails.
	f = newFlow(t)
	f.run(text, begin())
	f.now = f.now.Add(72 * time.Hour)
	f.run(text, nil)
	f.now = f.now.Add(time.Hour)
	require.Equal(t, workflow.NodeTimeout, f.run(text, workflow.Answer("desk@m/deputy@1#answer", "late")).ErrorCode)

	// What cannot be meant is refused.
	const nodes = "    nodes: [{name: a, ask: {message: A?}}, {name: b, join: true}]\n    edges:\n    - {from: START, to: a}\n"
	for edges, want := range map[string]string{
		nodes + "    - {from: a, to: b, failed: true}\n":                  "would wait for ever if a does not fail",
		nodes + "    - {from: a, to: b, failed: true, otherwise: true}\n": "neither when: nor otherwise:",
		nodes + "    - {from: START, to: b, failed: true}\n":              "an edge from START has no condition",
		"    nodes: [{name: a, ask: {message: A?, deadline: -1h}}]\n" +
			"    edges: [{from: START, to: a}]\n": "deadline must not be below 0",
	} {
		_, err := Parse("f.yaml", []byte("agent:\n  name: desk\n  workflow:\n"+edges))
		require.ErrorContains(t, err, want)
	}
}

// A run that waits goes on with a file in which nodes have other names, have gone, or have no conditions any more.
func TestAChangedFile(t *testing.T) {
	const before = `    nodes:
    - {name: first, ask: {message: A?}}
    - {name: second, ask: {message: B?}}
    - {name: side, ask: {message: C?}}
    edges:
    - {from: START, to: [first, side]}
    - {from: first, to: second, when: output == "yes"}
`
	const renamed = `    nodes:
    - {name: one, was: first, ask: {message: A?}}
    - {name: two, was: [second], ask: {message: B?}}
`
	const edges = `    edges:
    - {from: START, to: one}
`
	const conditions = edges + "    - {from: one, to: two, when: output == \"yes\"}\n"
	for name, tt := range map[string]struct{ after, code string }{
		"nothing is said":         {before[:0] + "    nodes:\n    - {name: one, ask: {message: A?}}\n" + edges, workflow.NodeGone},
		"what is gone":            {renamed + conditions, workflow.NodeGone},
		"all":                     {renamed + "    gone: side\n" + conditions, ""},
		"there are no conditions": {renamed + "    gone: [side, first?]\n" + edges + "    - {from: one, to: two}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t)
			f.run(before, begin())
			f.run(before, workflow.Answer("desk@m/first@1#answer", "yes"))
			last := f.run(tt.after, workflow.Answer("desk@m/second@1#answer", "yes"))
			require.Equal(t, tt.code, last.ErrorCode, last.ErrorMessage)
			if tt.code == "" {
				require.Equal(t, "yes", last.Output)
			}
		})
	}
}
