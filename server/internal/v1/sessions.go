package v1

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/limits"
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
	// CutOff is the invocation that was cut off last: its input, sent again, goes on.
	CutOff string `json:"cutOff,omitzero"`
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
		CutOff:   s.CutOff,
	}
}

// hitBody is a session in a list, with the newest event that meets the list's conditions on events.
type hitBody struct {
	sessionBody
	Event jsontext.Value `json:"event,omitzero"`
	// Title and Message are there with details; see openapi.json.
	Title   string `json:"title,omitzero"`
	Message string `json:"message,omitzero"`
	// Live says whether the event is in the live view.
	Live bool `json:"live,omitzero"`
}

var sessionHandlers = handlers{
	"listSessions":  (*routes).listSessions,
	"createSession": with((*routes).createSession),
	"getSession":    (*routes).getSession,
	"patchSession":  with((*routes).patchSession),
	"deleteSession": (*routes).deleteSession,
	"fork":          with((*routes).fork),
	"export":        (*routes).export,
}

// listSessions lists the user's sessions, the one that was updated last first, at most "limit" of them behind
// the position "after" in the list, or before the position "before". The other parameters narrow the list as
// session.Query does.
func (x *routes) listSessions(_ http.ResponseWriter, r *request) (any, error) {
	user, err := x.User(r.Request, r.query.Get("user"))
	if err != nil {
		return nil, err
	}
	q := session.Query{
		App:     r.app.Name,
		User:    user,
		Author:  r.query.Get("author"),
		Tool:    r.query.Get("tool"),
		Match:   r.query.Get("match"),
		Error:   r.flag("error"),
		Denied:  r.flag("denied"),
		Waiting: r.flag("waiting"),
		CutOff:  r.flag("cutOff"),
		Since:   r.time("since"),
		Until:   r.time("until"),
	}
	switch err := q.Check(); {
	case err != nil && q.Match != "" && (q.Until.IsZero() || q.Since.Before(q.Until)):
		return nil, web.Bad("the parameter match has no letter and no digit")
	case err != nil:
		return nil, web.Bad("the parameter until is not after since")
	}
	list, err := x.list(r, q)
	if err != nil {
		return nil, err
	}
	if r.flag("details") {
		for i := range list.Sessions {
			if err := list.Sessions[i].addDetails(r); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// addDetails adds what a chat's list of sessions shows. A session that is deleted meanwhile stays without.
func (b *hitBody) addDetails(r *request) error {
	key := session.Key{App: b.App, User: b.User, ID: b.ID}
	s, err := r.app.Sessions().Get(r.Context(), key)
	if err != nil {
		return ignoreNotFound(err)
	}
	state, err := json.Marshal(s.State, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = web.HoldOf(r.Context()).TakeJSON(int64(len(state)))
	}
	if err != nil {
		return err
	}
	b.State = s.State
	b.Running = s.Holder
	b.CutOff = s.CutOff
	if b.Message, err = firstMessage(r, key); err != nil {
		return ignoreNotFound(err)
	}
	kit, _ := s.State["__session_metadata__"].(map[string]any) // as that kit's web page writes it
	title, _ := s.State["title"].(string)
	name, _ := kit["displayName"].(string)
	line, _, _ := strings.Cut(b.Message, "\n")
	b.Title = cmp.Or(title, name, shortened(line, 80))
	return nil
}

// firstMessage returns the first message of the user that counts, as far as lists show it.
func firstMessage(r *request, key session.Key) (string, error) {
	sel := session.Selection{Live: true}
	for {
		summary := false
		for e, err := range r.app.Sessions().Read(r.Context(), key, sel) {
			switch {
			case err != nil:
				return "", err
			case e.Marker() && sel.Live:
				summary = true
			case e.Author == session.User && e.Text() != "" && !summary:
				return shortened(e.Text(), 500), nil
			}
			if summary {
				break
			}
		}
		if !summary {
			return "", nil
		}
		sel.Live = false // the first message stands behind a summary: the log has it
	}
}

// shortened returns the beginning of a text: so many characters, at most.
func shortened(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i] + "…"
		}
		characters--
	}
	return text
}

