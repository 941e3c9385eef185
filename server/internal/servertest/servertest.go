// Package servertest has a server in a test, with agents that do what clients of all its protocols have to be
// told of, and reads what it streams. The tests of the server's packages share it.
//
// What a test of one protocol needs stands with that test. What a second one needs comes here: an agent's
// behaviour as a case of Act, another way to ask as a method of Service.
package servertest

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

// Ada is the path of the session that most tests use.
const Ada = "/v1/apps/desk/sessions/ada"

// An Agent is what an agent of a test does.
type Agent = func(context.Context, *agent.Host) iter.Seq2[*session.Event, error]

// A Service is a server in a test.
type Service struct {
	*testing.T
	URL      string
	Client   *http.Client
	Server   *server.Server
	Sessions session.Service
}

// Serve serves an agent, as the app "desk", and closes everything at the end of the test.
func Serve(t *testing.T, do Agent, change func(*server.Options), plugins ...*plugin.Plugin) *Service {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { leaktest.None(t, leaks) })
	sessions := memory.New()
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	compact, err := compaction.New(compaction.Config{})
	require.NoError(t, err)
	plugins = append(plugins, rewind.New(sessions), compact)
	return ServeOn(t, sessions, agent.New("helper", "It helps.", do), change, plugins...)
}

// ServeOn serves an agent on sessions, as a replica does, and closes the server at the end of the test.
func ServeOn(
	t *testing.T,
	sessions session.Service,
	a agent.Agent,
	change func(*server.Options),
	plugins ...*plugin.Plugin,
) *Service {
	t.Helper()
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions, Plugins: plugins})
	require.NoError(t, err)
	o := server.Options{
		Apps: []server.App{{Name: "desk", Runner: r}},
		// A test may stop reading for a while.
		Limits: server.Limits{Heartbeat: 50 * time.Millisecond, Patience: 5 * time.Minute},
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
	})
	return &Service{T: t, URL: h.URL, Client: http.DefaultClient, Server: s, Sessions: sessions}
}

// Echo is an agent that answers in two partial events and a whole one.
func Echo(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
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

// Desk is an agent that echoes; a message "book" makes it call a tool that a human has to agree to, "refund" one that
// two people with the role finance have to agree to, and "order" one whose response comes later.
func Desk(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		live := host.Now().Live
		last := live[len(live)-1]
		calls := session.Calls(live)
		switch text := host.Now().Input.Text(); {
		case text == "book" && len(last.FunctionResponses()) == 0:
			e := Call(fmt.Sprintf("book-%d", len(calls)), "book", map[string]any{})
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
				e.Content.Parts[0].FunctionCall.ID: {Hint: "5 EUR"},
			}
			yield(e, nil)
		case text == "refund":
			e := Call("refund-1", "refund", map[string]any{"eur": 250})
			e.Actions.Confirm("refund-1", session.Confirmation{
				Hint: "250 EUR", Ask: []session.Approver{{By: "finance", Names: 2}},
			})
			yield(e, nil)
		case text == "order":
			e := Call("order-1", "order", map[string]any{})
			e.LongRunningToolIDs = []string{"order-1"}
			yield(e, nil)
		case len(calls) > 0 && calls[len(calls)-1].Name == "refund" && calls[len(calls)-1].Asked() != nil:
		case len(calls) > 0 && calls[len(calls)-1].Response == nil:
			c := calls[len(calls)-1]
			yield(session.Respond(c.FunctionCall, map[string]any{"booked": c.Approved()}), nil)
			yield(session.Reply("Thank you."), nil)
		default:
			Echo(ctx, host)(yield)
		}
	}
}

// WithFiles gives the app artifacts.
func WithFiles(o *server.Options) { o.Apps[0].Artifacts = artifact.NewMemory() }

// Do sends a request and returns the answer's status and body.
func (s *Service) Do(method, path, body string, header ...string) (int, string) {
	s.Helper()
	resp := s.Open(s.Context(), method, path, body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	return resp.StatusCode, string(data)
}

// Open sends a request and returns the answer, whose body is still to be read.
func (s *Service) Open(ctx context.Context, method, path, body string, header ...string) *http.Response {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	require.NoError(s, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client.Do(req)
	require.NoError(s, err)
	return resp
}

// A Frame is one server-sent event.
type Frame struct{ ID, Name, Data string }

// FrameReader reads server-sent events.
type FrameReader struct{ lines *bufio.Reader }

func NewFrames(r io.Reader) *FrameReader { return &FrameReader{bufio.NewReader(r)} }

// Next returns the next event that is whole.
func (r *FrameReader) Next() (Frame, error) {
	var f Frame
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return Frame{}, err
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "id":
			f.ID = value
		case "event":
			f.Name = value
		case "data":
			f.Data = value
		case "":
			if f.Data != "" {
				return f, nil
			}
			f = Frame{}
		}
	}
}

// Frames reads server-sent events until the stream ends or enough says so.
func Frames(t *testing.T, body io.Reader, enough func(Frame) bool) []Frame {
	t.Helper()
	var list []Frame
	for r := NewFrames(body); ; {
		f, err := r.Next()
		if err != nil {
			return list
		}
		list = append(list, f)
		if enough != nil && enough(f) {
			return list
		}
	}
}

// Text returns the text of a frame's event.
func (f Frame) Text(t *testing.T) string {
	t.Helper()
	var e session.Event
	require.NoError(t, json.Unmarshal([]byte(f.Data), &e))
	return e.Text()
}

// Waiting is an agent that says nothing until the channel is closed.
func Waiting(goOn <-chan struct{}) Agent {
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

// Log returns a session's log, of the default user.
func (s *Service) Log(id string) []*session.Event {
	s.Helper()
	key := session.Key{App: "desk", User: "user", ID: id}
	log, err := session.ReadAll(s.Context(), s.Sessions, key, session.Selection{})
	require.NoError(s, err)
	return log
}

// Texts returns the texts of a session's log.
func (s *Service) Texts(id string) []string {
	s.Helper()
	var texts []string
	for _, e := range s.Log(id) {
		texts = append(texts, e.Text())
	}
	return texts
}

// AGUIRequest returns a request of AG-UI with messages of the user. The last one is new.
func AGUIRequest(run string, texts ...string) string {
	var messages []string
	for i, text := range texts {
		messages = append(messages, fmt.Sprintf(`{"id":"u%d","role":"user","content":%q}`, i+1, text))
	}
	return `{"threadId":"ada","runId":"` + run + `","protocolVersion":"1.0","state":{},"messages":[` +
		strings.Join(messages, ",") + `],"tools":[],"context":[],"forwardedProps":{}}`
}

// A2AMessage returns the parameters with which A2A sends a text; more is JSON of other keys of the message.
func A2AMessage(id, text, more string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + more + `}}`
}

// ServeRunner serves a Runner, which stays the caller's, as the app "desk".
func ServeRunner(t *testing.T, r *runner.Runner, change func(*server.Options)) *Service {
	t.Helper()
	o := server.Options{Apps: []server.App{{Name: "desk", Runner: r}}, Limits: server.Limits{Patience: 5 * time.Minute}}
	change(&o)
	s, err := server.New(o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		h.Close()
	})
	return &Service{T: t, URL: h.URL, Client: http.DefaultClient, Server: s, Sessions: r.Sessions()}
}
