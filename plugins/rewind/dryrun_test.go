package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// logOf returns a log of events, numbered.
func logOf(events ...*session.Event) []*session.Event {
	for i, e := range events {
		e.Seq = int64(i) + 1
	}
	return events
}

func by(invocation, author string, e *session.Event) *session.Event {
	e.InvocationID, e.Author = invocation, author
	return e
}

func calls(ids ...string) *session.Event {
	e := &session.Event{Content: &genai.Content{Role: genai.RoleModel}}
	for _, id := range ids {
		e.Content.Parts = append(e.Content.Parts, &genai.Part{
			FunctionCall: &genai.FunctionCall{
				ID:   id,
				Name: "f" + id,
				Args: map[string]any{"x": id},
			},
		})
	}
	return e
}

func response(id string) *session.Event {
	return session.Respond(&genai.FunctionCall{ID: id, Name: "f" + id}, map[string]any{"ok": true})
}

func asks(id string) *session.Event {
	return &session.Event{
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{id: {Hint: "really?"}},
		},
	}
}

func acts(a session.Actions) *session.Event { return &session.Event{Actions: a} }

func called(seq int64, id string) rewind.Call {
	return rewind.Call{Seq: seq, ID: id, Name: "f" + id, Args: map[string]any{"x": id}}
}

func TestDryRunOfCalls(t *testing.T) {
	later := calls("6")
	later.LongRunningToolIDs = []string{"6"}
	log := logOf(
		by("a", session.User, session.Message("book")),      // 1
		by("a", "bot", calls("1", "2", "3")),                // 2: made, denied, held
		by("a", "plugin/guard", response("2")),              // 3
		by("a", "plugin/guard", asks("3")),                  // 4
		by("a", "bot", response("1")),                       // 5
		by("b", session.User, session.Decision(true, "3")),  // 6
		by("b", "bot", response("3")),                       // 7
		by("c", session.User, session.Message("and")),       // 8
		by("c", "bot", calls("4", "5")),                     // 9: open, declined
		by("c", "bot", asks("5")),                           // 10
		by("d", session.User, session.Decision(false, "5")), // 11
		by("d", "bot", response("5")),                       // 12
		by("d", "bot", later),                               // 13: waits
		by("d", "bot", calls("7")),                          // 14
		by("d", "plugin/guard", asks("7")),                  // 15: waits, and was not made
	)
	for name, tc := range map[string]struct {
		do                                  session.Command
		made, dropped, waiting, interrupted []rewind.Call
		cut                                 string
		turns                               int
	}{
		"everything":        {rewind.To(0), []rewind.Call{called(2, "1"), called(2, "3"), called(9, "4"), called(13, "6")}, []rewind.Call{called(13, "6"), called(14, "7")}, nil, nil, "", 2},
		"before the yes":    {rewind.Before("b"), []rewind.Call{called(9, "4"), called(13, "6")}, []rewind.Call{called(13, "6"), called(14, "7")}, []rewind.Call{called(2, "3")}, nil, "", 1},
		"within a turn":     {rewind.To(4), []rewind.Call{called(9, "4"), called(13, "6")}, []rewind.Call{called(13, "6"), called(14, "7")}, []rewind.Call{called(2, "3")}, []rewind.Call{called(2, "1")}, "a", 1},
		"after the yes":     {rewind.To(6), []rewind.Call{called(9, "4"), called(13, "6")}, []rewind.Call{called(13, "6"), called(14, "7")}, nil, []rewind.Call{called(2, "3")}, "b", 1},
		"before the no":     {rewind.Before("d"), []rewind.Call{called(13, "6")}, []rewind.Call{called(13, "6"), called(14, "7")}, []rewind.Call{called(9, "5")}, nil, "", 0},
		"what has not been": {rewind.To(13), nil, []rewind.Call{called(14, "7")}, nil, nil, "d", 0},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := rewind.DryRun(nil, log, tc.do)
			require.NoError(t, err)
			require.Equal(t, tc.made, plan.Calls, "made")
			require.Equal(t, tc.dropped, plan.Dropped, "dropped")
			require.Equal(t, tc.waiting, plan.Waiting, "waiting")
			require.Equal(t, tc.interrupted, plan.Interrupted, "interrupted")
			require.Equal(t, tc.cut, plan.Cut)
			require.Equal(t, tc.turns, plan.Turns)
		})
	}
}

