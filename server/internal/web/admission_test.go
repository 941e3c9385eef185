package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// late is a source with one event, which comes shortly before the caller is to be asked about again.
type late struct {
	after time.Duration
	idle  []time.Duration // that Next was called with
}

func (l *late) Next(_ context.Context, idle time.Duration) (*session.Event, error) {
	l.idle = append(l.idle, idle)
	switch len(l.idle) {
	case 1:
		return nil, nil
	case 2:
		time.Sleep(l.after)
		return &session.Event{}, nil
	}
	return nil, io.EOF
}

// An event that comes does not put off the question whether the caller may still see more.
func TestACallerIsAskedAboutInEachHeartbeat(t *testing.T) {
	const heartbeat = time.Minute
	core := web.New(nil, runs.New(runs.Limits{}, slog.New(slog.DiscardHandler)), web.Settings{Heartbeat: heartbeat}, slog.New(slog.DiscardHandler))
	r := web.WithCaller(httptest.NewRequest("GET", "/", nil), web.Caller{Still: func() bool { return true }})
	source := &late{after: 20 * time.Millisecond}
	s := sse.Begin(httptest.NewRecorder(), heartbeat, 0)
	err := core.Pump(r.Context(), s, source, func(*session.Event) error { return nil })
	require.NoError(t, err)
	require.Len(t, source.idle, 3)
	require.LessOrEqual(t, source.idle[2], heartbeat-source.after)
}
