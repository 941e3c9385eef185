package workflow_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

var update = flag.Bool("update", false, "write the golden files")

// Graphs are drawn with those inside of them, and with how far a run has come: a node that was
// tried twice, one that runs for the third time, one that waits inside of another, items of a list,
// one that has failed, and one that has not run.
func TestPictures(t *testing.T) {
	inner, err := workflow.New(workflow.Graph{
		Name:  "inner",
		Edges: chain(start, gives("first", 1), asker[string]("approve", "q")),
	})
	require.NoError(t, err)
	var tries atomic.Int32
	flaky := workflow.Func("flaky", func(_ context.Context, _ *workflow.Run, _ any) ([]int, error) {
		if tries.Add(1) == 1 {
			return nil, errors.New("down")
		}
		return []int{1, 2}, nil
	})
	flaky.Retry.Attempts = 2
	count := workflow.Func("count", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		if !strings.HasSuffix(r.Path, "@3") {
			r.Route("again")
		}
		return in, nil
	})
	broken := workflow.Func("broken",
		func(context.Context, *workflow.Run, any) (any, error) { return nil, errors.New("broken") })
	broken.Retry.Attempts = 3
	send := workflow.Tool(&tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "send"},
		Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
	})
	each := workflow.Each(takes("item"), 0)
	in := workflow.Agent(inner)
	both := workflow.Join("both")
	g, err := workflow.New(workflow.Graph{Name: "wf", Limit: 1, Edges: []workflow.Edge{
		{From: start, To: in},
		{From: start, To: flaky},
		{From: flaky, To: each},
		{From: each, To: count},
		{From: count, To: count, Route: []any{"again", `say "#1"`, 2}},
		{From: count, To: broken, Route: workflow.Default},
		{From: broken, To: both},
		{From: in, To: both},
		{From: both, To: send},
	}})
	require.NoError(t, err)

	p := workflow.PictureOf(g)
	golden(t, "graph.mmd", func(w io.Writer) error { return p.Mermaid(w, nil) })
	golden(t, "graph.dot", func(w io.Writer) error { return p.DOT(w, nil) })

	s := newStage(t)
	steps := s.steps(g, message("m"))
	require.Equal(t, "wf: NODE_FAILED", steps[len(steps)-1])
	inv, err := session.Snapshot(t.Context(), s.svc, key)
	require.NoError(t, err)
	run := session.NewWorkflowRuns(inv.Live).Workflow("wf@m")
	golden(t, "run.mmd", func(w io.Writer) error { return p.Mermaid(w, run) })
	golden(t, "run.dot", func(w io.Writer) error { return p.DOT(w, run) })

	require.Nil(t, workflow.PictureOf(workflow.Sequential("a", "", inner)))
}

// golden holds what is written to a file of testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b strings.Builder
	require.NoError(t, write(&b))
	file := filepath.Join("testdata", "picture", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
