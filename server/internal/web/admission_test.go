package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
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

func (l *late) Close() {}

// An event that comes does not put off the question whether the caller may still see more.
func TestACallerIsAskedAboutInEachHeartbeat(t *testing.T) {
	const heartbeat = time.Minute
	core := web.New(nil, limits.Limits{Heartbeat: heartbeat}, slog.New(slog.DiscardHandler))
	r := core.WithCaller(httptest.NewRequest("GET", "/", nil), apps.Caller{}, nil,
		func() bool { return true })
	source := &late{after: 20 * time.Millisecond}
	err := core.Stream(httptest.NewRecorder(), r, func(context.Context, *sse.Stream) web.Frames {
		return web.Frames{
			From:   source,
			Event:  func(*session.Event) error { return nil },
			Broken: func(err error) { require.NoError(t, err) },
		}
	})
	require.NoError(t, err)
	require.Len(t, source.idle, 3)
	require.LessOrEqual(t, source.idle[2], heartbeat-source.after)
}
