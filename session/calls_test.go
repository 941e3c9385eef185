package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/logtest"
	"github.com/plughook/plughook/session/store"
)

// A response answers the latest open call before it with its id, or with its name if neither has one.
func TestCalls(t *testing.T) {
	named := func(name string, response bool) *session.Event {
		p := &genai.Part{FunctionCall: &genai.FunctionCall{Name: name}}
		if response {
			p = &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: name}}
		}
		return &session.Event{Content: &genai.Content{Parts: []*genai.Part{p}}}
	}
	for _, c := range []struct {
		name string
		log  []*session.Event
		want []string // "position of the call>position of the response"
	}{
		{"nothing", nil, nil},
		{"no calls", []*session.Event{session.Message("x"), {}, {Content: &genai.Content{Parts: []*genai.Part{nil}}}}, nil},
		{"a call and its response", []*session.Event{logtest.Call("1"), logtest.Answer("1")}, []string{"1>2"}},
		{"open", []*session.Event{logtest.Call("1"), session.Message("x")}, []string{"1>0"}},
		{"a response without a call", []*session.Event{logtest.Answer("1"), logtest.Call("1")}, []string{"2>0"}},
		{"a second response", []*session.Event{logtest.Call("1"), logtest.Answer("1"), logtest.Answer("1")}, []string{"1>2"}},
		{"parallel calls", []*session.Event{logtest.Call("1", "2", "3"), logtest.Answer("3"), logtest.Answer("1", "2")}, []string{"1>3", "1>3", "1>2"}},
		{"an id again, one after the other", []*session.Event{logtest.Call("1"), logtest.Answer("1"), logtest.Call("1"), logtest.Answer("1")}, []string{"1>2", "3>4"}},
		{"an id again, while open", []*session.Event{logtest.Call("1"), logtest.Call("1"), logtest.Answer("1"), logtest.Answer("1")}, []string{"1>4", "2>3"}},
		{"an id again, the first left open", []*session.Event{logtest.Call("1"), session.Message("x"), logtest.Call("1"), logtest.Answer("1")}, []string{"1>0", "3>4"}},
		{"an id twice in one event", []*session.Event{logtest.Call("1", "1"), logtest.Answer("1"), logtest.Answer("1")}, []string{"1>3", "1>2"}},
		{"without ids, by name", []*session.Event{named("f", false), named("g", false), named("f", true), named("g", true)}, []string{"1>3", "2>4"}},
		{"an id like a name", []*session.Event{named("1", false), logtest.Answer("1"), logtest.Call("1"), named("1", true)}, []string{"1>4", "3>0"}},
		{"a response before its call in one event", []*session.Event{{Content: &genai.Content{Parts: []*genai.Part{logtest.Answer("1").Content.Parts[0], logtest.Call("1").Content.Parts[0]}}}}, []string{"1>0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for i, e := range c.log {
				e.Seq = int64(i) + 1
			}
			for _, call := range session.Calls(c.log) {
				at := int64(0)
				if call.Response != nil {
					at = call.Response.Seq
				}
				got = append(got, fmt.Sprintf("%d>%d", call.Event.Seq, at))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestCallsLongRunning(t *testing.T) {
	e := logtest.Call("1", "2", "")
	e.LongRunningToolIDs = []string{"2", ""}
	var long []bool
	for _, c := range session.Calls([]*session.Event{e}) {
		long = append(long, c.Deferred != nil)
	}
	require.Equal(t, []bool{false, true, false}, long, "an empty id names no call")
}

// Among the open calls with one id, a response is to the latest in its own branch, or else in any.
func TestCallsInBranches(t *testing.T) {
	in := func(branch string, e *session.Event) *session.Event {
		e.Branch = branch
		return e
	}
	log := logtest.Numbered(in("a", logtest.Call("1")), in("b", logtest.Call("1")), in("a", logtest.Answer("1")), in("c", logtest.Call("1")), in("", logtest.Answer("1")), in("b", logtest.Answer("1")))
	var got []int64
	for _, c := range session.Calls(log) {
		got = append(got, c.Response.Seq)
	}
	require.Equal(t, []int64{3, 6, 5}, got)
}

func TestCallsHeld(t *testing.T) {
	about := func(author, id string, confirmed bool) *session.Event {
		return &session.Event{Author: author, Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{id: {Confirmed: confirmed}}}}
	}
	for _, c := range []struct {
		name          string
		log           []*session.Event
		held, verdict int64
		approved      bool
	}{
		{"nobody asks", logtest.Numbered(logtest.Call("1")), 0, 0, false},
		{"asked", logtest.Numbered(logtest.Call("1"), about("plugin/p", "1", false)), 2, 0, false},
		{"approved", logtest.Numbered(logtest.Call("1"), about("plugin/p", "1", false), about(session.User, "1", true)), 2, 3, true},
		{"denied", logtest.Numbered(logtest.Call("1"), about("plugin/p", "1", false), about(session.User, "1", false)), 2, 3, false},
		{"about another call", logtest.Numbered(logtest.Call("1"), about("plugin/p", "2", false), about(session.User, "2", true)), 0, 0, false},
		{"asked again", logtest.Numbered(logtest.Call("1"), about("plugin/p", "1", false), about(session.User, "1", true), about("plugin/q", "1", false)), 4, 0, false},
		{"after the response", logtest.Numbered(logtest.Call("1"), logtest.Answer("1"), about("plugin/p", "1", false), about(session.User, "1", true)), 0, 0, false},
		{"in the call's own event", logtest.Numbered(&session.Event{Author: "agent", Content: logtest.Call("1").Content, Actions: about("", "1", false).Actions}), 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := session.Calls(c.log)[0]
			for want, e := range map[*session.Event]int64{got.Held: c.held, got.Decision: c.verdict} {
				if want != nil {
					require.Equal(t, e, want.Seq)
				}
			}
			require.Equal(t, []bool{c.held != 0, c.verdict != 0, c.approved}, []bool{got.Held != nil, got.Decision != nil, got.Approved()})
		})
	}
}

func TestRespond(t *testing.T) {
	e := session.Respond(&genai.FunctionCall{ID: "1", Name: "f"}, map[string]any{"result": 3})
	calls := session.Calls([]*session.Event{logtest.Call("1"), e})
	require.Equal(t, e, calls[0].Response)
	require.Equal(t, &genai.FunctionResponse{ID: "1", Name: "f", Response: map[string]any{"result": 3}}, e.Content.Parts[0].FunctionResponse)
}

// A compaction covers neither a call that is held nor what was asked and said about it.
func TestCompactionOfHeldCalls(t *testing.T) {
	ask := &session.Event{Author: "plugin/p", Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{"1": {}}}}
	say := &session.Event{Author: session.User, Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{"1": {Confirmed: true}}}}
	log := logtest.Numbered(session.Message("x"), logtest.Call("1"), ask, say, logtest.Answer("1"))
	for _, keep := range [][]int64{nil, {2}, {2, 3}, {2, 4}, {3, 4}} {
		require.ErrorIs(t, store.CheckCompaction(log[:4], 0, 5, logtest.Compaction(4, 0, keep...)), session.ErrInvalid, "keep %v", keep)
	}
	require.NoError(t, store.CheckCompaction(log[:4], 0, 5, logtest.Compaction(4, 0, 2, 3, 4)))
	require.NoError(t, store.CheckCompaction(log, 0, 6, logtest.Compaction(5, 0)), "once it has its response")
}