func ignoreNotFound(err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// listBody is a list of sessions.
type listBody struct {
	Sessions []hitBody `json:"sessions"`
	More     bool      `json:"more"`
	Next     string    `json:"next,omitzero"`
	Previous string    `json:"previous,omitzero"`
}

// list returns the part of the list of a query's sessions that a request is about.
func (x *routes) list(r *request, q session.Query) (*listBody, error) {
	limit := int(r.number("limit"))
	after, err := parseListPosition("after", r.query.Get("after"))
	if err != nil {
		return nil, err
	}
	before, err := parseListPosition("before", r.query.Get("before"))
	if err != nil {
		return nil, err
	}
	backwards := !before.updated.IsZero()
	if backwards && !after.updated.IsZero() {
		return nil, web.Bad("the parameters after and before are both there: send one of them")
	}

	// What comes behind a position was updated at its time, or before it. Stores compare microseconds, or
	// less.
	until := after.updated.Truncate(time.Microsecond).Add(time.Microsecond)
	if !after.updated.IsZero() && q.Since.Before(until) && (q.Until.IsZero() || until.Before(q.Until)) {
		q.Until = until
	}
	since := before.updated.Truncate(time.Microsecond)
	if backwards && q.Since.Before(since) && (q.Until.IsZero() || since.Before(q.Until)) {
		q.Since = since
	}
	if backwards {
		q.Order = session.Oldest // from the position on; turned round below
	}
	body := &listBody{Sessions: []hitBody{}}
	for hit, err := range r.app.Sessions().Search(r.Context(), q) {
		if err != nil {
			return nil, err
		}
		if backwards && !before.after(hit.Session) || !backwards && !after.before(hit.Session) {
			continue
		}
		if len(body.Sessions) == limit {
			body.More = true
			break
		}
		one := hitBody{sessionBody: bodyOf(hit.Session), Live: hit.Live}
		if hit.Event != nil {
			if one.Event, err = hit.Event.MarshalJSON(); err != nil {
				return nil, err
			}
		}
		body.Sessions = append(body.Sessions, one)
	}
	if backwards {
		slices.Reverse(body.Sessions)
		body.More = true // at least the session of the position comes behind
	}
	if n := len(body.Sessions); n > 0 {
		body.Previous = positionOf(body.Sessions[0]).String()
		if body.More {
			body.Next = positionOf(body.Sessions[n-1]).String()
		}
	}
	return body, nil
}

func positionOf(b hitBody) listPosition { return listPosition{updated: b.Updated, id: b.ID} }

// A listPosition is one in the list of a user's sessions: behind the session of an ID, which was updated
// then.
type listPosition struct {
	updated time.Time
	id      string
}

// String returns the position as clients have it.
func (p listPosition) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.updated.UTC().Format(time.RFC3339Nano) + " " + p.id))
}

// parseListPosition reads a position, which a parameter has; "" is the beginning.
func parseListPosition(parameter, text string) (p listPosition, err error) {
	if text == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	updated, id, ok := strings.Cut(string(data), " ")
	if err == nil && ok {
		p.id = id
		p.updated, err = time.Parse(time.RFC3339Nano, updated)
	}
	if err != nil || !ok || session.CheckTime(p.updated) != nil || p.updated.IsZero() {
		return p, web.Bad("the parameter " + parameter + " is not a position in the list: send the value of " +
			"next or previous of an earlier answer")
	}
	return p, nil
}

// before reports whether the position comes before a session.
func (p listPosition) before(s *session.Session) bool {
	if p.updated.IsZero() || s.Updated.Before(p.updated) {
		return true
	}
	return s.Updated.Equal(p.updated) && s.ID > p.id
}

// after reports whether the position comes behind a session.
func (p listPosition) after(s *session.Session) bool {
	return s.Updated.After(p.updated) || s.Updated.Equal(p.updated) && s.ID < p.id
}

// stateBody is a state for a session: ID is the session's, or that of the input that changes it.
type stateBody struct {
	ID    string         `json:"id"`
	State map[string]any `json:"state"`
}

// createSession makes a session.
func (x *routes) createSession(w http.ResponseWriter, r *request, body *stateBody) (any, error) {
	key, err := x.Key(r.Request, r.app, r.query.Get("user"), body.ID, true)
	if err != nil {
		return nil, err
	}
	s, err := x.Create(r.Context(), r.app, key, body.State)
	return created(w, s, err)
}

// created answers with a session that was made.
func created(w http.ResponseWriter, s *session.Session, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	w.Header().Set("Location", "/v1/apps/"+url.PathEscape(s.App)+"/sessions/"+url.PathEscape(s.ID))
	web.WriteJSON(w, http.StatusCreated, bodyOf(s))
	return nil, nil
}

func (x *routes) getSession(_ http.ResponseWriter, r *request) (any, error) {
	s, err := r.app.Sessions().Get(r.Context(), r.key)
	if err != nil {
		return nil, err
	}
	return bodyOf(s), nil
}

// patchSession changes the session's state. A key that is null is deleted.
func (x *routes) patchSession(_ http.ResponseWriter, r *request, body *stateBody) (any, error) {
	if len(body.State) == 0 {
		return nil, web.Bad("state is missing: an object with the keys to set; null deletes one")
	}
	s, err := x.PatchState(r.Context(), r.app, r.key, body.ID, body.State)
	if err != nil {
		return nil, err
	}
	return bodyOf(s), nil
}

func (x *routes) deleteSession(w http.ResponseWriter, r *request) (any, error) {
	if err := x.Delete(r.Context(), r.app, r.key); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

type forkBody struct {
	At *int64 `json:"at"`
	ID string `json:"id"`
}

// fork makes a session of the first events of another one.
func (x *routes) fork(w http.ResponseWriter, r *request, body *forkBody) (any, error) {
	s, err := x.Fork(r.Context(), r.app, r.key, body.At, body.ID)
	return created(w, s, err)
}

// paced reads a log for a client who may be slow.
type paced struct {
	session.Service
	hold *limits.Hold
}

// Read implements session.Reader.
func (p paced) Read(
	ctx context.Context, key session.Key, sel session.Selection,
) iter.Seq2[*session.Event, error] {
	return p.hold.Paced(ctx, p.Service.Read(ctx, key, sel))
}

// export answers with a session file, which "runner session import" reads.
func (x *routes) export(w http.ResponseWriter, r *request) (any, error) {
	if _, err := r.app.Sessions().Get(r.Context(), r.key); err != nil {
		return nil, err
	}
	h := w.Header()
	h.Set("Content-Type", "application/jsonl")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", `attachment; filename="session.jsonl"`)
	if err := session.Export(r.Context(), paced{Service: r.app.Sessions(), hold: web.HoldOf(r.Context())}, r.key, w); err != nil {
		x.Noted(r.Request, err)
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil, nil
}
