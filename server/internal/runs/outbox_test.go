package runs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/notify"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A run whose server has died is told of as cut off when nobody goes on with it for a time; not while somebody does, and
// nothing of a run that never began. A message that nobody takes for a day is given up.
func TestWhatIsToldOfARunThatWasCutOff(t *testing.T) {
	svc := memory.New()
	defer svc.Close()
	ctx := t.Context()
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := svc.Create(ctx, key, nil)
	require.NoError(t, err)
	r := New(limits.New(limits.Limits{}, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	defer r.Close(ctx)
	r.outbox = newOutbox([]*notify.Target{{URL: "http://127.0.0.1:1", Secret: "x"}}, 0)
	keep := func(w owed) session.Notice {
		data, err := json.Marshal(w)
		require.NoError(t, err)
		n := session.Notice{Key: key, ID: "in", Data: data}
		require.NoError(t, svc.KeepNotice(ctx, n, 0))
		return n
	}
	began := owed{Invocation: "i", Begun: time.Now()}

	// It has not begun.
	n := keep(began)
	w := began
	over, err := r.cutOff(svc, n, &w)
	require.NoError(t, err)
	require.False(t, over)
	w.Begun = time.Now().Add(-2 * giveUp)
	over, err = r.cutOff(svc, n, &w)
	require.NoError(t, err)
	require.True(t, over)
	require.Nil(t, w.Message)

	// It has begun, and somebody has the session.
	lease, err := svc.Lease(ctx, key, "i")
	require.NoError(t, err)
	input := session.Message("hi")
	input.InvocationID = "i"
	_, err = svc.Append(ctx, session.AppendTarget{Key: key, Fence: lease.Fence}, input)
	require.NoError(t, err)
	w = began
	over, err = r.cutOff(svc, n, &w)
	require.NoError(t, err)
	require.False(t, over)
	lease.Release()
	r.outbox.quiet = time.Hour
	over, err = r.cutOff(svc, n, &w)
	require.NoError(t, err)
	require.False(t, over, "somebody may go on with it")
	r.outbox.quiet = 0
	over, err = r.cutOff(svc, n, &w)
	require.NoError(t, err)
	require.True(t, over)
	require.Equal(t, "run.failed", w.Message.Type)
	require.Equal(t, "cut_off", w.Message.Data.End)
	again := began
	_, err = r.cutOff(svc, n, &again)
	require.NoError(t, err)
	require.Equal(t, w.Message.ID, again.Message.ID)

	// Nobody takes it: it is kept, and given up after a day.
	require.NoError(t, r.send(svc, keep(w)))
	left, err := svc.TakeNotices(ctx, "a", 0, 10)
	require.NoError(t, err)
	require.Empty(t, left, "it is due later")
	w.Message.Time = time.Now().Add(-2 * giveUp)
	require.NoError(t, r.send(svc, keep(w)))
	require.EqualValues(t, 1, r.budget.Notices.GivenUp.Load())
	done, err := svc.ReplaceNotice(ctx, session.Notice{Key: key, ID: "in"}, []byte("x"), 0)
	require.NoError(t, err)
	require.True(t, done, "nothing is left of it")
}

// A target that never answers holds no other one up, however many messages there are. It gets the rest of them later.
func TestATargetThatHangsHoldsUpNoOther(t *testing.T) {
	var taken, hung atomic.Int64
	open := make(chan struct{})
	release := sync.OnceFunc(func() { close(open) })
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken.Add(1) }))
	defer good.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hung.Add(1)
		<-open
	}))
	defer hangs.Close()
	defer release()
	svc := memory.New()
	defer svc.Close()
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := svc.Create(t.Context(), key, nil)
	require.NoError(t, err)
	const all = 5 * mostSent
	for i := range all {
		data, err := json.Marshal(owed{Message: &notify.Message{ID: fmt.Sprint(i), Type: "run.ended", Time: time.Now()}})
		require.NoError(t, err)
		require.NoError(t, svc.KeepNotice(t.Context(), session.Notice{Key: key, ID: fmt.Sprint(i), Data: data}, 0))
	}
	on, err := runner.New(runner.Options{Agent: agent.New("a", "It does nothing.", refunder{}.run), Sessions: svc})
	require.NoError(t, err)
	r := New(limits.New(limits.Limits{}, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	r.outbox = newOutbox([]*notify.Target{{URL: hangs.URL, Secret: "x"}, {URL: good.URL, Secret: "x"}}, 0)
	r.outbox.attempt = time.Hour // so nothing comes of what hangs
	require.Eventually(t, func() bool {
		require.NoError(t, r.sendDue(t.Context(), &apps.App{Name: "a", Runner: on}))
		return taken.Load() == all
	}, time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, hung.Load(), int64(mostSent))
	release()
	r.Close(t.Context())
	require.EqualValues(t, all, taken.Load())
}
