package guardrail_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// Of rules about one input those that say parallel and those that do not are all asked; the latter are waited for at once.
func TestParallelBesideOthers(t *testing.T) {
	for _, flagged := range []string{"waits", "runs", ""} {
		court := answered(t, func(w http.ResponseWriter, _ *http.Request, q map[string]string) {
			_, _ = fmt.Fprintf(w, `{"flagged": %t}`, q["rule"] == flagged)
		})
		p := plug(t, guardrail.Config{Log: slog.New(slog.DiscardHandler), Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: waits, stages: [input], judge: {url: %s, %s}, action: block}
  - {id: runs, stages: [input], judge: {url: %s, %s}, action: block}
  - {id: word, stages: [input], detect: {words: [heron]}, action: flag}`, court.URL, patient, court.URL, parallel))})
		inv := invocation()
		in := input("a heron")
		inv.Input = in
		out, err := p.OnEvent(ctx, inv, in)
		require.NoError(t, err)
		require.Equal(t, flagged == "waits", out.Stop)
		require.NotEmpty(t, court.texts())
		if !out.Stop {
			n, _ := guardrail.NoteOf(out.Replace)
			require.Len(t, n.Records, 1)
			inv.Live = []*session.Event{out.Replace}
			out, err = p.OnEvent(ctx, inv, says("bot", &genai.Part{Text: "hello"}))
			require.NoError(t, err)
			require.Equal(t, flagged == "runs", out.Stop)
			require.Len(t, court.texts(), 2)
		}
		if out.Stop {
			n, _ := guardrail.NoteOf(out.Emit[len(out.Emit)-1])
			for _, r := range n.Records {
				require.NotEqual(t, "word", r.Rule+map[bool]string{true: "!"}[flagged == "waits"], "it was noted on the input")
			}
		}
		_, err = p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(t, err)
	}
}

// What a model has said to an input that is blocked counts, though nobody sees it.
func TestParallelCountsWhatIsNotShown(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		court := answered(t, `{"flagged": true}`)
		p := plug(t, guardrail.Config{Log: slog.New(slog.DiscardHandler), Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: topic, stages: [input], judge: {url: %s, %s}, action: block}
  - {id: calls, limit: {model_calls: 5, per: user}, action: block}`, court.URL, parallel))})
		inv := invocation()
		inv.Input = input("x")
		_, err := p.OnEvent(ctx, inv, inv.Input)
		require.NoError(t, err)
		_, err = p.BeforeModel(ctx, inv, &model.Request{Agent: "bot"})
		require.NoError(t, err)
		said := says("bot", &genai.Part{Text: "hello"})
		said.Partial = streamed
		refused, err := p.OnEvent(ctx, inv, said)
		require.NoError(t, err)
		require.True(t, refused.Stop)
		inv.Position = 3
		ended, err := p.AfterRun(ctx, inv, plugin.End{Kind: plugin.EndStopped})
		require.NoError(t, err)
		require.Equal(t, 1.0, increments(refused, ended), "streamed: %t", streamed)
	}
}

// With an input of which something comes that is not offered first the verdict is waited for: a command, an answer that a
// call waits for; and when it is sent again after a crash.
func TestParallelWaitsWithWhatActsAtOnce(t *testing.T) {
	for name, change := range map[string]func(*session.Event){
		"a command": func(e *session.Event) { e.CustomMetadata = session.Command{Name: "rewind"}.Event().CustomMetadata },
		"an answer": func(e *session.Event) {
			e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: "f", Response: map[string]any{"a": "b"}}})
		},
		"a yes": func(e *session.Event) {
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c": {Confirmed: true}}
		},
	} {
		for _, again := range []bool{false, true} {
			court := answered(t, `{"flagged": true}`)
			p := plug(t, guardrail.Config{Log: slog.New(slog.DiscardHandler), Policy: court.rule(t, "stages: [input], action: block", parallel)})
			inv := invocation()
			inv.Input = input("bad")
			change(inv.Input)
			var out plugin.Outcome
			var err error
			if again {
				inv.Live = []*session.Event{inv.Input}
				out, err = p.BeforeRun(ctx, inv)
			} else {
				out, err = p.OnEvent(ctx, inv, inv.Input)
			}
			require.NoError(t, err)
			require.True(t, out.Stop, "%s: again %t", name, again)
			_, err = p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(t, err)
		}
	}
}
