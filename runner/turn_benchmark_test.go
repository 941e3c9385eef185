package runner_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// BenchmarkTurn is the time from the call of Run to the model's call, with one input, on a session of
// so many live events of 200 bytes of text, by a Runner with the default options that has run on it
// before. A pause, as of a person, comes before the runs but those of "at once". The calls of "mixed"
// and their responses are every tenth pair of events. It reports medians, and what was allocated until
// then.
func BenchmarkTurn(b *testing.B) {
	for _, live := range []int{100, 10_000, 100_000} {
		for _, kind := range []string{"talk", "mixed"} {
			b.Run(fmt.Sprintf("%s/%d", kind, live), func(b *testing.B) {
				sessions := openSessions(b, "sqlite")
				fillConversation(b, sessions, live, kind == "mixed")
				t := &turn{}
				a, err := llm.New(llm.Config{Name: "bot", Model: t})
				require.NoError(b, err)
				r, err := runner.New(runner.Options{Agent: a, Sessions: sessions})
				require.NoError(b, err)
				defer func() { require.NoError(b, r.Close(ctx)) }()
				t.run(b, r) // this one reads all
				t.run(b, r)
				var paused, atOnce []time.Duration
				var bytes uint64
				for b.Loop() {
					time.Sleep(200 * time.Millisecond)
					took, allocated := t.run(b, r)
					paused = append(paused, took)
					bytes = allocated
					took, _ = t.run(b, r)
					atOnce = append(atOnce, took)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ms(median(paused)), "turn-ms")
				b.ReportMetric(ms(slices.Max(paused)), "turn-max-ms")
				b.ReportMetric(ms(median(atOnce)), "at-once-ms")
				b.ReportMetric(float64(bytes)/1024, "turn-KB")
			})
		}
	}
}

// turn is a model that notes when it is called.
type turn struct {
	called   time.Time
	bytes    uint64
	contents int
}

func (t *turn) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		t.called = time.Now()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.bytes = mem.TotalAlloc
		t.contents = len(req.Contents)
		yield(&model.Response{
			Content:      genai.NewContentFromText("yes", genai.RoleModel),
			FinishReason: genai.FinishReasonStop,
		}, nil)
	}
}

// run runs an input and returns how long it took until the model was called, and what was allocated
// until then.
func (t *turn) run(tb testing.TB, r *runner.Runner) (time.Duration, uint64) {
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for _, err := range r.Run(ctx, key, session.Message("hi"), session.RunConfig{}) {
		require.NoError(tb, err)
	}
	require.Positive(tb, t.contents)
	return t.called.Sub(start), t.bytes - before.TotalAlloc
}

// fillConversation makes a session with so many events of a user and the agent "bot".
func fillConversation(t testing.TB, sessions session.Service, events int, calls bool) {
	_, err := sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	after := int64(0)
	for from := 0; from < events; from += 1000 {
		var log []*session.Event
		for i := from; i < min(from+1000, events); i += 2 {
			text := fmt.Sprintf("%8d ", i) + strings.Repeat("words ", 32)[:191]
			if calls && i%20 == 18 {
				call := &genai.FunctionCall{
					ID:   fmt.Sprint("c", i),
					Name: "f",
					Args: map[string]any{"text": text[:100]},
				}
				asks := &session.Event{
					Author: "bot",
					Content: &genai.Content{
						Role:  genai.RoleModel,
						Parts: []*genai.Part{{FunctionCall: call}},
					},
				}
				responds := session.Respond(call, map[string]any{"text": text[100:]})
				responds.Author = "bot"
				log = append(log, asks, responds)
				continue
			}
			said := session.Reply(text)
			said.Author = "bot"
			log = append(log, session.Message(text), said)
		}
		after, err = sessions.Append(ctx, session.AppendTarget{Key: key, After: after}, log...)
		require.NoError(t, err)
	}
}
