package v1

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// hitBody is a session in a list, with the newest event that meets the list's conditions on events.
type hitBody struct {
	sessionBody
	Event jsontext.Value `json:"event,omitzero"`
	// Live says whether the event is in the live view.
	Live bool `json:"live,omitzero"`
}

// listParameters are those of listSessions.
var listParameters = []string{"user", "limit", "after", "since", "until", "author", "tool", "error", "denied", "waiting", "match"}

// listSessions lists the user's sessions, the one that was updated last first, at most "limit" of them behind the place
// "after". The other parameters narrow the list as session.Query does.
func (x *routes) listSessions(w http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}
	user, err := x.User(r, r.URL.Query().Get("user"))
	if err != nil {
		return err
	}
	for name := range r.URL.Query() {
		if !slices.Contains(listParameters, name) {
			return web.Bad("the parameter " + strconv.Quote(name) + " is none of this route's: " + strings.Join(listParameters, ", "))
		}
	}
	limit, err := count(r, "limit", 100, 1000)
	if err != nil {
		return err
	}
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	q.App = app.Name
	q.User = user
	after, err := placeOf(r.URL.Query().Get("after"))
	if err != nil {
		return err
	}

	// What comes behind a place was updated at its time, or before it. Stores compare microseconds, or less.
	until := after.updated.Truncate(time.Microsecond).Add(time.Microsecond)
	if !after.updated.IsZero() && q.Since.Before(until) && (q.Until.IsZero() || until.Before(q.Until)) {
		q.Until = until
	}
	list := []hitBody{}
	next := ""
	for hit, err := range app.Sessions.Search(r.Context(), q) {
		if err != nil {
			return err
		}
		if !after.before(hit.Session) {
			continue
		}
		if len(list) == limit {
			next = place{updated: list[limit-1].Updated, id: list[limit-1].ID}.String()
			break
		}
		one := hitBody{sessionBody: bodyOf(hit.Session), Live: hit.Live}
		if hit.Event != nil {
			if one.Event, err = hit.Event.MarshalJSON(); err != nil {
				return err
			}
		}
		list = append(list, one)
	}
	body := map[string]any{"sessions": list, "more": next != ""}
	if next != "" {
		body["next"] = next
	}
	web.WriteJSON(w, http.StatusOK, body)
	return nil
}

// queryOf returns what the parameters of a list say.
func queryOf(r *http.Request) (q session.Query, err error) {
	p := r.URL.Query()
	for name, to := range map[string]*string{"author": &q.Author, "tool": &q.Tool, "match": &q.Match} {
		*to = p.Get(name)
		if p.Has(name) && *to == "" {
			return q, web.Bad("the parameter " + name + " is empty")
		}
	}
	for name, to := range map[string]*bool{"error": &q.Error, "denied": &q.Denied, "waiting": &q.Waiting} {
		if *to, err = flag(r, name); err != nil {
			return q, err
		}
	}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !p.Has(name) {
			continue
		}
		if *to, err = time.Parse(time.RFC3339, p.Get(name)); err != nil || session.CheckTime(*to) != nil {
			return q, web.Bad("the parameter " + name + " is a time such as 2026-11-01T08:00:00Z")
		}
	}
	switch err := q.Check(); {
	case err != nil && q.Match != "" && (q.Until.IsZero() || q.Since.Before(q.Until)):
		return q, web.Bad("the parameter match has no letter and no digit")
	case err != nil:
		return q, web.Bad("the parameter until is not after since")
	}
	return q, nil
}

// A place is one in the list of a user's sessions.
type place struct {
	updated time.Time
	id      string
}

// String returns the place as clients have it.
func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.updated.UTC().Format(time.RFC3339Nano) + " " + p.id))
}

// placeOf reads a place; "" is the beginning.
func placeOf(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	at, id, ok := strings.Cut(string(data), " ")
	if err == nil && ok {
		p.id = id
		p.updated, err = time.Parse(time.RFC3339Nano, at)
	}
	if err != nil || !ok || session.CheckTime(p.updated) != nil || p.updated.IsZero() {
		return p, web.Bad("the parameter after is none that a list has had in next")
	}
	return p, nil
}

// before reports whether the place comes before a session.
func (p place) before(s *session.Session) bool {
	if p.updated.IsZero() || s.Updated.Before(p.updated) {
		return true
	}
	return s.Updated.Equal(p.updated) && s.ID > p.id
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
