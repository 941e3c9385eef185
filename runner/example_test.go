package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A plugin that denies what an agent must not hear.
func ExampleRunner_Run() {
	bot := agent.New(
		"bot",
		"",
		func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				yield(session.Reply("You said: "+host.Now().Input.Text()), nil)
			}
		},
	)
	polite := &plugin.Plugin{
		Name: "polite",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == session.User && strings.Contains(e.Text(), "damn") {
				return plugin.Deny("Please stay polite.", "bad word"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{polite}})
	if err != nil {
		panic(err)
	}
	defer r.Close(context.Background())

	key := session.Key{App: "demo", User: "ada", ID: "1"}
	for _, text := range []string{"hello", "damn!"} {
		for e, err := range r.Run(context.Background(), key, session.Message(text), session.RunConfig{Create: true}) {
			if err != nil {
				panic(err)
			}
			fmt.Println(e.Seq, e.Author, e.Text(), e.ErrorCode == session.Denied)
		}
	}
	// Output:
	// 1 user hello false
	// 2 bot You said: hello false
	// 3 plugin/polite Please stay polite. true
}

// A coding agent runs in another program. It tells what it does, and obeys.
func ExampleOutside() {
	careful := &plugin.Plugin{
		Name: "careful",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, call := range e.FunctionCalls() {
				if command, _ := call.Args["command"].(string); strings.Contains(command, "push --force") {
					no := session.Respond(call, map[string]any{"error": "Do not push by force."})
					return plugin.Outcome{Emit: []*session.Event{no}}, nil
				}
			}
			return plugin.Outcome{}, nil
		},
	}
	ctx := context.Background()
	r, err := runner.New(runner.Options{
		Agent:    agent.Outside("claude", "a coding agent"),
		Sessions: memory.New(),
		Plugins:  []*plugin.Plugin{careful},
	})
	if err != nil {
		panic(err)
	}
	defer r.Close(ctx)
	claude := runner.Outside{
		Runner: r,
		Key:    session.Key{App: "coding", User: "ada", ID: "1"},
		Agent:  "claude",
	}

	if _, err := claude.Offer(ctx, session.Message("publish it")); err != nil {
		panic(err)
	}
	call := &genai.FunctionCall{ID: "t1", Name: "Bash", Args: map[string]any{"command": "git push --force"}}
	got, err := claude.Offer(ctx, &session.Event{
		ID:      "call t1",
		Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}},
	})
	if err != nil {
		panic(err)
	}
	if c := got.Calls[0]; c.Response != nil {
		fmt.Println(c.Name, "is denied:", c.Result.Response["error"])
	}
	// Output:
	// Bash is denied: Do not push by force.
}
