package runner_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// lines collects what is written, for several goroutines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A run that waits for its session says so after half a second, once; a run that does not wait says
// nothing.
func TestWaitingForTheSessionIsSaid(t *testing.T) {
	synctest.Test(t, waitingForTheSessionIsSaid)
}

func waitingForTheSessionIsSaid(t *testing.T) {
	var log lines
	s := stage(t, says("hi"))
	s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	r := s.start()
	run := func() error {
		for _, err := range r.Run(ctx, key, session.Message("hello"), session.RunConfig{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, run())
	require.Empty(t, log.String())

	lease, err := s.sessions.Lease(ctx, key, "run-7")
	require.NoError(t, err)
	done := make(chan error)
	began := time.Now()
	go func() { done <- run() }()
	for log.String() == "" {
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, 500*time.Millisecond, time.Since(began).Round(10*time.Millisecond))
	lease.Release()
	require.NoError(t, <-done)
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.Contains(t, log.String(), "level=INFO")
	require.Contains(t, log.String(),
		"waiting until another run on the session, perhaps in another process, has ended")
	require.Contains(t, log.String(), "session=app/ann/s")
	require.Contains(t, log.String(), "holder=run-7")
}
