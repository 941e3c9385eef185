package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// A question with a deadline waits until then, and no longer: whatever comes first after it, an answer or a run
// without input, the node has failed.
func TestDeadlines(t *testing.T) {
	type turn struct {
		after time.Duration // since the question
		input *session.Event
		steps []string
	}
	const asked = "a@1: calls adk_request_input"
	for name, turns := range map[string][]turn{
		"in time": {
			{59 * time.Minute, nil, nil},
			{59 * time.Minute, answer("a@1#q", "yes"), []string{`a@1: ["yes"]`, `wf: ["yes"]`}},
		},
		"an answer that comes too late": {
			{time.Hour, answer("a@1#q", "yes"), []string{"a@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"}},
		},
		"somebody looks, and then answers": {
			{2 * time.Hour, nil, []string{"a@1: says ", "a@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"}},
			// To go on asks again, with another deadline.
			{3 * time.Hour, nil, []string{asked}},
			{3*time.Hour + 30*time.Minute, answer("a@1#q#2", "yes"), []string{`a@1: ["yes"]`, `wf: ["yes"]`}},
		},
		"an answer that does not fit gives no more time": {
			{50 * time.Minute, answer("a@1#q", 7), []string{asked}},
			{61 * time.Minute, answer("a@1#q#2", "yes"), []string{"a@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := asker[string]("a", "q")
			a.Deadline = time.Hour
			a.Retry.Attempts = 3 // it is not for this
			g := newGraph(t, chain(start, a))
			began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			now := began
			s := newStage(t)
			s.now = func() time.Time { return now }
			require.Equal(t, []string{asked}, s.steps(g, message("m")))
			require.Equal(t, "2026-05-01T13:00:00Z", session.Calls(s.live())[0].Args["deadline"])
			for _, turn := range turns {
				now = began.Add(turn.after)
				require.ElementsMatch(t, turn.steps, s.steps(g, turn.input))
			}
		})
	}
}

// A function may go on without the answer, and an edge with the route Failed leads on from one that does not. An
// answer that comes after that is refused.
func TestAfterADeadline(t *testing.T) {
	now := time.Now()
	s := newStage(t)
	s.now = func() time.Time { return now }
	goesOn := workflow.Func("goesOn", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		word, err := workflow.Ask[string](ctx, r, "q", "?")
		if errors.Is(err, workflow.ErrDeadline) {
			return "no", nil
		}
		return word, err
	})
	goesOn.Deadline = time.Minute
	fails := asker[string]("fails", "q")
	fails.Deadline = time.Minute
	g := newGraph(t, chain(start, goesOn, fails, takes("x")),
		[]workflow.Edge{{From: fails, To: asker[string]("boss", "q"), Route: workflow.Failed}})
	s.steps(g, message("m"))
	now = now.Add(time.Minute)
	require.Equal(t, []string{"goesOn@1: says ", `goesOn@1: "no"`, "fails@1: calls adk_request_input"}, s.steps(g, nil))
	now = now.Add(time.Minute)
	require.Equal(t, []string{"fails@1: says ", "fails@1: NODE_TIMEOUT", "boss@1: calls adk_request_input"}, s.steps(g, nil))
	_, err := s.events(g, answer("fails@1#q", "late"))
	require.Error(t, err)
	require.Equal(t, []string{`boss@1: ["yes"]`, `wf: ["yes"]`}, s.steps(g, answer("boss@1#q", "yes")))

	_, err = workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, once("o", time.Hour))})
	require.ErrorContains(t, err, "Deadline is for nodes that Func makes")
}

func once(name string, deadline time.Duration) *workflow.Node {
	n := takes(name)
	n.Once = true
	n.Deadline = deadline
	return n
}
