package server_test

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// flaky forwards connections to a server, and cuts them at random moments: after mean on average, and after
// twice as long for each that was cut since the test has set cuts to 0, so that something comes through on a
// slow machine, too.
func flaky(t *testing.T, target string, mean time.Duration, cuts *atomic.Int32) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", strings.TrimPrefix(target, "http://"))
				if err != nil {
					return
				}
				defer out.Close()
				cut := time.AfterFunc(rand.N(2*mean<<min(cuts.Load(), 10)), func() {
					cuts.Add(1)
					in.Close()
					out.Close()
				})
				defer cut.Stop()
				done := make(chan struct{})
				go func() {
					defer close(done)
					io.Copy(out, in)
					out.Close()
				}()
				io.Copy(in, out)
				in.Close()
				<-done
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		wg.Wait()
	})
	return "http://" + listener.Addr().String()
}

func TestAClientsRunGoesOnWhenConnectionsBreak(t *testing.T) {
	s := serve(t, talker, nil)
	// Connections break in the middle of runs, however fast this machine is now.
	began := time.Now()
	s.Do("POST", "/v1/apps/desk/sessions/first/run", `{"message":"Hello"}`)
	s.Do("POST", "/v1/apps/desk/sessions/first/run", `{"message":"Hello"}`)
	mean := max(6*time.Millisecond, time.Since(began))
	var cuts atomic.Int32
	c, err := client.New(flaky(t, s.URL, mean, &cuts),
		client.Options{HTTP: &http.Client{Transport: &http.Transport{}}})
	require.NoError(t, err)
	defer c.Close()
	key := session.Key{App: "desk", User: "user", ID: "s"}
	for range contract.Times(20) {
		shown, of := "", ""
		var got []string
		cuts.Store(0)
		for e, err := range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{Create: true, Streaming: session.SSE}) {
			require.NoError(t, err)
			if e.Partial {
				if of != e.ID {
					shown = ""
				}
				of = e.ID
				shown += e.Text()
				continue
			}
			if of == e.ID {
				require.True(t, strings.HasPrefix(e.Text(), shown), "%q was shown of %q", shown,
					e.Text())
			}
			got = append(got, e.ID)
		}
		now, err := s.Sessions.Get(t.Context(), key)
		require.NoError(t, err)
		var log []string
		for e, err := range s.Sessions.Read(t.Context(), key, session.Selection{After: now.Position - int64(len(got))}) {
			require.NoError(t, err)
			log = append(log, e.ID)
		}
		require.Equal(t, log, got)
		require.Equal(t, "user", func() string {
			for e := range s.Sessions.Read(t.Context(), key, session.Selection{After: now.Position - int64(len(got))}) {
				return e.Author
			}
			return ""
		}())
	}
}

func TestAClientReadsWhatTheServerHas(t *testing.T) {
	s := serve(t, servertest.Desk, nil)
	c, err := client.New(s.URL, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	key := session.Key{App: "desk", User: "ann/../x", ID: "a b/c?d#e%2f"}
	_, err = c.Get(t.Context(), key)
	require.ErrorIs(t, err, session.ErrNotFound)
	run := func(input *session.Event) error {
		for _, err := range c.Run(t.Context(), key, input, session.RunConfig{Create: true}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, run(session.Message("book")))
	inv, err := session.Snapshot(t.Context(), c, key)
	require.NoError(t, err)
	require.EqualValues(t, 2, inv.Position)
	calls := session.Calls(inv.Live)
	require.Len(t, calls, 1)
	require.True(t, calls[0].Waits())
	require.NoError(t, run(session.Decision(true, "book-0")))
	require.ErrorIs(t, run(session.Decision(true, "book-0")), runner.ErrNotWaiting)
	require.NoError(t, run(rewind.Turns(1).Event()))
	inv, err = session.Snapshot(t.Context(), c, key)
	require.NoError(t, err)
	require.Empty(t, inv.Live)
	var last []*session.Event
	for e, err := range c.Read(t.Context(), key, session.Selection{Last: 1}) {
		require.NoError(t, err)
		last = append(last, e)
	}
	require.Len(t, last, 1)
	require.NotNil(t, last[0].Actions.Rewind)
	require.ErrorIs(t, run(session.Command{Name: "unknown"}.Event()), runner.ErrCommand)
}

func TestAClientThatLeavesCancelsItsRun(t *testing.T) {
	ended := make(chan error, 2)
	s := serve(t, func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			yield(nil, context.Cause(ctx))
		}
	}, nil)
	c, err := client.New(s.URL, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	key := session.Key{App: "desk", User: "user", ID: "s"}
	for range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{Create: true}) {
		break
	}
	require.ErrorIs(t, <-ended, session.ErrCancelled)

	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for _, err := range c.Run(ctx, key, session.Message("Hello"), session.RunConfig{}) {
		last = err
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
	require.ErrorIs(t, <-ended, session.ErrCancelled)
	cancel()
}
