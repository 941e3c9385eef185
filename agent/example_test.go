package agent_test

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// An agent that calls tools acts on the log: it yields the calls, and executes those that are open
// once plugins have seen them. A plugin denies one by answering it.
func ExampleNew() {
	bot := agent.New(
		"bot",
		"",
		func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				calls := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
					{
						FunctionCall: &genai.FunctionCall{
							ID:   "1",
							Name: "read",
							Args: map[string]any{"file": "notes"},
						},
					},
					{
						FunctionCall: &genai.FunctionCall{
							ID:   "2",
							Name: "delete",
							Args: map[string]any{"file": "notes"},
						},
					},
				}}
				if !yield(&session.Event{Content: calls}, nil) {
					return
				}
				for _, call := range session.Calls(host.Now().Live) {
					if call.Response == nil {
						fmt.Println("executing", call.Name)
						if !yield(
							session.Respond(call.FunctionCall, map[string]any{"ok": true}),
							nil,
						) {
							return
						}
					}
				}
			}
		},
	)
	careful := &plugin.Plugin{
		Name: "careful",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, call := range session.Calls([]*session.Event{e}) {
				if call.Name == "delete" {
					out.Emit = append(out.Emit,
						session.Respond(call.FunctionCall, map[string]any{"error": "not allowed"}))
				}
			}
			return out, nil
		},
	}
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{careful}})
	if err != nil {
		panic(err)
	}
	defer r.Close(context.Background())
	key := session.Key{App: "a", User: "u", ID: "s"}
	var log []*session.Event
	for e, err := range r.Run(context.Background(), key, session.Message("tidy up"), session.RunConfig{Create: true}) {
		if err != nil {
			panic(err)
		}
		log = append(log, e)
	}
	for _, call := range session.Calls(log) {
		fmt.Println(call.Name, "was answered by", call.Response.Author)
	}
	// Output:
	// executing read
	// read was answered by bot
	// delete was answered by plugin/careful
}
