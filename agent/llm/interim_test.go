package llm_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// orders returns a long-running tool whose calls are pending until somebody answers them. It says at once what a call
// with the argument "now" returns.
func orders() *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 "order",
			ParametersJsonSchema: map[string]any{"type": "object"},
		},
		LongRunning: true,
		Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
			if call.Args["now"] == true {
				call.Final = true
				return map[string]any{"ordered": true}, nil
			}
			return map[string]any{"status": "pending"}, nil
		},
	}
}

// ordered returns what a user answers a call of the tool order with.
func ordered(id string) *session.Event {
	return session.Respond(&genai.FunctionCall{ID: id, Name: "order"}, map[string]any{"ordered": true})
}

func TestAFinalAnswerOfALongRunningTool(t *testing.T) {
	b := newBench(t, llm.Config{Model: answers(calls("order", `{"now":true}`), "done"), Tools: []*tool.Tool{orders()}})
	b.says("go", "user: go", `bot: order({"now":true})`, `bot: order={"ordered":true}`, "bot: done")
	require.Empty(t, waiting(t, b))
}

// waiting returns the ids of the calls that wait.
func waiting(t *testing.T, b *bench) (ids []string) {
	live, err := session.ReadAll(ctx, b.svc, key, session.Selection{Live: true})
	require.NoError(t, err)
	for _, c := range session.Calls(live) {
		if c.Waits() {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// The conversation goes on while a call waits for its second answer, and the model is shown the latest one.
func TestTheConversationGoesOnBetweenTwoAnswers(t *testing.T) {
	m := answers(calls("order", `{}`), "it is on its way", "Paris", "it has come")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{orders()}})
	b.says("go", "user: go", `bot: order({})`, `bot: order={"status":"pending"} later[c1]`, "bot: it is on its way")
	require.Equal(t, []string{"c1"}, waiting(t, b))
	b.says("the capital of France?", "user: the capital of France?", "bot: Paris")
	require.Equal(t, "user: go\nmodel: order(null)\nuser: order={\"status\":\"pending\"}\n"+
		"model: it is on its way\nuser: the capital of France?", shown(m.asked[2]))
	require.Equal(t, []string{"c1"}, waiting(t, b))
	b.says(ordered("c1"), `user: order={"ordered":true}`, "bot: it has come")
	require.Empty(t, waiting(t, b))
	require.Equal(t, "user: go\nmodel: order(null)\nuser: order={\"ordered\":true}\n"+
		"model: it is on its way\nuser: the capital of France?\nmodel: Paris\n"+
		"user: For context: Your earlier call of order (id c1) has been answered: the response stands with the call. Go on from there.",
		shown(m.asked[3]))
}

// A call with an interim answer holds up no other call of the same answer.
func TestAnInterimAnswerHoldsUpNoOther(t *testing.T) {
	both := calls("order", `{}`, "order", `{}`)
	both.Content.Parts[0].FunctionCall.ID = "c1"
	both.Content.Parts[1].FunctionCall.ID = "c2"
	b := newBench(t, llm.Config{Model: answers(both, "both are on their way", "the second has come", "and the first"),
		Tools: []*tool.Tool{orders()}})
	b.says("go", "user: go", "bot: order({}) order({})",
		`bot: order={"status":"pending"} order={"status":"pending"} later[c1 c2]`, "bot: both are on their way")
	b.says(ordered("c2"), `user: order={"ordered":true}`, "bot: the second has come")
	b.says(ordered("c1"), `user: order={"ordered":true}`, "bot: and the first")
}

// An agent that is called like a tool waits for the second answer, and its caller with it.
func TestACalleeWaitsForTheSecondAnswer(t *testing.T) {
	b := newBench(t, llm.Config{
		Model: answers(calls("expert", `{"request":"order"}`), "all done"),
		AgentTools: []agent.Agent{build(t, llm.Config{
			Name:  "expert",
			Model: answers(calls("order", `{}`), "it is on its way", "it has come"),
			Tools: []*tool.Tool{orders()},
		})},
	})
	b.says("go", "user: go", `bot: expert({"request":"order"})`, "bot|expert@c1: order", `expert|expert@c1: order({})`,
		`expert|expert@c1: order={"status":"pending"} later[c1-expert_c1]`, "expert|expert@c1: it is on its way", "bot: later[c1]")
	b.says(ordered("c1-expert_c1"), `user: order={"ordered":true}`, "expert|expert@c1: it has come",
		`bot: expert={"result":"it has come"}`, "bot: all done")
}
