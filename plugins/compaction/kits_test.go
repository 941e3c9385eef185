package compaction_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// A story is a call in the form of another kit, as the events that it takes until it is really answered.
func story(kind, id string) []*session.Event {
	call := func(id, name string, args map[string]any) *session.Event {
		return &session.Event{
			Author: "desk",
			Content: &genai.Content{
				Role: genai.RoleModel,
				Parts: []*genai.Part{
					{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}},
				},
			},
		}
	}
	response := func(author, id, name, result string) *session.Event {
		e := session.Respond(&genai.FunctionCall{ID: id, Name: name},
			map[string]any{"result": result})
		e.Author = author
		return e
	}
	placeholder := response("desk", id, "pay", "wait")
	final := response("desk", id, "pay", "paid")
	question := call("ask "+id, "adk_request_confirmation",
		map[string]any{"originalFunctionCall": map[string]any{"id": id}})
	switch kind {
	case "confirmation":
		placeholder.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
			id: {Hint: "really?"},
		}
	case "login":
		placeholder.Actions.Extra = map[string]jsontext.Value{
			"requestedAuthConfigs": jsontext.Value(`{"` + id + `":{"authScheme":{}}}`),
		}
		question = call("ask "+id, "adk_request_credential", map[string]any{"functionCallId": id})
	case "long-running":
		first := call(id, "pay", nil)
		first.LongRunningToolIDs = []string{id}
		return []*session.Event{first, placeholder, response(session.User, id, "pay", "paid")}
	}
	question.LongRunningToolIDs = []string{"ask " + id}
	return []*session.Event{
		call(id, "pay", nil),
		placeholder,
		question,
		response(session.User, "ask "+id, question.FunctionCalls()[0].Name, "yes"),
		final,
	}
}

// A call that another kit has answered for the time being is open: none of its events is covered. Once
// it is really answered, all of them are covered, or none.
func TestOtherKitsOpenCallsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inv := &session.Invocation{Key: key, ID: "now"}
		add := func(invocation string, e *session.Event) {
			inv.Position++
			e.Seq = inv.Position
			e.InvocationID = invocation
			inv.Live = append(inv.Live, e)
		}
		turn := 0
		talk := func() {
			turn++
			add(fmt.Sprint("talk ", turn), says(session.User, "",
				fmt.Sprintf("message %d %s", turn, strings.Repeat("word ", 30))))
		}
		talk()

		// The stories, up to some point, with other turns in between. A story's first invocation ends
		// where people are waited for.
		type part struct {
			events []*session.Event
			whole  int
		}
		var stories []part
		for i := range rapid.IntRange(1, 5).Draw(t, "stories") {
			kind := rapid.SampledFrom([]string{"confirmation", "login", "long-running"}).
				Draw(t, "kind")
			id := fmt.Sprintf("c%d", i)
			if rapid.Bool().Draw(t, "id again") {
				id = "c"
			}
			all := story(kind, id)
			p := part{events: all[:rapid.IntRange(2, len(all)).Draw(t, "told")], whole: len(all)}
			invocation := fmt.Sprint("story ", i)
			for _, e := range p.events {
				if e.Author == session.User {
					talk()
					invocation += "'"
				}
				add(invocation, e)
			}
			stories = append(stories, p)
			talk()
		}
		for range 20 {
			talk()
		}
		covered := map[*session.Event]bool{}
		c := compaction.Config{
			Window:  400,
			Budget:  300,
			Trigger: 300,
			Summary: 40,
			Tail:    30,
			MinGain: 20,
			Log:     slog.New(slog.DiscardHandler),
			Count:   tokens,
		}
		plan, err := c.Preview(ctx, inv, "")
		require.NoError(t, err)
		require.Empty(t, plan.Declined, plan.Why)
		for _, e := range plan.Covered {
			covered[e] = true
		}
		for i, p := range stories {
			for _, e := range p.events {
				if len(p.events) < p.whole {
					require.False(t, covered[e], "event %d of story %d, which is open", e.Seq, i)
				}
				require.Equal(t, covered[p.events[0]], covered[e], "event %d of story %d", e.Seq, i)
			}
		}
	})
}
