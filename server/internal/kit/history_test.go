package kit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// made returns an event of an agent at a position.
func made(seq int64, branch string, parts ...*genai.Part) *session.Event {
	e := &session.Event{
		ID:        "e",
		Seq:       seq,
		Author:    "bot",
		Branch:    branch,
		Timestamp: time.Unix(1000+seq, 500e6),
	}
	if len(parts) > 0 {
		e.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
	}
	return e
}

func call(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name}}
}

// asked encodes the last event of a log, by a history of all of it and by one that begins with that event,
// and returns the JSON, which is the same.
func asked(t *testing.T, log ...*session.Event) string {
	t.Helper()
	whole := newHistory(nil)
	for _, e := range log {
		whole.add(e)
	}
	last := log[len(log)-1]
	want, err := whole.encode(last)
	require.NoError(t, err)
	late := newHistory(func(yield func(*session.Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	})
	late.add(last)
	got, err := late.encode(last)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	return string(want)
}

func TestACallThatIsAnsweredLaterIsAskedForOnce(t *testing.T) {
	later := made(2, "")
	later.LongRunningToolIDs = []string{"c1"}
	text := asked(t, made(1, "", call("c1", "report")), later)
	require.Contains(t, text, `"parts":[{"functionCall":{"args":{},"id":"c1","name":"report"}}]`)
	require.Contains(t, text, `"longRunningToolIds":["c1"]`)

	// The event has the call itself.
	both := made(1, "", call("c1", "report"))
	both.LongRunningToolIDs = []string{"c1"}
	require.Contains(
		t,
		asked(t, both),
		`"parts":[{"functionCall":{"args":{},"id":"c1","name":"report"}}]},"longRunningToolIds":["c1"]`,
	)
}

// An agent that was called waits for a human: the human is asked what the agent asks, and not for the agent's
// answer.
func TestTheCallOfAnAgentThatWaitsIsNotAskedFor(t *testing.T) {
	held := made(3, "helper@c1")
	held.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c2": {Hint: "Sure?"}}
	later := made(4, "")
	later.LongRunningToolIDs = []string{"c1"}
	log := []*session.Event{
		made(1, "", call("c1", "helper")),
		made(2, "helper@c1", call("c2", "pay")),
		held,
	}
	require.Contains(t, asked(t, log...), `"longRunningToolIds":["confirm-3-c2"]`)
	text := asked(t, append(log, later)...)
	require.NotContains(t, text, "longRunningToolIds")
	require.NotContains(t, text, "functionCall")
}

// The user's yes is the response to the question that the call was held with last.
func TestADecisionAnswersTheLastQuestion(t *testing.T) {
	question := func(seq int64) *session.Event {
		e := made(seq, "")
		e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c1": {}}
		return e
	}
	yes := session.Decision(true, "c1")
	yes.ID = "e"
	yes.Seq = 4
	text := asked(t, made(1, "", call("c1", "pay")), question(2), question(3), yes)
	require.Contains(
		t,
		text,
		`"functionResponse":{"id":"confirm-3-c1","name":"adk_request_confirmation","response":{"confirmed":true}}`,
	)
	require.NotContains(t, text, "requestedToolConfirmations")
}

func TestASummaryCoversARangeOfTime(t *testing.T) {
	summary := made(4, "")
	summary.Actions.Compaction = &session.Compaction{
		Through: 2,
		Content: genai.NewContentFromText("short", genai.RoleUser),
	}
	text := asked(t, made(1, ""), made(2, ""), made(3, ""), summary)
	require.Contains(t, text, `"compaction":{"startTimestamp":1001.5,"endTimestamp":1002.5,`+
		`"compactedContent":{"role":"user","parts":[{"text":"short"}]}}`)
}
