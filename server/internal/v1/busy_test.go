package v1_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// A client that comes back sends its request again as it was, with what it wants of a busy session. By then
// the session may be busy with the user's next input, which must not suffer from it.
func TestAnInputThatIsSentAgainCancelsNobody(t *testing.T) {
	for _, busy := range []string{"interrupt", "rollback", "reject"} {
		t.Run(busy, func(t *testing.T) {
			goOn := make(chan struct{})
			s := serve(
				t,
				func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
					if host.Now().Input.Text() == "second" {
						return servertest.Waiting(goOn)(ctx, host)
					}
					return servertest.Echo(ctx, host)
				},
				nil,
			)
			const path = "/v1/apps/desk/sessions/ada/run"
			first := `{"id":"one","message":"the first","onBusy":"` + busy + `"}`
			status, was := s.Do("POST", path, first)
			require.Equal(t, 200, status)

			// The second input runs; the first is sent again, and waits for it.
			second := s.Open(
				t.Context(),
				"POST",
				path,
				`{"id":"two","message":"second"}`,
				"Accept",
				"text/event-stream",
			)
			defer second.Body.Close()
			again := s.Open(t.Context(), "POST", path, first, "Accept", "text/event-stream")
			defer again.Body.Close()
			require.Equal(t, 200, again.StatusCode)
			close(goOn)
			list := servertest.Frames(t, second.Body, nil)
			require.Equal(t, "end", list[len(list)-1].Name)
			require.Contains(t, list[len(list)-1].Data, `"kind":"done"`)

			// It is shown what became of the first.
			list = servertest.Frames(t, again.Body, nil)
			var answer struct{ Events []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(was), &answer))
			require.Len(t, list, len(answer.Events)+1)
			require.Equal(t, "You said: the first", list[1].Text(t))
			_, log := s.Do("GET", "/v1/apps/desk/sessions/ada/events", "")
			require.Contains(t, log, "second")
			require.NotContains(t, log, "rewind")
		})
	}
}

// What a run without an input waits for, a lease or its agent, cannot be seen from outside.
func TestARunWithoutAnInputEndsAfterItsTimeToo(t *testing.T) {
	goOn := make(chan struct{})
	defer close(goOn)
	s := serve(t, func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		if host.Now().Input != nil {
			return servertest.Echo(ctx, host)
		}
		return servertest.Waiting(goOn)(ctx, host)
	}, func(o *server.Options) { o.Limits.Run = time.Second })
	status, _ := s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"Hello there"}`)
	require.Equal(t, 200, status)
	status, body := s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{}`)
	require.Equal(t, 504, status, body)
}

func TestShutdownLeavesARunBehindThatDoesNotObey(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) { <-goOn }
	}, nil)
	resp := s.Open(t.Context(), "POST", "/chat", `{"session":"ada","message":"Hello"}`)
	defer resp.Body.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Server.Shutdown(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("Shutdown waits for a run that does not obey")
	}
	close(goOn)
	<-ended
}
