package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// run is what an agent of these tests does.
type run = func(context.Context, *agent.Host) iter.Seq2[*session.Event, error]

// service is a server in a test.
type service struct {
	*testing.T
	url      string
	client   *http.Client
	server   *server.Server
	sessions session.Service
}

// serve serves an agent, as the app "desk", and closes everything at the end of the test.
func serve(t *testing.T, do run, change func(*server.Options), plugins ...*plugin.Plugin) *service {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	sessions := memory.New()
	a := agent.New("helper", "It helps.", do)
	compact, err := compaction.New(compaction.Config{})
	require.NoError(t, err)
	plugins = append(plugins, rewind.New(sessions), compact)
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions, Plugins: plugins})
	require.NoError(t, err)
	o := server.Options{
		Apps:   []server.App{{Name: "desk", Runner: r}},
		Limits: server.Limits{Heartbeat: 50 * time.Millisecond, Patience: 5 * time.Minute}, // a test may stop reading for a while
	}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		h.Close()
		require.NoError(t, r.Close(context.Background()))
		require.NoError(t, sessions.Close())
		leaktest.None(t, leaks)
	})
	return &service{T: t, url: h.URL, client: http.DefaultClient, server: s, sessions: sessions}
}

// echo is an agent that answers in two partial events and a whole one.
func echo(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		text := "You said: " + host.Now().Input.Text()
		id := session.NewID()
		for _, piece := range []string{text[:5], text[5:]} {
			e := session.Reply(piece)
			e.ID = id
			e.Partial = true
			if !yield(e, nil) {
				return
			}
		}
		e := session.Reply(text)
		e.ID = id
		yield(e, nil)
	}
}

// desk is an agent that echoes; a message "book" makes it call a tool that a human has to agree to, and
// "order" one whose response comes later.
func desk(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		live := host.Now().Live
		last := live[len(live)-1]
		calls := session.Calls(live)
		switch text := host.Now().Input.Text(); {
		case text == "book" && len(last.FunctionResponses()) == 0:
			e := call("book", fmt.Sprintf("book-%d", len(calls)))
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{e.Content.Parts[0].FunctionCall.ID: {Hint: "5 EUR"}}
			yield(e, nil)
		case text == "order":
			e := call("order", "order-1")
			e.LongRunningToolIDs = []string{"order-1"}
			yield(e, nil)
		case len(calls) > 0 && calls[len(calls)-1].Response == nil:
			c := calls[len(calls)-1]
			yield(session.Respond(c.FunctionCall, map[string]any{"booked": c.Approved()}), nil)
			yield(session.Reply("Thank you."), nil)
		default:
			echo(ctx, host)(yield)
		}
	}
}

// call is an agent's event with a call of a tool.
func call(name, id string) *session.Event {
	return &session.Event{Content: &genai.Content{
		Role:  genai.RoleModel,
		Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: map[string]any{}}}},
	}}
}

// withFiles gives the app artifacts.
func withFiles(o *server.Options) { o.Apps[0].Artifacts = artifact.NewMemory() }

// do sends a request and returns the answer's status and body.
func (s *service) do(method, path, body string, header ...string) (int, string) {
	s.Helper()
	resp := s.open(s.Context(), method, path, body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	return resp.StatusCode, string(data)
}

// open sends a request and returns the answer, whose body is still to be read.
func (s *service) open(ctx context.Context, method, path, body string, header ...string) *http.Response {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	require.NoError(s, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	require.NoError(s, err)
	return resp
}

// frame is one server-sent event.
type frame struct{ id, name, data string }

// frameReader reads server-sent events.
type frameReader struct{ lines *bufio.Reader }

func newFrames(r io.Reader) *frameReader { return &frameReader{bufio.NewReader(r)} }

// next returns the next event that is whole.
func (r *frameReader) next() (frame, error) {
	var f frame
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return frame{}, err
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "id":
			f.id = value
		case "event":
			f.name = value
		case "data":
			f.data = value
		case "":
			if f.data != "" {
				return f, nil
			}
			f = frame{}
		}
	}
}

// frames reads server-sent events until the stream ends or enough says so.
func frames(t *testing.T, body io.Reader, enough func(frame) bool) []frame {
	t.Helper()
	var list []frame
	for r := newFrames(body); ; {
		f, err := r.next()
		if err != nil {
			return list
		}
		list = append(list, f)
		if enough != nil && enough(f) {
			return list
		}
	}
}

// text returns the text of a frame's event.
func (f frame) text(t *testing.T) string {
	t.Helper()
	var e session.Event
	require.NoError(t, json.Unmarshal([]byte(f.data), &e))
	return e.Text()
}

// waiting is an agent that says nothing until the channel is closed.
func waiting(goOn <-chan struct{}) run {
	return func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			select {
			case <-goOn:
				yield(session.Reply("done"), nil)
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
			}
		}
	}
}

// flood is an agent that says 20 MB in floodEvents events.
func flood(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		text := strings.Repeat("flood ", 16<<10)
		for range floodEvents {
			if !yield(session.Reply(text), nil) {
				return
			}
		}
	}
}

const floodEvents = 200
