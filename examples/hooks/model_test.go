package hooks_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Answers a question that was asked before, by whomever, without asking the model.
func Example_answerFromCache() {
	var known sync.Map                           // answers by question
	asks := func(inv *session.Invocation) bool { // whether nothing has been said since the question
		return inv.Input != nil && inv.Input.Text() != "" &&
			!slices.ContainsFunc(inv.Live, func(e *session.Event) bool {
				return e.Seq > inv.Input.Seq && e.Content != nil
			})
	}
	cache := &plugin.Plugin{
		Name:     "cache",
		Partials: true, // it has no use for partial events, and does not want to hold them up
		BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			if asks(inv) {
				if answer, ok := known.Load(inv.Input.Text()); ok {
					return plugin.Outcome{
						Emit:     []*session.Event{session.Reply(answer.(string))},
						Withhold: true,
						Reason:   "asked before",
					}, nil
				}
			}
			return plugin.Outcome{}, nil
		},
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if asks(inv) && !e.Partial && e.ErrorCode == "" && e.Text() != "" {
				known.Store(inv.Input.Text(), e.Text())
			}
			return plugin.Outcome{}, nil
		},
	}
	run(bot("From nine to five."), []*plugin.Plugin{cache}, "When are you open?",
		"When are you open?")
	// Output:
	// user: When are you open?
	// bot: From nine to five.
	// user: When are you open?
	// plugin/cache: From nine to five.
}

// Says sorry when the model cannot be reached. The failure is an event, and the apology takes its
// place.
func Example_fallbackAnswer() {
	sorry := &plugin.Plugin{
		Name: "sorry",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			switch e.ErrorCode {
			case "UNAVAILABLE", "RESOURCE_EXHAUSTED", model.Failed, model.Unfinished:
				return plugin.Outcome{
					Replace: session.Reply("I cannot think right now. Try again soon."),
					Reason:  e.ErrorCode,
				}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	run(bot(&model.Error{Code: "UNAVAILABLE", Status: 503}), []*plugin.Plugin{sorry}, "Hello?")
	// Output:
	// user: Hello?
	// bot: I cannot think right now. Try again soon.
}

// Asks another model when the first one cannot be reached. The failure is withheld, and nothing
// answers in its place, so the agent asks again; and then the state says which model.
func Example_fallbackModel() {
	backup := &plugin.Plugin{
		Name: "backup",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.ErrorCode != "UNAVAILABLE" || inv.State["temp:model"] != nil {
				return plugin.Outcome{}, nil
			}
			choice := &session.Event{
				Actions: session.Actions{
					StateDelta: map[string]any{"temp:model": "small-and-steady"},
				},
			}
			return plugin.Outcome{
				Withhold: true,
				Emit:     []*session.Event{choice},
				Reason:   e.ErrorMessage,
			}, nil
		},
		BeforeModel: func(_ context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			if name, ok := inv.State["temp:model"].(string); ok {
				req.Model = name
			}
			return plugin.Outcome{}, nil
		},
	}
	introduces := func(req *model.Request) string { return "Hello from " + req.Model + "." }
	run(bot(&model.Error{Code: "UNAVAILABLE", Err: errors.New("overloaded")}, introduces),
		[]*plugin.Plugin{backup}, "Hello?")
	// Output:
	// user: Hello?
	// plugin/backup:
	// bot: Hello from small-and-steady.
}

// Ends a run in which the model was asked too often. The log says how often that was, so the count
// needs no memory, and holds in another process.
func Example_stopAfterModelCalls() {
	budget := &plugin.Plugin{
		Name: "budget",
		BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			asked := 0
			for _, e := range inv.Live {
				if e.InvocationID == inv.ID && e.Content != nil &&
					e.Content.Role == genai.RoleModel {
					asked++
				}
			}
			if asked < 2 {
				return plugin.Outcome{}, nil
			}
			return plugin.Deny("I have thought about this for too long.", "2 model calls"), nil
		},
	}
	loops := []any{call("search", nil), call("search", nil), call("search", nil)}
	run(withTools(loops, function("search", nothing)), []*plugin.Plugin{budget}, "Find it.")
	// Output:
	// user: Find it.
	// bot: search(null)
	// bot: search = {}
	// bot: search(null)
	// bot: search = {}
	// plugin/budget: I have thought about this for too long. [DENIED]
}
