package llm_test

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// An agent with a tool that a human must agree to. The answer may come in a later run, from another
// process.
func ExampleNew() {
	ctx := context.Background()
	model, err := script.Parse("answers.yaml", []byte(`
- response: refund
  say: 'I sent {{.response.refund.result}}.'
- user: refund
  call: { name: refund, args: { euros: 5 } }
`))
	if err != nil {
		panic(err)
	}
	refund, err := tool.New(
		"refund",
		"Sends money back.",
		func(_ context.Context, _ *tool.Call, in struct {
			Euros int `json:"euros"`
		}) (string, error) {
			return fmt.Sprintf("%d EUR", in.Euros), nil
		},
	)
	if err != nil {
		panic(err)
	}
	clerk, err := llm.New(llm.Config{
		Name:  "clerk",
		Model: model,
		Tools: []*tool.Tool{tool.Confirm(refund, "Money leaves.")},
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Options{Agent: clerk, Sessions: memory.New()})
	if err != nil {
		panic(err)
	}
	defer r.Close(ctx)
	key := session.Key{App: "shop", User: "ada", ID: "1"}
	run := func(input *session.Event) (log []*session.Event) {
		for e, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
			if err != nil {
				panic(err)
			}
			log = append(log, e)
		}
		return log
	}
	for _, call := range session.Calls(run(session.Message("I want a refund."))) {
		if call.Waits() {
			fmt.Println("waiting:", call.Name, call.Args)
			log := run(session.Decision(true, call.ID))
			fmt.Println(log[len(log)-1].Text())
		}
	}
	// Output:
	// waiting: refund map[euros:5]
	// I sent 5 EUR.
}
