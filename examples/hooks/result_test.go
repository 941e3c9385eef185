package hooks_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Answers a call that was made before, in this session and with the same arguments, with what was
// answered then. The log is the cache.
func Example_toolFromCache() {
	again := &plugin.Plugin{
		Name: "again",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, c := range session.Calls([]*session.Event{e}) {
				for _, was := range slices.Backward(session.Calls(inv.Live)) {
					if was.Response == nil || was.Name != c.Name ||
						!reflect.DeepEqual(was.Args, c.Args) {
						continue
					}
					if response := responseTo(was); response["error"] == nil {
						out.Emit = append(out.Emit, session.Respond(c.FunctionCall, response))
						break
					}
				}
			}
			return out, nil
		},
	}
	calls := 0
	rate := function("rate", func(map[string]any) (map[string]any, error) {
		calls++
		return map[string]any{"rate": 1.1, "calls": calls}, nil
	})
	run(withTools([]any{call("rate", nil), "1.1", call("rate", nil), "Still 1.1"}, rate),
		[]*plugin.Plugin{again}, "The rate?", "And now?")
	// Output:
	// user: The rate?
	// bot: rate(null)
	// bot: rate = {"calls":1,"rate":1.1}
	// bot: 1.1
	// user: And now?
	// bot: rate(null)
	// plugin/again: rate = {"calls":1,"rate":1.1}
	// bot: Still 1.1
}

// responseTo returns what a call was answered: one event may answer several.
func responseTo(c session.Call) map[string]any {
	for _, p := range c.Response.Content.Parts {
		if p.FunctionResponse != nil && p.FunctionResponse.ID == c.ID {
			return p.FunctionResponse.Response
		}
	}
	return nil
}

// Takes a field out of what a tool returns, before the model sees it and before it is stored.
func Example_redactResult() {
	redact := &plugin.Plugin{
		Name: "redact",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionResponses()) == 0 {
				return plugin.Outcome{}, nil
			}
			clean := e.Clone()
			var out plugin.Outcome
			for _, p := range clean.Content.Parts {
				if p.FunctionResponse != nil && p.FunctionResponse.Response["iban"] != nil {
					p.FunctionResponse.Response["iban"] = "(redacted)"
					out = plugin.Outcome{Replace: clean, Reason: "an account number"}
				}
			}
			return out, nil
		},
	}
	customer := function("customer", func(map[string]any) (map[string]any, error) {
		return map[string]any{"name": "Ada", "iban": "DE02120300000000202051"}, nil
	})
	run(withTools([]any{call("customer", nil), "Her name is Ada."}, customer),
		[]*plugin.Plugin{redact}, "Who is it?")
	// Output:
	// user: Who is it?
	// bot: customer(null)
	// bot: customer = {"iban":"(redacted)","name":"Ada"}
	// bot: Her name is Ada.
}

// Tells the model what a failure means, in place of what the network says. Package plugins/retry
// counts attempts as well.
func Example_toolFailure() {
	explain := &plugin.Plugin{
		Name: "explain",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionResponses()) == 0 {
				return plugin.Outcome{}, nil
			}
			clear := e.Clone()
			var out plugin.Outcome
			for _, p := range clear.Content.Parts {
				if p.FunctionResponse == nil {
					continue
				}
				if failure, _ := p.FunctionResponse.Response["error"].(string); strings.Contains(
					failure,
					"refused",
				) {
					p.FunctionResponse.Response["error"] = "the shop is closed until tomorrow; do not try again"
					out = plugin.Outcome{Replace: clear, Reason: failure}
				}
			}
			return out, nil
		},
	}
	order := function(
		"order",
		func(map[string]any) (map[string]any, error) { return nil, errors.New("dial tcp: connection refused") },
	)
	run(withTools([]any{call("order", nil), "The shop is closed."}, order),
		[]*plugin.Plugin{explain}, "Order tea.")
	// Output:
	// user: Order tea.
	// bot: order(null)
	// bot: order = {"error":"the shop is closed until tomorrow; do not try again"}
	// bot: The shop is closed.
}
