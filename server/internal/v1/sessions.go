package v1

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// sessionBody is what the routes say of a session.
type sessionBody struct {
	App      string         `json:"app"`
	User     string         `json:"user"`
	ID       string         `json:"id"`
	State    map[string]any `json:"state,omitzero"`
	Position int64          `json:"position"`
	Created  time.Time      `json:"created"`
	Updated  time.Time      `json:"updated"`
	// Running is the invocation that runs on it now, in whatever process.
	Running string `json:"running,omitzero"`
}

func bodyOf(s *session.Session) sessionBody {
	return sessionBody{
		App:      s.App,
		User:     s.User,
		ID:       s.ID,
		State:    s.State,
		Position: s.Position,
		Created:  s.Created,
		Updated:  s.Updated,
		Running:  s.Holder,
	}
}

// listSessions lists the user's sessions, the oldest first, at most "limit" of them behind the session
// "after".
func (x *routes) listSessions(w http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}
	user, err := x.User(r, r.URL.Query().Get("user"))
	if err != nil {
		return err
	}
	limit, err := count(r, "limit", 100, 1000)
	if err != nil {
		return err
	}
	after := r.URL.Query().Get("after")
	list := []sessionBody{}
	more := false
	found := after == ""
	for s, err := range app.Sessions.List(r.Context(), app.Name, user) {
		if err != nil {
			return err
		}
		if !found {
			found = s.ID == after
			continue
		}
		if len(list) == limit {
			more = true
			break
		}
		list = append(list, bodyOf(s))
	}
	if !found {
		return web.Bad("the parameter after names no session of the user's: it may be deleted; list from the beginning")
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"sessions": list, "more": more})
	return nil
}

// count returns a parameter that is a number from 1 to most.
func count(r *http.Request, name string, otherwise, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, web.Bad("the parameter " + name + " is a whole number from 1 to " + strconv.Itoa(most))
	}
	return n, nil
}

// flag returns a parameter that is true or false; false if it is not there.
func flag(r *http.Request, name string) (bool, error) {
	query := r.URL.Query()
	if !query.Has(name) {
		return false, nil
	}
	yes, err := strconv.ParseBool(query.Get(name))
	if err != nil {
		return false, web.Bad("the parameter " + name + " is true or false")
	}
	return yes, nil
}

// createSession makes a session.
func (x *routes) createSession(w http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}
	var body struct {
		ID    string         `json:"id"`
		State map[string]any `json:"state"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	key, err := x.Key(r, app, r.URL.Query().Get("user"), body.ID, true)
	if err != nil {
		return err
	}
	if err := app.CheckInitial(r, body.State); err != nil {
		return err
	}
	s, err := app.Sessions.Create(r.Context(), key, body.State)
	if err != nil {
		return err
	}
	w.Header().Set("Location", locationOf(s))
	web.WriteJSON(w, http.StatusCreated, bodyOf(s))
	return nil
}

// locationOf returns the path of a session.
func locationOf(s *session.Session) string {
	return "/v1/apps/" + url.PathEscape(s.App) + "/sessions/" + url.PathEscape(s.ID)
}

func (x *routes) getSession(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, bodyOf(s))
	return nil
}

// patchSession changes the session's state by an input, so that plugins see it like any other. A key that
// is null is deleted.
func (x *routes) patchSession(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body struct {
		ID    string         `json:"id"`
		State map[string]any `json:"state"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	if len(body.State) == 0 {
		return web.Bad("state is missing: an object with the keys to set; null deletes one")
	}
	input := &session.Event{ID: body.ID, Author: session.User}
	input.Actions.StateDelta = body.State
	q := x.request(app, key, input)
	q.Config.NoAgent = true
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
	if end := run.End(); end.Err != nil {
		return end.Err
	}
	s, err := app.Sessions.Get(r.Context(), key)
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, bodyOf(s))
	return nil
}

// deleteSession deletes a session and its files. What runs on it is cancelled first, and what waits to run on it:
// that might make the session again.
func (x *routes) deleteSession(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	if _, err := app.Sessions.Get(r.Context(), key); err != nil {
		return err
	}
	x.Runs.CancelAll(r.Context(), app.Sessions, func(other session.Key) bool { return other == key })
	if _, err := app.Kept(false).Session(r.Context(), key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// request returns what runs an input of the caller's.
func (x *routes) request(app *web.App, key session.Key, input *session.Event) runs.Request {
	return runs.Request{
		Runner:   app.Runner,
		Sessions: app.Sessions,
		Key:      key,
		Input:    input,
		User:     key.User,
	}
}
