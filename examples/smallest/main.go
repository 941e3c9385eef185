// The smallest program: an agent that is one function, a runner, two turns of a session in memory.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// echo says what it was told, and how often it was told something. A real agent calls a model here.
func echo(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inv := host.Now()
		yield(session.Reply(fmt.Sprintf("%s (event %d)", inv.Input.Text(), inv.Position)), nil)
	}
}

func main() {
	ctx := context.Background()
	r, err := runner.New(runner.Options{Agent: agent.New("echo", "", echo), Sessions: memory.New()})
	if err != nil {
		log.Fatal(err)
	}
	key := session.Key{App: "smallest", User: "ada", ID: "first"}
	for _, text := range []string{"Hello", "Hello again"} {
		for event, err := range r.Run(ctx, key, session.Message(text), session.RunConfig{Create: true}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%d %s: %s\n", event.Seq, event.Author, event.Text())
		}
	}
	if err := r.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
