package v1

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// events answers with a page of a session's events, or with a stream that stays open: ?follow=1, or a
// request that accepts server-sent events.
func (x *routes) events(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	after, err := web.After(r)
	if err != nil {
		return err
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	if err := inside(s, after); err != nil {
		return err
	}
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	if follow || wantsStream(r) {
		return x.follow(w, r, app, key, after)
	}
	return x.page(w, r, app, key, after)
}

// inside returns an error if a position is beyond a session's end: it is another session's, or this one was made
// again.
func inside(s *session.Session, after int64) error {
	if after <= s.Position {
		return nil
	}
	return web.Bad("the position " + strconv.FormatInt(after, 10) + " is beyond the log's end, " + strconv.FormatInt(s.Position, 10))
}

// page answers with at most "limit" events behind a position, or with the live view.
func (x *routes) page(w http.ResponseWriter, r *http.Request, app *web.App, key session.Key, after int64) error {
	limit, err := count(r, "limit", 100, 1000)
	if err != nil {
		return err
	}
	live, err := flag(r, "live")
	if err != nil {
		return err
	}
	list := []jsontext.Value{}
	more := false
	for e, err := range app.Sessions.Read(r.Context(), key, session.Selection{Live: live, After: after}) {
		if err != nil {
			return err
		}
		if len(list) == limit && !live {
			more = true
			break
		}
		data, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		list = append(list, data)
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"events": list, "more": more})
	return nil
}

// runningBody says which invocation runs on a session, "" if none does, and how the one before it ended, if this
// server ran it.
type runningBody struct {
	Running string   `json:"running"`
	Ended   *endBody `json:"ended,omitzero"`
}

// follow answers with a session's events as they come, whichever process makes them.
func (x *routes) follow(w http.ResponseWriter, r *http.Request, app *web.App, key session.Key, after int64) error {
	from, err := x.Runs.FollowSession(r.Context(), app.Sessions, key, after)
	if err != nil {
		return err
	}
	defer from.Close()
	ctx, s, done, err := x.OpenStream(w, r)
	if err != nil {
		return err
	}
	defer done()
	from.Running = func(invocation string, ended *runs.Run) error {
		body := runningBody{Running: invocation}
		if ended != nil {
			body.Ended = new(x.endOf(r, ended))
		}
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		return s.Send("run", 0, data)
	}
	err = x.Pump(ctx, s, from, func(e *session.Event) error {
		data, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		if e.Partial {
			return s.Send("partial", 0, data)
		}
		return s.Send("", e.Seq, data)
	})
	x.sendProblem(s, r, err)
	return nil
}
