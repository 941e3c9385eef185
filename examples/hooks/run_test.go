package hooks_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"iter"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// Counts how runs end. AfterRun comes once for each run that began, whatever became of it.
func Example_runMetrics() {
	ends := new(expvar.Map)
	metrics := &plugin.Plugin{
		Name: "metrics",
		AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			ends.Add(string(end.Kind), 1)
			return plugin.Outcome{}, nil
		},
	}
	moods := &plugin.Plugin{
		Name: "moods",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			switch e.Text() {
			case "stop":
				return plugin.Deny("No.", "asked to"), nil
			case "fail":
				return plugin.Outcome{}, errors.New("no idea")
			}
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(runner.Options{
		Agent:    bot("Hi.", "Hi."),
		Sessions: memory.New(),
		Plugins:  []*plugin.Plugin{moods, metrics},
	})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"hello", "stop", "fail", "leave", "cancel"} {
		ctx, cancel := context.WithCancel(context.Background())
		for range r.Run(ctx, session.Key{App: "shop", User: "ada", ID: text}, session.Message(text), session.RunConfig{Create: true}) {
			if text == "leave" {
				break
			}
			if text == "cancel" {
				cancel()
			}
		}
		cancel()
	}
	if err := r.Close(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(ends)
	// Output: {"cancelled": 1, "done": 1, "failed": 1, "left": 1, "stopped": 1}
}

// Says whose fault it was that a run failed.
func Example_runError() {
	alarm := &plugin.Plugin{
		Name: "alarm",
		AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			var byAgent *runner.AgentError
			var byPlugin *plugin.Error
			switch {
			case errors.As(end.Err, &byAgent):
				fmt.Println("alarm: agent", byAgent.Agent)
			case errors.As(end.Err, &byPlugin):
				fmt.Println("alarm: plugin", byPlugin.Plugin, "in", byPlugin.Hook)
			case end.Err != nil:
				fmt.Println("alarm:", end.Kind)
			}
			return plugin.Outcome{}, nil
		},
	}
	breaks := agent.New(
		"broken",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("no database")) }
		},
	)
	run(breaks, []*plugin.Plugin{alarm}, "Hello?")
	// Output:
	// user: Hello?
	// alarm: agent broken
	// error: runner: agent "broken": no database
}

// Keeps the bill of a user, over all sessions: an event that adds to a number, after the run,
// whether it went well or not.
func Example_addUpAfterRun() {
	bill := &plugin.Plugin{
		Name: "bill",
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			tokens := 0.0
			for _, e := range inv.Live {
				if e.InvocationID == inv.ID && e.UsageMetadata != nil {
					tokens += float64(e.UsageMetadata.TotalTokenCount)
				}
			}
			count := &session.Event{
				Actions: session.Actions{StateIncrement: map[string]float64{"user:tokens": tokens}},
			}
			return plugin.Outcome{Emit: []*session.Event{count}}, nil
		},
	}
	run(bot("Yes."), []*plugin.Plugin{bill}, "Is it far?")
	// Output:
	// user: Is it far?
	// bot: Yes.
	// plugin/bill: [user:tokens + 10]
}
