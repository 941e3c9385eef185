package agent_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// An agent that runs another names it in New, and runs it with Run: its events have their author,
// and who waits for it is known.
func ExampleRun() {
	night := agent.New("night", "answers at night", says("We are closed."))
	day := agent.New("day", "answers by day", says("How can I help?"))
	open := false
	door := agent.New(
		"door",
		"",
		func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				if open {
					agent.Run(ctx, day, host, yield)
				} else {
					agent.Run(ctx, night, host, yield)
				}
			}
		},
		day,
		night,
	)
	r, err := runner.New(runner.Options{Agent: door, Sessions: memory.New()})
	if err != nil {
		panic(err)
	}
	defer r.Close(context.Background())
	for e, err := range r.Run(context.Background(), session.Key{App: "a", User: "u", ID: "s"}, session.Message("Hello?"), session.RunConfig{Create: true}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Author+":", e.Text())
	}
	// Output:
	// user: Hello?
	// night: We are closed.
}

func says(text string) func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
	return func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(session.Reply(text), nil) }
	}
}