func TestDryRun(t *testing.T) {
	log := logOf(
		by("a", session.User, session.Message("one")), // 1
		by("a", "bot", acts(session.Actions{
			StateDelta:    map[string]any{"k": 1.0, "user:u": 1.0},
			ArtifactDelta: map[string]int64{"f": 1},
		})), // 2
		by("b", session.User, session.Message("two")), // 3
		by("b", "bot", acts(session.Actions{
			StateDelta:    map[string]any{"k": 2.0, "l": "x", "app:a": nil},
			ArtifactDelta: map[string]int64{"f": 2},
		})), // 4
		by("b", "plugin/c", acts(session.Actions{
			Compaction:     &session.Compaction{Through: 3},
			StateIncrement: map[string]float64{"user:n": 1},
			StateDelta:     map[string]any{"o": nil},
		})), // 5
		by("c", session.User, session.Message("three")),                                 // 6
		by("d", "plugin/rewind", acts(session.Actions{Rewind: &session.Rewind{To: 5}})), // 7
		by("e", session.User, session.Message("four")),                                  // 8
	)
	initial := map[string]any{"o": "was", "user:u": 0.0}
	for name, tc := range map[string]struct {
		do   session.Command
		want rewind.Plan
	}{
		"across the summary": {rewind.Before("b"), rewind.Plan{To: 2, Position: 8, Void: []int64{3, 4, 8}, Turns: 2, Invocations: []string{"b", "e"},
			Back: []int64{1, 2}, Summaries: []int64{5}, Rewinds: []int64{7},
			State:  []rewind.Change{{Key: "k", Old: 2.0, New: 1.0}, {Key: "l", Old: "x"}, {Key: "o", New: "was"}},
			Shared: []string{"app:a", "user:n"}, Artifacts: map[string][]int64{"f": {2}}}},
		"the rewind": {rewind.Undo(), rewind.Plan{To: 6, Position: 8, Void: []int64{8}, Turns: 1, Invocations: []string{"e"}, Back: []int64{6}, Rewinds: []int64{7}}},
		"to the beginning": {rewind.Turns(3), rewind.Plan{To: 0, Position: 8, Void: []int64{1, 2, 3, 4, 8}, Turns: 3, Invocations: []string{"a", "b", "e"},
			Summaries: []int64{5}, Rewinds: []int64{7}, State: []rewind.Change{{Key: "k", Old: 2.0}, {Key: "l", Old: "x"}, {Key: "o", New: "was"}},
			Shared: []string{"app:a", "user:n", "user:u"}, Artifacts: map[string][]int64{"f": {1, 2}}}},
		"the end of the turn before": {rewind.To(3), rewind.Plan{To: 3, Position: 8, Void: []int64{4, 8}, Turns: 1, Invocations: []string{"b", "e"}, Cut: "b",
			Back: []int64{1, 2, 3}, Summaries: []int64{5}, Rewinds: []int64{7},
			State:  []rewind.Change{{Key: "k", Old: 2.0, New: 1.0}, {Key: "l", Old: "x"}, {Key: "o", New: "was"}},
			Shared: []string{"app:a", "user:n"}, Artifacts: map[string][]int64{"f": {2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := rewind.DryRun(initial, log, tc.do)
			require.NoError(t, err)
			require.Equal(t, &tc.want, plan)
		})
	}
	_, err := rewind.DryRun(initial, log, rewind.To(9))
	require.EqualError(t, err, "there is no position 9 yet: the last event is at 8")
}
