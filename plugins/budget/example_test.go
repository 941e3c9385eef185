package budget_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func Example() {
	limits, err := budget.New(budget.Config{Limits: []budget.Limit{
		{
			Name:    "rate",
			Count:   "runs",
			Max:     2,
			Per:     "user",
			Every:   time.Hour,
			Message: "That was all for this hour.",
		},
		{
			Name:  "daily",
			Count: "tokens",
			Max:   100_000,
			Per:   "user",
			Until: "00:00 Europe/Berlin",
			Warn:  0.8,
		},
	}})
	if err != nil {
		panic(err)
	}
	polite := agent.New(
		"bot",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("Hello."), nil) }
		},
	)
	r, err := runner.New(
		runner.Options{Agent: polite, Sessions: memory.New(), Plugins: []*plugin.Plugin{limits}})
	if err != nil {
		panic(err)
	}
	defer r.Close(context.Background())

	for _, id := range []string{"monday", "tuesday", "wednesday"} {
		key := session.Key{App: "app", User: "ann", ID: id}
		for e, err := range r.Run(context.Background(), key, session.Message("Hi."), session.RunConfig{Create: true}) {
			if err != nil {
				panic(err)
			}
			if e.Author != session.User {
				fmt.Println(e.Author, e.ErrorCode, e.Text())
			}
		}
	}
	// Output:
	// bot  Hello.
	// bot  Hello.
	// plugin/budget DENIED That was all for this hour.
}
