package page_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session/memory"
)

// The page of a session shows its workflow, with what became of each node, in a picture and in words.
func TestWorkflowOfASession(t *testing.T) {
	check := workflow.Func("check", func(_ context.Context, _ *workflow.Run, in any) (any, error) { return in, nil })
	pay := workflow.Func("pay", func(context.Context, *workflow.Run, any) (any, error) {
		return nil, errors.New("no money")
	})
	g, err := workflow.New(workflow.Graph{Name: "order", Edges: []workflow.Edge{
		{From: workflow.Start, To: check},
		{From: check, To: pay, Route: workflow.Default},
		{From: check, To: check, Route: "again"},
	}})
	require.NoError(t, err)
	store := memory.New()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := servertest.ServeOn(t, store, g, withPage)
	s.Do("POST", "/v1/apps/desk/sessions/s1/run?user=ada", `{"message": "go"}`)
	status, page := get(s, "/s/desk/ada/s1")
	require.Equal(t, 200, status, page)
	_, picture, ok := strings.Cut(page, `<svg class="graph"`)
	require.True(t, ok, page)
	picture, _, _ = strings.Cut(picture, "</svg>")
	require.Contains(t, picture, "check (function): completed")
	require.Contains(t, picture, "pay (function): failed")
	require.Contains(t, picture, `class="node failed"`)
	require.Equal(t, 3, strings.Count(picture, `<path class="edge"`))
	checkPage(t, "/s/desk/ada/s1", page)
}
