package kit

import (
	"context"
	"net/http"
	"slices"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// run answers with the events of a run when it has ended.
func (x *routes) run(w http.ResponseWriter, r *http.Request) error {
	q, err := x.request(w, r)
	if err != nil {
		return err
	}
	q.Config.Streaming = ""
	run, follower, err := x.Runs.Start(r.Context(), q, 0)
	if err != nil {
		return err
	}
	defer follower.Close()
	select {
	case <-run.Done():
	case <-r.Context().Done():
		return web.ErrLeft
	}
	if err := run.End().Err; err != nil {
		return err
	}
	h := newHistory(logOf(x.appOf(q), q.Key))
	events := []jsontext.Value{}
	for _, e := range run.Events() {
		if !answers(e) {
			continue
		}
		h.add(e)
		data, err := h.encode(r.Context(), e)
		if err != nil {
			return err
		}
		events = append(events, data)
	}
	web.WriteJSON(w, http.StatusOK, events)
	return nil
}

// answers reports whether an event of a run is sent to who started it: the kit does not send the input back.
func answers(e *session.Event) bool { return e.Author != session.User }

// runSSE answers with the events of a run as they come, and with partial events if the request asks for streaming.
// Nothing says how the run has ended: the end of the stream does, and a frame {"error": …} before it if the run
// has failed. The status is 200 for every request that is well-formed, of a session that exists: the kit's page
// shows no other status to its user. The run is cancelled when its client leaves, unless ?onDisconnect=continue
// says otherwise: the page has no other way to stop a run.
func (x *routes) runSSE(w http.ResponseWriter, r *http.Request) error {
	q, err := x.request(w, r)
	conflict := err != nil && web.ProblemOf(err).Status == http.StatusConflict
	if err != nil && !conflict {
		return err
	}
	ctx, s, done, failed := x.OpenStream(w, r)
	if failed != nil {
		return failed
	}
	defer done()
	if err == nil {
		err = x.stream(ctx, s, q)
	}
	x.sendError(s, r, err)
	return nil
}

// stream runs a request and sends its events. It returns why the run has failed, or the stream ended before it.
func (x *routes) stream(ctx context.Context, s *sse.Stream, q runs.Request) error {
	run, follower, err := x.Runs.Start(ctx, q, 0)
	if err != nil {
		return err
	}
	defer follower.Close()
	h := newHistory(logOf(x.appOf(q), q.Key))
	err = x.Pump(ctx, s, follower, func(e *session.Event) error {
		if !answers(e) || e.Partial && q.Config.Streaming != session.SSE {
			return nil
		}
		if !e.Partial {
			h.add(e)
		}
		data, err := h.encode(ctx, e)
		if err != nil {
			return err
		}
		return s.Send("", 0, data) // the kit's JavaScript client skips a frame that begins with an id
	})
	if err != nil {
		return err
	}
	return run.End().Err
}

// sendError tells a client why its stream ends. The status was sent already.
func (x *routes) sendError(s *sse.Stream, r *http.Request, err error) {
	if err == nil || err == web.ErrLeft {
		return
	}
	data, err := encoded(map[string]string{"error": x.Noted(r, err).Message})
	if err == nil {
		_ = s.Send("", 0, data) // whoever has left is not told
	}
}

// runLive refuses a live session in the way that the kit's page shows: by the reason with which the connection is
// closed.
func (x *routes) runLive(w http.ResponseWriter, r *http.Request) error {
	// The origin was checked with every other request's.
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // it has answered
	}
	_ = c.Close(websocket.StatusInternalError, "live is not served") // whoever has left is not told
	return nil
}

// appOf returns the app that a request for a run is about.
func (x *routes) appOf(q runs.Request) *web.App {
	i := slices.IndexFunc(x.Apps, func(app *web.App) bool { return app.Name == q.Key.App })
	return x.Apps[i]
}

// request reads what to run. The session must exist.
func (x *routes) request(w http.ResponseWriter, r *http.Request) (q runs.Request, err error) {
	b, err := readBody(w, r, x.Settings.Upload)
	if err != nil {
		return q, err
	}
	var name, user, id string
	streaming := false
	for key, to := range map[string]any{
		"appName":   &name,
		"userId":    &user,
		"sessionId": &id,
		"streaming": &streaming,
	} {
		if err := b.read(key, to); err != nil {
			return q, err
		}
	}
	app, err := x.App(r, name)
	if err != nil {
		return q, err
	}
	key, err := x.Key(r, app, user, id, false)
	if err != nil {
		return q, err
	}
	if _, err := app.Sessions.Get(r.Context(), key); err != nil {
		return q, err
	}
	x.recent.add(place{app: app, key: key})

	input, err := x.input(r.Context(), app, key, b)
	if err != nil {
		return q, err
	}
	q = runs.Request{
		Runner:       app.Runner,
		Sessions:     app.Sessions,
		Key:          key,
		Input:        input,
		LeaveCancels: true,
		User:         key.User,
	}
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

// input returns the input that a request for a run has, nil if it has none: then the agent goes on with what is in
// the log.
func (x *routes) input(ctx context.Context, app *web.App, key session.Key, b *body) (*session.Event, error) {
	content, err := readContent(b.keys[folded("newMessage")])
	if err != nil {
		return nil, err
	}
	input := &session.Event{Author: session.User, Content: content}
	if input.Actions.StateDelta, err = b.object("stateDelta"); err != nil {
		return nil, err
	}
	if input.CustomMetadata, err = b.object("customMetadata"); err != nil {
		return nil, err
	}
	if content == nil && len(input.Actions.StateDelta) == 0 && len(input.CustomMetadata) == 0 {
		return nil, nil
	}
	if len(input.FunctionResponses()) == 0 {
		return input, nil
	}

	// It answers calls.
	live, err := session.ReadAll(ctx, app.Sessions, key, session.Selection{Live: true})
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
		rest, err = answer(input, calls, rest, p)
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
