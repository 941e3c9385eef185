package guardrail

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A walk that panics leaves no question behind: what was asked is cancelled, of rules in shadow
// too, and has come back.
func TestPanicInAWalkLeavesNoQuestion(t *testing.T) {
	var asked, cancelled atomic.Int32
	came := make(chan struct{}, 2)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // or the server does not see that the client has gone
		asked.Add(1)
		came <- struct{}{}
		<-r.Context().Done()
		cancelled.Add(1)
	}))
	p, err := policy.Parse("p.yaml", []byte(`
rules:
  - {id: topic, stages: [input], judge: {url: "`+service.URL+`", timeout: 1m, on_error: block}, action: block}
  - {id: trial, stages: [input], judge: {url: "`+service.URL+`", timeout: 1m, on_error: block}, action: block, mode: shadow}`))
	require.NoError(t, err)
	g := newGuard(Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	require.NoError(t, g.use(p))
	var walked *evaluation
	e := session.Message("x")
	e.Author = session.User
	require.Panics(t, func() {
		g.evaluate(g.policy.Load(), &session.Invocation{}, e, func(w *walk.Walker, ev *evaluation) {
			g.askJudges(context.Background(), ev)
			walked = ev
			w.Event(e, policy.Input)
			<-came
			<-came
			panic("a mistake")
		})
	})
	require.Error(t, walked.judges.ctx.Err())
	require.Error(t, walked.shadowJudges.ctx.Err())
	require.NoError(t, g.judges.Close(context.Background()))
	service.Close()
	require.EqualValues(t, 2, asked.Load())
	require.EqualValues(t, 2, cancelled.Load())
}
