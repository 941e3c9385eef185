package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// An answer that broke off is the model's own turn in the next request: because the caller left, or
// the model failed.
func TestGoOnAfterAnAnswerThatBrokeOff(t *testing.T) {
	for name, c := range map[string]struct {
		answer []any
		leaves bool
		code   string
	}{
		"the caller leaves": {[]any{delta("Once "), delta("upon "), delta("a time")}, true, ""},
		"the model fails":   {[]any{delta("Once "), delta("upon "), errors.New("reset by peer")}, false, model.Failed},
		"it says no more":   {[]any{delta("Once "), delta("upon ")}, false, model.NoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			m := answers(c.answer, "a time")
			b := newBench(t, llm.Config{Model: m})
			b.cfg.Streaming = session.SSE
			r, err := runner.New(runner.Options{Agent: b.agent, Sessions: b.svc})
			require.NoError(t, err)
			for e, err := range r.Run(ctx, key, session.Message("tell"), b.cfg) {
				require.NoError(t, err)
				if c.leaves && e.Text() == "upon " {
					break
				}
			}
			require.NoError(t, r.Close(ctx))
			kept := b.live()[1]
			require.True(t, kept.Interrupted)
			require.Equal(t, c.code, kept.ErrorCode)
			require.Equal(t, "Once upon ", kept.Text())
			b.says("go on", "user: go on", "bot: a time")
			require.Equal(t, "user: tell\nmodel: Once upon \nuser: go on", shown(m.asked[1]))
		})
	}
}

// stalls is a model that says a word, and then nothing until it is cancelled.
type stalls struct{}

func (stalls) Generate(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		yield(delta("Once "), nil)
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// What the model had said when the agent's time limit was reached stands with the error.
func TestATimeLimitKeepsWhatTheModelHadSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{
			t:     t,
			agent: build(t, llm.Config{Model: stalls{}, Timeout: time.Minute}),
			svc:   memory.New(),
			cfg:   session.RunConfig{Create: true, Streaming: session.SSE},
		}
		b.says("go", "user: go", "bot…: Once ", "bot: Once  !TIME_LIMIT")
		require.True(t, b.live()[1].Interrupted)
	})
}

// A failure before the first word interrupts nothing.
func TestAFailureBeforeTheFirstWordIsNotInterrupted(t *testing.T) {
	b := newBench(t, llm.Config{Model: answers(errors.New("no"))})
	b.says("go", "user: go", "bot: !"+model.Failed)
	require.False(t, b.live()[1].Interrupted)
}
