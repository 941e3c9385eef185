package v1

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/sse"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

var eventHandlers = handlers{"events": (*routes).events}

// events answers with a page of a session's events, or with a stream that stays open: ?follow=1, or a
// request that accepts server-sent events.
func (x *routes) events(w http.ResponseWriter, r *request) (any, error) {
	if err := inside(r); err != nil {
		return nil, err
	}
	if r.flag("follow") || wantsStream(r) {
		return nil, x.follow(w, r)
	}
	return nil, x.page(w, r)
}

// inside returns an error if there is no session, or the position that the client has read to is beyond its
// end: then it is another session's, or this one was made again.
func inside(r *request) error {
	s, err := r.app.Sessions().Get(r.Context(), r.key)
	if err == nil && r.after() > s.Position {
		err = web.Bad(fmt.Sprintf("the position %d is beyond the log's end, %d", r.after(), s.Position))
	}
	return err
}

// page answers with at most "limit" events behind a position, or the live view. It writes them as it reads them.
func (x *routes) page(w http.ResponseWriter, r *request) error {
	limit := int(r.number("limit"))
	selection := session.Selection{Live: r.flag("live"), After: r.after()}
	events := web.HoldOf(r.Context()).Paced(r.Context(), r.app.Sessions().Read(r.Context(), r.key, selection))
	more := false
	list := func(yield func(jsontext.Value, error) bool) {
		n := 0
		for e, err := range events {
			if err == nil && n == limit && !selection.Live {
				more = true
				return
			}
			n++
			var data jsontext.Value
			if err == nil {
				data, err = e.MarshalJSON()
			}
			if !yield(data, err) {
				return
			}
		}
	}
	return x.WriteList(w, r.Request, "events", list, func() map[string]any { return map[string]any{"more": more} })
}

// runningBody says which invocation runs on a session, "" if none does, and how the one before it ended, if
// this server ran it.
type runningBody struct {
	Running string   `json:"running"`
	Ended   *endBody `json:"ended,omitzero"`
}

// follow answers with a session's events as they come, whichever process makes them.
func (x *routes) follow(w http.ResponseWriter, r *request) error {
	from, err := x.Runs.FollowSession(r.Context(), r.app.Sessions(), r.key, r.after())
	if err != nil {
		return err
	}
	defer from.Close()
	return x.Stream(w, r.Request, func(_ context.Context, out *sse.Stream) web.Frames {
		from.Running = func(invocation string, ended *runs.Run) error {
			body := runningBody{Running: invocation}
			if ended != nil {
				body.Ended = new(x.endOf(r, ended))
			}
			data, err := json.Marshal(body)
			if err != nil {
				return err
			}
			if err := out.Send("run", 0, data); err != nil {
				return err
			}
			return out.Flush() // the follower may wait now
		}
		return x.frames(r, out, from)
	})
}

// frames returns what writes events, with their positions as ids: a client that comes back says the last one.
func (x *routes) frames(r *request, out *sse.Stream, from runs.Follower) web.Frames {
	return web.Frames{
		From: from,
		Event: func(e *session.Event) error {
			data, err := e.MarshalJSON()
			if err != nil {
				return err
			}
			name := ""
			if e.Partial {
				name = "partial" // it has no position: its Seq is 0
			}
			return out.Send(name, e.Seq, data)
		},
		Broken: func(err error) {
			if data, err := json.Marshal(x.Noted(r.Request, err)); err == nil {
				_ = out.Send("error", 0, data) // whoever has left is not told
			}
		},
	}
}
