package v1_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

func TestChatStreamsARunAndSaysHowItEnded(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	resp := s.Open(t.Context(), "POST", "/chat", `{"message":"Hello","session":"ada"}`)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	list := servertest.Frames(t, resp.Body, nil)
	var got []string
	for _, f := range list {
		if f.Name == "end" {
			require.Empty(t, f.ID)
			require.Contains(t, f.Data, `"kind":"done"`)
			got = append(got, "end")
			continue
		}
		got = append(got, f.Name+" "+f.ID+" "+f.Text(t))
	}
	require.Equal(t, " 1 Hello", got[0])
	require.Equal(t, []string{" 2 You said: Hello", "end"}, got[len(got)-2:])
}

func TestTheAnswerWithoutAStreamIsTheWholeRun(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	code, body := s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"Hello"}`)
	require.Equal(t, 200, code, body)
	require.Contains(t, body, `You said: Hello`)
	require.Contains(t, body, `"end":{"kind":"done"`)
}

func TestARunGoesOnWhenItsClientLeavesAndIsJoinedByItsInput(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			id := session.NewID()
			e := session.Reply("one ")
			e.ID = id
			e.Partial = true
			yield(e, nil)
			select {
			case <-goOn:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			whole := session.Reply("one two")
			whole.ID = id
			yield(whole, nil)
		}
	}, nil)

	// The client leaves after the first partial text.
	const path = "/v1/apps/desk/sessions/ada/run"
	const input = `{"id":"in-1","message":"Hello"}`
	ctx, leave := context.WithCancel(t.Context())
	resp := s.Open(ctx, "POST", path, input, "Accept", "text/event-stream")
	servertest.Frames(t, resp.Body, func(f servertest.Frame) bool { return f.Name == "partial" })
	leave()
	resp.Body.Close()

	// It comes back with the same input, and is shown what it has missed: no event twice.
	back := s.Open(t.Context(), "POST", path, input, "Accept", "text/event-stream", "Last-Event-ID",
		"1")
	defer back.Body.Close()
	got := servertest.Frames(t, back.Body, func(f servertest.Frame) bool {
		if f.Name == "partial" {
			close(goOn)
		}
		return f.Name == "end"
	})
	require.Equal(t, "one ", got[0].Text(t))
	require.Equal(t, "2", got[1].ID)
	require.Equal(t, "one two", got[1].Text(t))
	require.Len(t, got, 3)

	// Later, the same input shows the same again.
	code, body := s.Do("POST", path, input)
	require.Equal(t, 200, code)
	require.Contains(t, body, "one two")
	sess, err := s.Sessions.Get(t.Context(), session.Key{App: "desk", User: "user", ID: "ada"})
	require.NoError(t, err)
	require.EqualValues(t, 2, sess.Position)

	// Another input may not have its ID.
	code, body = s.Do("POST", path, `{"id":"in-1","message":"Something else"}`)
	require.Equal(t, 409, code, body)
	require.Contains(t, body, "id_reused")
}

func TestAFollowerSeesWhatIsAppendedWithoutAGap(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"one"}`)
	resp := s.Open(t.Context(), "GET", "/v1/apps/desk/sessions/ada/events?follow=1&after=1", "")
	defer resp.Body.Close()
	done := make(chan []servertest.Frame)
	go func() {
		done <- servertest.Frames(t, resp.Body, func(f servertest.Frame) bool { return f.ID == "4" })
	}()
	s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"two"}`)
	var ids []string
	for _, f := range <-done {
		if f.Name == "" {
			ids = append(ids, f.ID)
		}
	}
	require.Equal(t, []string{"2", "3", "4"}, ids)
}

func TestCancelEndsARun(t *testing.T) {
	s := serve(t, func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}, nil)
	const path = "/v1/apps/desk/sessions/ada"
	resp := s.Open(
		t.Context(),
		"POST",
		path+"/run",
		`{"message":"Hello","invocationId":"i-1"}`,
		"Accept",
		"text/event-stream",
	)
	defer resp.Body.Close()
	code, body := s.Do("POST", path+"/invocations/i-1/cancel?wait=1", "")
	require.Equal(t, 200, code)
	require.Contains(t, body, `"kind":"cancelled"`)
	list := servertest.Frames(t, resp.Body, nil)
	require.Contains(t, list[len(list)-1].Data, `"kind":"cancelled"`)

	// To cancel it once more changes nothing.
	code, _ = s.Do("POST", path+"/invocations/i-1/cancel", "")
	require.Equal(t, 202, code)
	code, body = s.Do("POST", path+"/invocations/i-1/cancel?wait=1", "")
	require.Equal(t, 200, code)
	require.Contains(t, body, `"kind":"ended"`)
}

func TestWhatABusySessionDoesWithAnotherInput(t *testing.T) {
	for _, busy := range []struct {
		how    string
		status int
		events int64 // in the log at the end
	}{
		{"reject", 409, 1},
		{"interrupt", 200, 4}, // one of them says that the run was cancelled
		{"rollback", 200, 5},
	} {
		t.Run(busy.how, func(t *testing.T) {
			began := make(chan struct{}, 1)
			s := serve(
				t,
				func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
					return func(yield func(*session.Event, error) bool) {
						if host.Now().Input.Text() == "slow" {
							began <- struct{}{}
							<-ctx.Done()
							yield(nil, context.Cause(ctx))
							return
						}
						yield(session.Reply("quick"), nil)
					}
				},
				nil,
			)
			const path = "/v1/apps/desk/sessions/ada/run"
			resp := s.Open(
				t.Context(),
				"POST",
				path,
				`{"message":"slow","invocationId":"i-1"}`,
				"Accept",
				"text/event-stream",
			)
			defer resp.Body.Close()
			<-began
			code, body := s.Do("POST", path, `{"message":"quick","onBusy":"`+busy.how+`"}`)
			require.Equal(t, busy.status, code, body)
			if busy.how == "reject" {
				require.Contains(t, body, `"invocation":"i-1"`)
			}
			sess, err := s.Sessions.Get(t.Context(),
				session.Key{App: "desk", User: "user", ID: "ada"})
			require.NoError(t, err)
			require.Equal(t, busy.events, sess.Position)
		})
	}
}

// Whoever spreads requests over servers learns that this one takes no more of them; it is alive, though.
func TestAServerThatIsShutDownIsNotReady(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	code, body := s.Do("GET", "/ready", "")
	require.Equal(t, 200, code, body)
	s.Server.Shutdown(t.Context())
	code, body = s.Do("GET", "/ready", "")
	require.Equal(t, 503, code)
	require.Contains(t, body, `"code":"closing"`)
	code, _ = s.Do("GET", "/health", "")
	require.Equal(t, 200, code)
}
