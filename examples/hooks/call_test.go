package hooks_test

import (
	"context"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Makes every search one of the user's own documents, whatever the model asks for.
func Example_changeArguments() {
	own := &plugin.Plugin{
		Name: "own-documents",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			changed := e.Clone()
			var out plugin.Outcome
			for _, c := range session.Calls([]*session.Event{changed}) {
				if c.Name == "search" && c.Args["owner"] != inv.Key.User {
					if c.Args == nil {
						c.FunctionCall.Args = map[string]any{}
					}
					c.FunctionCall.Args["owner"] = inv.Key.User
					out = plugin.Outcome{Replace: changed, Reason: "only own documents"}
				}
			}
			return out, nil
		},
	}
	search := function("search", func(args map[string]any) (map[string]any, error) {
		return map[string]any{"found": "a letter of " + args["owner"].(string)}, nil
	})
	run(
		withTools([]any{call("search", map[string]any{"owner": "eve"}), "I found a letter."},
			search),
		[]*plugin.Plugin{own},
		"Eve's letters?",
	)
	// Output:
	// user: Eve's letters?
	// bot: search({"owner":"ada"})
	// bot: search = {"found":"a letter of ada"}
	// bot: I found a letter.
}

// Denies a tool: the plugin answers the call, so it has an answer, so it is not executed. DENIED
// tells other plugins, and whoever reads the log, that it was policy and no failure.
func Example_denyTool() {
	guard := &plugin.Plugin{
		Name: "guard",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, c := range session.Calls([]*session.Event{e}) {
				if c.Name == "delete" {
					denied := session.Respond(c.FunctionCall,
						map[string]any{"error": "deleting is not allowed here"})
					denied.ErrorCode = session.Denied
					out.Emit = append(out.Emit, denied)
				}
			}
			return out, nil
		},
	}
	run(
		withTools([]any{call("delete", map[string]any{"file": "a.txt"}), "I may not."},
			function("delete", nothing)),
		[]*plugin.Plugin{guard},
		"Delete a.txt.",
	)
	// Output:
	// user: Delete a.txt.
	// bot: delete({"file":"a.txt"})
	// plugin/guard: delete = {"error":"deleting is not allowed here"} [DENIED]
	// bot: I may not.
}

// Holds a payment until a human has agreed. The run ends; a later one, maybe in another process,
// brings the answer, and the call is executed.
func Example_askHuman() {
	ask := &plugin.Plugin{
		Name: "ask",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			held := map[string]session.Confirmation{}
			for _, c := range session.Calls([]*session.Event{e}) {
				if c.Name == "pay" {
					held[c.ID] = session.Confirmation{Hint: "really pay? "}
				}
			}
			if len(held) == 0 {
				return plugin.Outcome{}, nil
			}
			question := &session.Event{Actions: session.Actions{RequestedToolConfirmations: held}}
			return plugin.Outcome{Emit: []*session.Event{question}}, nil
		},
	}
	yes := &session.Event{
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{"c-pay": {Confirmed: true}},
		},
	}
	run(withTools([]any{call("pay", map[string]any{"eur": 5}), "Paid."}, function("pay", nothing)),
		[]*plugin.Plugin{ask}, "Pay five euros.", yes)
	// Output:
	// user: Pay five euros.
	// bot: pay({"eur":5})
	// plugin/ask: [c-pay: really pay? false]
	// user: [c-pay: true]
	// bot: pay = {}
	// bot: Paid.
}

// Does not let the front desk hand over to billing. A transfer is a call like any other: who
// answers it has vetoed it.
func Example_vetoTransfer() {
	veto := &plugin.Plugin{
		Name: "hours",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, c := range session.Calls([]*session.Event{e}) {
				if c.Name == llm.Transfer && c.Args["agent_name"] == "billing" {
					out.Emit = append(out.Emit, session.Respond(c.FunctionCall,
						map[string]any{"error": "billing is closed"}))
				}
			}
			return out, nil
		},
	}
	front := newAgent(
		llm.Config{Name: "front", Model: says(handOver("billing"), "Billing opens at nine."),
			SubAgents: []agent.Agent{newAgent(llm.Config{Name: "billing", Model: says()})}},
	)
	run(front, []*plugin.Plugin{veto}, "I want my money back.")
	// Output:
	// user: I want my money back.
	// front: transfer_to_agent({"agent_name":"billing"})
	// plugin/hours: transfer_to_agent = {"error":"billing is closed"}
	// front: Billing opens at nine.
}
