package hooks_test

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Says what changes in the state, and who changes it. Put such a plugin last: it then sees what the
// log gets.
func Example_stateChanges() {
	audit := &plugin.Plugin{
		Name: "audit",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for key, value := range e.Actions.StateDelta {
				fmt.Printf("audit: %s changes %s from %v to %v\n", e.Author, key, inv.State[key],
					value)
			}
			return plugin.Outcome{}, nil
		},
	}
	agent := newAgent(llm.Config{Name: "bot", Model: says("Rome", "Oslo"), OutputKey: "city"})
	run(agent, []*plugin.Plugin{audit}, "Where to?", "And then?")
	// Output:
	// user: Where to?
	// bot: Rome
	// audit: bot changes city from <nil> to Rome
	// bot: [city is Rome]
	// user: And then?
	// bot: Oslo
	// audit: bot changes city from Rome to Oslo
	// bot: [city is Oslo]
}

// Adds a note to the log, after each answer that quotes the terms. It has no content, so no model
// is shown it and it ends nobody's turn.
func Example_addNote() {
	sources := &plugin.Plugin{
		Name: "sources",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if !strings.Contains(e.Text(), "§") {
				return plugin.Outcome{}, nil
			}
			note := &session.Event{CustomMetadata: map[string]any{"source": "terms.pdf"}}
			return plugin.Outcome{Emit: []*session.Event{note}, Reason: "it quotes the terms"}, nil
		},
	}
	run(bot("You may, by § 7."), []*plugin.Plugin{sources}, "May I send it back?")
	// Output:
	// user: May I send it back?
	// bot: You may, by § 7.
	// plugin/sources: [source: terms.pdf]
}

// Puts a summary in the place of what was said before, once that has become long. Emitting changes
// the log, so the request is built anew; the whole conversation stays in the log, and a rewind
// brings it back.
func Example_compact() {
	compact := &plugin.Plugin{
		Name: "compact",
		BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			if inv.Input == nil || len(inv.Live) < 5 {
				return plugin.Outcome{}, nil
			}
			summary := &session.Event{Actions: session.Actions{Compaction: &session.Compaction{
				Through: inv.Input.Seq - 1, Frontier: inv.Frontier, Content: genai.NewContentFromText("They counted to two.", genai.RoleUser),
			}}}
			return plugin.Outcome{Emit: []*session.Event{summary}}, nil
		},
	}
	count := func(req *model.Request) string { return fmt.Sprint("I was shown ", len(req.Contents), " contents.") }
	run(bot(count, count, count), []*plugin.Plugin{compact}, "One.", "Two.", "Three.")
	// Output:
	// user: One.
	// bot: I was shown 1 contents.
	// user: Two.
	// bot: I was shown 3 contents.
	// user: Three.
	// plugin/compact:
	// bot: I was shown 2 contents.
}
