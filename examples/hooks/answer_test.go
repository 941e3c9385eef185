package hooks_test

import (
	"context"
	"maps"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Takes a phone number out of what the model says, before it is stored and before anybody sees it.
func Example_redactAnswer() {
	redact := &plugin.Plugin{
		Name: "redact",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if !strings.Contains(e.Text(), "555-0100") {
				return plugin.Outcome{}, nil
			}
			clean := e.Clone()
			for _, p := range clean.Content.Parts {
				p.Text = strings.ReplaceAll(p.Text, "555-0100", "<number>")
			}
			return plugin.Outcome{Replace: clean, Reason: "a phone number"}, nil
		},
	}
	run(bot("Call 555-0100."), []*plugin.Plugin{redact}, "How do I reach you?")
	// Output:
	// user: How do I reach you?
	// bot: Call <number>.
}

// Sends an answer that is too long back to the model, once. What the agent is told after its answer
// is something that the model has not been asked about, so it is asked again.
func Example_tryAgain() {
	brief := &plugin.Plugin{
		Name: "brief",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, was := range inv.Live {
				if was.Author == "plugin/brief" && was.InvocationID == inv.ID {
					return plugin.Outcome{}, nil // it was told already
				}
			}
			if e.Author != "bot" || len(strings.Fields(e.Text())) <= 5 {
				return plugin.Outcome{}, nil
			}
			tell := &session.Event{
				Content: genai.NewContentFromText("Say it in five words.", genai.RoleUser),
			}
			return plugin.Outcome{Emit: []*session.Event{tell}}, nil
		},
	}
	run(bot("It depends on the weather, as so much does.", "If it rains, no."),
		[]*plugin.Plugin{brief}, "Do we meet?")
	// Output:
	// user: Do we meet?
	// bot: It depends on the weather, as so much does.
	// plugin/brief: Say it in five words.
	// bot: If it rains, no.
}

// Stops an answer while it is streamed. Partial events that lead to one event have its ID; with
// Partials the plugin takes them, and what it withholds nobody sees.
func Example_streamGuard() {
	type stream struct{ run, event string }
	var mu sync.Mutex
	said := map[stream]string{}
	guard := &plugin.Plugin{
		Name:     "guard",
		Partials: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			text := e.Text() // of a whole event
			if e.Partial {
				mu.Lock()
				defer mu.Unlock()
				said[stream{inv.ID, e.ID}] += e.Text()
				text = said[stream{inv.ID, e.ID}]
			}
			if strings.Contains(text, "Project X") {
				return plugin.Deny("I cannot talk about that.", "a secret project"), nil
			}
			return plugin.Outcome{}, nil
		},
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			mu.Lock()
			defer mu.Unlock()
			maps.DeleteFunc(said, func(s stream, _ string) bool { return s.run == inv.ID })
			return plugin.Outcome{}, nil
		},
	}
	chunks := []string{"We work ", "on Project", " X, which is ", "a rocket."}
	runWith(session.RunConfig{Create: true, Streaming: session.SSE}, bot(chunks),
		[]*plugin.Plugin{guard}, "What's new?")
	// Output:
	// user: What's new?
	// bot:… We work
	// bot:… on Project
	// plugin/guard: I cannot talk about that. [DENIED]
}
