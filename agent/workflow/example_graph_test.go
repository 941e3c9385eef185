package workflow_test

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A letter is written, shown to a person, and written again until the person says yes.
func ExampleNew() {
	type order struct {
		Topic string `state:"topic,omitempty"`
		Wish  string `state:"wish,omitempty"`
	}
	write := workflow.Func(
		"write",
		func(_ context.Context, r *workflow.Run, in order) (string, error) {
			return "Dear customer, " + in.Wish + "we are sorry.", nil
		},
	)
	review := workflow.Func(
		"review",
		func(ctx context.Context, r *workflow.Run, draft string) (string, error) {
			word, err := workflow.Ask[string](ctx, r, "approve", "Send this? "+draft)
			if err != nil {
				return "", err
			}
			if word != "yes" {
				r.Set("wish", word+", ")
				r.Route("again")
			}
			return draft, nil
		},
	)
	send := workflow.Func(
		"send",
		func(_ context.Context, _ *workflow.Run, letter string) (string, error) {
			return "sent: " + letter, nil
		},
	)
	desk, err := workflow.New(workflow.Graph{Name: "desk", Edges: []workflow.Edge{
		{From: workflow.Start, To: write},
		{From: write, To: review},
		{From: review, To: write, Route: "again"},
		{From: review, To: send, Route: workflow.Default},
	}})
	if err != nil {
		panic(err)
	}

	// Each answer may come from another process.
	sessions := memory.New()
	say := func(input *session.Event) {
		r, err := runner.New(runner.Options{Agent: desk, Sessions: sessions})
		if err != nil {
			panic(err)
		}
		defer r.Close(context.Background())
		key := session.Key{App: "letters", User: "ada", ID: "1"}
		for e, err := range r.Run(context.Background(), key, input, session.RunConfig{Create: true}) {
			switch {
			case err != nil:
				panic(err)
			case len(e.FunctionCalls()) > 0:
				fmt.Println("question:", e.FunctionCalls()[0].Args["message"])
			case e.Output != nil:
				fmt.Println(e.NodeInfo.Path+":", e.Output)
			}
		}
	}
	begin := session.Message("My kettle broke.")
	begin.ID = "mon"
	say(begin)
	say(workflow.Answer("desk@mon/review@1#approve", "with a new kettle"))
	say(workflow.Answer("desk@mon/review@2#approve", "yes"))
	// Output:
	// desk@mon/write@1: Dear customer, we are sorry.
	// question: Send this? Dear customer, we are sorry.
	// desk@mon/review@1: Dear customer, we are sorry.
	// desk@mon/write@2: Dear customer, with a new kettle, we are sorry.
	// question: Send this? Dear customer, with a new kettle, we are sorry.
	// desk@mon/review@2: Dear customer, with a new kettle, we are sorry.
	// desk@mon/send@1: sent: Dear customer, with a new kettle, we are sorry.
	// desk@mon: sent: Dear customer, with a new kettle, we are sorry.
}
