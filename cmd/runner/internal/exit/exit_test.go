package exit

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/session"
)

func TestExitCodes(t *testing.T) {
	codes, names := map[int]bool{}, map[string]bool{}
	for _, e := range Codes {
		require.False(t, codes[e.Number] || names[e.Name], e.Name)
		codes[e.Number] = true
		names[e.Name] = true
	}
}

func TestResult(t *testing.T) {
	event := func(author, code string, changed ...plugin.Note) *session.Event {
		return plugin.Notes{Changed: changed}.With(&session.Event{Author: author, ErrorCode: code})
	}
	node := func(path, code string, ended bool) *session.Event {
		return &session.Event{
			Author:    "desk",
			ErrorCode: code,
			NodeInfo:  &session.NodeInfo{Path: path, Ended: ended},
		}
	}
	byUser := func(e *session.Event) *session.Event {
		e.Author = session.User
		return e
	}
	for name, tc := range map[string]struct {
		events []*session.Event
		want   Code
	}{
		"a node's first attempt":             {[]*session.Event{node("desk@i/n@1", "FAILED", false), node("desk@i/n@1", "", true)}, OK},
		"a node that a workflow did without": {[]*session.Event{node("desk@i/n@1/m@1", "FAILED", false), node("desk@i", "", true)}, OK},
		"another node ended":                 {[]*session.Event{node("desk@i/n@1", "FAILED", false), node("desk@i/n@10", "", true)}, Model},
		"an edge leads on from a failure":    {[]*session.Event{node("desk@i/n@1", "FAILED", false), node("desk@i/n@1", "FAILED", true)}, OK},
		"and then the workflow fails":        {[]*session.Event{node("desk@i/n@1", "FAILED", true), node("desk@i", "FAILED", false)}, Model},
		"nothing":                            {nil, OK},
		"an answer":                          {[]*session.Event{event("a", "")}, OK},
		"a denial":                           {[]*session.Event{event("plugin/p", session.Denied), event("a", "")}, Denied},
		"a denial of an answer":              {[]*session.Event{event("a", session.Denied, plugin.Note{Plugin: "p"})}, Denied},
		"a model that says DENIED":           {[]*session.Event{event("a", session.Denied)}, Model},
		"a model's failure":                  {[]*session.Event{event("a", "SAFETY"), event("a", "")}, Model},
		"a plugin's other code":              {[]*session.Event{event("plugin/p", "LATE")}, Model},
		"after which an agent answers":       {[]*session.Event{event("plugin/p", "LATE"), session.Reply("yes")}, OK},
		"the answer to a command": {[]*session.Event{byUser(session.Command{Name: "c"}.Event()),
			event("plugin/p", "LATE")}, OK},
		"what the user says":         {[]*session.Event{event("user", session.Denied)}, OK},
		"a denial of a failed model": {[]*session.Event{event("a", "SAFETY"), event("plugin/p", session.Denied)}, Denied},
	} {
		var r Result
		for _, e := range tc.events {
			r.Note(e)
		}
		require.Equal(t, tc.want, Of(t.Context(), r.Err()), name)
	}
}

func TestOfRun(t *testing.T) {
	strange := OfRun(&client.Error{Code: "unauthorized", Message: "who are you?"})
	require.Equal(t, Usage, Of(t.Context(), strange))
	require.ErrorContains(t, strange, "RUNNER_TOKEN")
	for name, tc := range map[string]struct {
		err  error
		want Code
	}{
		"nothing":                  {nil, OK},
		"a plugin":                 {fmt.Errorf("%w", &plugin.Error{Plugin: "p", Err: io.EOF}), Plugin},
		"an agent":                 {&runner.AgentError{Agent: "a", Err: io.EOF}, Model},
		"a store":                  {io.EOF, Store},
		"a yes that came too late": {fmt.Errorf("runner: %w", runner.ErrNotWaiting), Usage},
	} {
		require.Equal(t, tc.want, Of(t.Context(), OfRun(tc.err)), name)
	}
}
