// Package workflow has a support process as a workflow in Go: an order and its parts are looked up at
// the same time, an answer is written, and a person reads it, until the person says yes. The same kind
// of process without Go is in runner.yaml.
package workflow

import (
	"context"
	"fmt"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
)

// Shop is what the process does outside of the session.
type Shop struct {
	// Stock says whether a part is there. It may fail, and is asked again.
	Stock func(ctx context.Context, part string) (bool, error)
	// Send sends an answer to the customer. The key is the same for the same answer, also in another
	// process: what has been sent with a key is not sent again.
	Send func(ctx context.Context, key, answer string) error
}

// found is what the join hands on: the output of each node before it.
type found struct {
	Stock []bool `json:"stock"`
	Tone  string `json:"tone"`
}

// letter is what an answer is written of.
type letter struct {
	Found found  `state:"found"`
	Wish  string `state:"wish,omitempty"` // what the person wants otherwise
}

// Support returns the process.
func Support(shop Shop) (agent.Agent, error) {
	// The parts of the order are looked up, each by itself, and again if that fails.
	parts := workflow.Func("parts", func(_ context.Context, _ *workflow.Run, _ string) ([]string, error) {
		return []string{"kettle", "lid", "cable"}, nil
	})
	one := workflow.Func("stock", shop.stock)
	one.Retry = workflow.Retry{Attempts: 3, Delay: time.Millisecond}
	stock := workflow.Each(one, 2)

	// At the same time somebody judges how the customer feels.
	tone := workflow.Func("tone", func(_ context.Context, _ *workflow.Run, message string) (string, error) {
		return "friendly", nil
	})
	both := workflow.Join("both")
	both.OutputKey = "found"

	// The answer is written, and written again until a person says yes.
	write := workflow.Func("write", func(_ context.Context, _ *workflow.Run, in letter) (string, error) {
		there := 0
		for _, is := range in.Found.Stock {
			if is {
				there++
			}
		}
		return fmt.Sprintf("%d of %d parts are here. (%s%s)", there, len(in.Found.Stock), in.Found.Tone, in.Wish), nil
	})
	approve := workflow.Func("approve", func(ctx context.Context, r *workflow.Run, draft string) (string, error) {
		word, err := workflow.Ask[string](ctx, r, "send", "Send this? "+draft)
		if err != nil {
			return "", err
		}
		if word != "yes" {
			r.Set("wish", ", "+word)
			r.Route("again")
		}
		return draft, nil
	})
	send := workflow.Func("send", func(ctx context.Context, r *workflow.Run, draft string) (string, error) {
		return "sent: " + draft, shop.Send(ctx, r.Path, draft)
	})
	return workflow.New(workflow.Graph{
		Name: "support",
		Edges: []workflow.Edge{
			{From: workflow.Start, To: parts},
			{From: workflow.Start, To: tone},
			{From: parts, To: stock},
			{From: stock, To: both},
			{From: tone, To: both},
			{From: both, To: write},
			{From: write, To: approve},
			{From: approve, To: write, Route: "again"},
			{From: approve, To: send, Route: workflow.Default},
		},
	})
}

func (s Shop) stock(ctx context.Context, _ *workflow.Run, part string) (bool, error) {
	return s.Stock(ctx, part)
}
