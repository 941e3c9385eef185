package kit

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// run answers with the events of a run when it has ended.
func (x *routes) run(w http.ResponseWriter, r *request) (any, error) {
	q, err := x.toRun(w, r)
	if err != nil {
		return nil, err
	}
	q.Config.Streaming = ""
	run, err := x.Run(r.Context(), q)
	if err != nil {
		return nil, err
	}
	h := newHistory(r.app.Sessions().Read(r.Context(), r.key, session.Selection{}))
	events := []jsontext.Value{}
	for _, e := range run.Events() {
		if !isReply(e) {
			continue
		}
		h.add(e)
		data, err := h.encode(e)
		if err != nil {
			return nil, err
		}
		events = append(events, data)
	}
	return events, nil
}

// isReply reports whether an event of a run is sent to who started it: the kit does not send the input back.
func isReply(e *session.Event) bool { return e.Author != session.User }

// withNewID returns a partial event with an ID of its own. In the log's stream partial events have the ID of the whole
// event. The kit makes a new one for each response of a model, and a page of it that finds an ID again, behind a thought,
// drops the text.
func withNewID(e *session.Event) *session.Event {
	c := *e
	c.ID = session.NewID()
	return &c
}

// runSSE answers with the events of a run as they come, and with partial events if the request asks for
// streaming. Nothing says how the run has ended: the end of the stream does, and a frame {"error": …} before
// it if the run has failed. The status is 200 for every request that is well-formed, of a session that
// exists: the kit's page shows no other status to its user. The run is cancelled when its client leaves,
// unless ?onDisconnect=continue says otherwise: the page has no other way to stop a run.
func (x *routes) runSSE(w http.ResponseWriter, r *request) (any, error) {
	q, err := x.toRun(w, r)
	if err != nil && web.ProblemOf(err).Status != http.StatusConflict {
		return nil, err
	}
	var run *runs.Run
	var from runs.Follower = runs.Nothing{}
	defer func() { from.Close() }()
	return nil, x.Stream(w, r.Request, func(ctx context.Context, out *sse.Stream) web.Frames {
		// Only a request that gets a stream starts a run.
		if err == nil {
			run, from, err = x.Runs.Start(ctx, q, 0)
		}
		if err != nil {
			from = runs.Nothing{Err: err}
		}
		h := newHistory(r.app.Sessions().Read(ctx, r.key, session.Selection{}))
		return web.Frames{
			From: from,
			Event: func(e *session.Event) error {
				if !isReply(e) || e.Partial && q.Config.Streaming != session.SSE {
					return nil
				}
				if e.Partial {
					e = withNewID(e)
				} else {
					h.add(e)
				}
				data, err := h.encode(e)
				if err != nil {
					return err
				}
				return out.Send("", 0, data) // without an id: see runs.Follower
			},
			End: func() error { return run.End().Err },
			Broken: func(err error) {
				data, err := encoded(map[string]string{"error": x.Noted(r.Request, err).Message})
				if err == nil {
					_ = out.Send("", 0, data) // whoever has left is not told
				}
			},
		}
	})
}

// runLive refuses a live session in the way that the kit's page shows: by the reason with which the
// connection is closed.
func (x *routes) runLive(w http.ResponseWriter, r *request) (any, error) {
	// The origin was checked with every other request's.
	c, err := websocket.Accept(w, r.Request, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err == nil { // else it has answered
		_ = c.Close(websocket.StatusInternalError, "live is not served") // whoever has left is not told
	}
	return nil, nil
}

// toRun reads what to run, and on which session, which must exist.
func (x *routes) toRun(w http.ResponseWriter, r *request) (q runs.Request, err error) {
	b, err := readBody(w, r.Request, x.Limits.Upload)
	if err != nil {
		return q, err
	}
	var name, user, id string
	streaming := false
	b.read("appName", &name)
	b.read("userId", &user)
	b.read("sessionId", &id)
	b.read("streaming", &streaming)
	if b.err != nil {
		return q, b.err
	}
	if r.app, err = x.App(r.Request, name); err != nil {
		return q, err
	}
	if r.key, err = x.Key(r.Request, r.app, user, id, false); err != nil {
		return q, err
	}
	if _, err := r.app.Sessions().Get(r.Context(), r.key); err != nil {
		return q, err
	}
	x.recent.add(r.key)

	input, err := x.input(r, b)
	if err != nil {
		return q, err
	}
	q = sessions.Request(r.app, r.key, input)
	q.LeaveCancels = true
	if streaming {
		q.Config.Streaming = session.SSE
	}
	switch r.URL.Query().Get("onDisconnect") {
	case "", "cancel":
	case "continue":
		q.LeaveCancels = false
	default:
		return q, web.Bad("onDisconnect is cancel or continue")
	}
	return q, nil
}

// input returns the input that a request for a run has. Without a message it has to name the invocation that it
// goes on with, as in the kit: then the input is nil, and the agent goes on with what is in the log.
func (x *routes) input(r *request, b *body) (*session.Event, error) {
	content, err := readContent(b.keys[folded("newMessage")])
	if err != nil {
		return nil, err
	}
	input := &session.Event{Author: session.User, Content: content}
	input.Actions.StateDelta = b.object("stateDelta")
	input.CustomMetadata = b.object("customMetadata")
	if b.err != nil {
		return nil, b.err
	}
	if content == nil && b.keys[folded("invocationId")] == nil {
		return nil, web.Bad("newMessage is missing; without one, invocationId says what the agent goes on with")
	}
	if content == nil && len(input.Actions.StateDelta) == 0 && len(input.CustomMetadata) == 0 {
		return nil, nil
	}
	if len(input.FunctionResponses()) == 0 {
		return input, nil
	}

	// It answers calls.
	live, err := x.Live(r.Context(), r.app, r.key)
	if err != nil {
		return nil, err
	}
	calls := session.Calls(live)
	var rest []*genai.Part
	for _, p := range content.Parts {
		if p == nil || p.FunctionResponse == nil {
			rest = append(rest, p)
			continue
		}
		rest, err = addAnswer(input, calls, rest, p)
		if err != nil {
			return nil, err
		}
	}
	content.Parts = rest
	if len(rest) == 0 {
		input.Content = nil
	}
	return input, nil
}
