package guardrail_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// echo is a model that repeats the last text, a rune at a time.
type echo struct{}

func (echo) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		last := req.Contents[len(req.Contents)-1]
		for _, chunk := range strings.SplitAfter(last.Parts[0].Text, "") {
			if !yield(
				&model.Response{
					Content: genai.NewContentFromText(chunk, genai.RoleModel),
					Partial: true,
				},
				nil,
			) {
				return
			}
		}
		yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: last.Parts}},
			nil)
	}
}

// Sessions at once, under one plugin, while its policy changes: each run is held to one policy from
// its beginning to its end, and a policy that is wrong changes nothing.
func TestSessionsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		other := file + ".new"
		require.NoError(t, os.WriteFile(other, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(other, at, at))
		require.NoError(t, os.Rename(other, file))
	}
	policies := []string{
		`rules: [{id: a, stages: [output], detect: {words: [one]}, action: redact}]`,
		`rules: [{id: b, stages: [output], detect: {words: [two]}, action: redact}]`,
		`rules: [{id: c, acton: redact}]`,
	}
	write(policies[0])
	bot, err := llm.New(llm.Config{Name: "bot", Model: echo{}})
	require.NoError(t, err)
	p, err := guardrail.New(
		guardrail.Config{File: file, Reload: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	var running sync.WaitGroup
	errs := make(chan error, 8)
	for n := range 8 {
		running.Go(func() {
			for range 20 {
				shown, whole := "", ""
				for e, err := range r.Run(ctx, session.Key{
					App:  "app",
					User: "ann",
					ID:   fmt.Sprint(n),
				}, session.Message("one two. "), session.RunConfig{
					Create:    true,
					Streaming: session.SSE,
				}) {
					switch {
					case err != nil:
						errs <- err
						return
					case e.Partial:
						shown += e.Text()
					case e.Author == "bot":
						whole = e.Text()
					}
				}
				if whole != "[WORD] two. " && whole != "one [WORD]. " || shown != whole {
					errs <- fmt.Errorf("%q was shown, %q stored", shown, whole)
					return
				}
			}
		})
	}
	for i := range 30 {
		write(policies[i%3])
	}
	running.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.NoError(t, r.Close(ctx))
}
