package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
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
		{"a call and its response", []*session.Event{call("1"), answer("1")}, []string{"1>2"}},
		{"open", []*session.Event{call("1"), session.Message("x")}, []string{"1>0"}},
		{"a response without a call", []*session.Event{answer("1"), call("1")}, []string{"2>0"}},
		{"a second response", []*session.Event{call("1"), answer("1"), answer("1")}, []string{"1>2"}},
		{"parallel calls", []*session.Event{call("1", "2", "3"), answer("3"), answer("1", "2")}, []string{"1>3", "1>3", "1>2"}},
		{"an id again, one after the other", []*session.Event{call("1"), answer("1"), call("1"), answer("1")}, []string{"1>2", "3>4"}},
		{"an id again, while open", []*session.Event{call("1"), call("1"), answer("1"), answer("1")}, []string{"1>4", "2>3"}},
		{"an id again, the first left open", []*session.Event{call("1"), session.Message("x"), call("1"), answer("1")}, []string{"1>0", "3>4"}},
		{"an id twice in one event", []*session.Event{call("1", "1"), answer("1"), answer("1")}, []string{"1>3", "1>2"}},
		{"without ids, by name", []*session.Event{named("f", false), named("g", false), named("f", true), named("g", true)}, []string{"1>3", "2>4"}},
		{"an id like a name", []*session.Event{named("1", false), answer("1"), call("1"), named("1", true)}, []string{"1>4", "3>0"}},
		{"a response before its call in one event", []*session.Event{{Content: &genai.Content{Parts: []*genai.Part{answer("1").Content.Parts[0], call("1").Content.Parts[0]}}}}, []string{"1>0"}},
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
	e := call("1", "2", "")
	e.LongRunningToolIDs = []string{"2", ""}
	var long []bool
	for _, c := range session.Calls([]*session.Event{e}) {
		long = append(long, c.LongRunning)
	}
	require.Equal(t, []bool{false, true, false}, long, "an empty id names no call")
}
