package kit

import (
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// sessionBody is a session as the kit knows it.
type sessionBody struct {
	ID      string           `json:"id"`
	App     string           `json:"appName"`
	User    string           `json:"userId"`
	State   jsontext.Value   `json:"state"`
	Events  []jsontext.Value `json:"events"`
	Updated float64          `json:"lastUpdateTime"`
}

// seconds returns a time as seconds since 1970, to the microsecond.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// bodyOfSession returns a session without events.
func bodyOfSession(s *session.Session) (sessionBody, error) {
	state := jsontext.Value("{}")
	if len(s.State) > 0 {
		var err error
		if state, err = encoded(s.State); err != nil {
			return sessionBody{}, err
		}
	}
	return sessionBody{
		ID:      s.ID,
		App:     s.App,
		User:    s.User,
		State:   state,
		Events:  []jsontext.Value{},
		Updated: seconds(s.Updated),
	}, nil
}

// withState is how many of a user's sessions a list has the state of: the last that were changed. The kit's
// page shows their names, which stand in it.
const withState = 100

// listSessions lists a user's sessions, without their events.
func (x *routes) listSessions(_ http.ResponseWriter, r *request) (any, error) {
	var found []*session.Session
	for s, err := range r.app.Sessions().List(r.Context(), r.key.App, r.key.User) {
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}

	// A store's list has no state.
	latest := slices.SortedFunc(slices.Values(found), func(a, b *session.Session) int {
		return b.Updated.Compare(a.Updated)
	})
	for _, s := range latest[:min(len(latest), withState)] {
		whole, err := r.app.Sessions().Get(r.Context(), s.Key)
		if err == nil { // it may have been deleted meanwhile
			s.State = whole.State
		}
	}
	list := []sessionBody{}
	for _, s := range found {
		body, err := bodyOfSession(s)
		if err != nil {
			return nil, err
		}
		list = append(list, body)
	}
	return list, nil
}

// createSession makes a session, of an id that the body may say.
func (x *routes) createSession(w http.ResponseWriter, r *request) (any, error) {
	b, err := readBody(w, r.Request, x.Limits.Body)
	if err != nil {
		return nil, err
	}
	b.read("sessionId", &r.key.ID)
	b.fail(r.key.Check(true))
	return x.create(w, r, b, b.wrappedState())
}

// createNamedSession makes a session of the id in the path. The body is the state, as the kit's Python server
// has it, or {"state": …, "events": …}, as its Go server has it.
func (x *routes) createNamedSession(w http.ResponseWriter, r *request) (any, error) {
	b, err := readBody(w, r.Request, x.Limits.Body)
	if err != nil {
		return nil, err
	}
	// A body whose only keys are those two is taken for the latter.
	wrapped := len(b.keys) > 0
	for key, value := range b.keys {
		if key != "events" && (key != "state" || value.Kind() != '{') {
			wrapped = false
		}
	}
	var state map[string]any
	if wrapped {
		state = b.wrappedState()
	} else {
		state = b.readObject("the body", b.raw)
	}
	return x.create(w, r, b, state)
}

// wrappedState returns the state of a session that a body wants made. Events are refused: whoever makes a
// session could put words into the mouth of the agent.
func (b *body) wrappedState() map[string]any {
	var events []jsontext.Value
	b.read("events", &events)
	if len(events) > 0 {
		b.fail(web.Bad("events cannot be given to a new session: the server makes them"))
	}
	return b.object("state")
}

// create makes a session with a state of a body.
func (x *routes) create(w http.ResponseWriter, r *request, b *body, state map[string]any) (any, error) {
	if b.err != nil {
		return nil, b.err
	}
	maps.DeleteFunc(state, func(_ string, v any) bool { return v == nil })
	s, err := x.Create(r.Context(), r.app, r.key, state)
	if err != nil {
		return nil, err
	}
	r.key = s.Key
	x.recent.add(r.key)
	return x.getSession(w, r)
}

// getSession answers with a session and its events: all that were appended, also those that a summary stands
// for, but none that a rewind has taken back, and not the rewinds themselves.
func (x *routes) getSession(w http.ResponseWriter, r *request) (any, error) {
	s, err := r.app.Sessions().Get(r.Context(), r.key)
	if err != nil {
		return nil, err
	}
	body, err := bodyOfSession(s)
	if err != nil {
		return nil, err
	}
	// The log is read twice: for what was taken back, and to be written as it is read.
	read := func() iter.Seq2[*session.Event, error] {
		return web.HoldOf(r.Context()).Paced(r.Context(), r.app.Sessions().Read(r.Context(), r.key, session.Selection{}))
	}
	var statuses session.EventStatuses
	for e, err := range read() {
		if err != nil {
			return nil, err
		}
		statuses.Add(e)
	}
	events := func(yield func(jsontext.Value, error) bool) {
		h := newHistory(nil)
		for e, err := range read() {
			var data jsontext.Value
			if err == nil {
				if e.Seq > s.Position {
					return
				}
				if e.Actions.Rewind != nil || statuses.Of(e).Void != 0 {
					continue
				}
				h.add(e)
				data, err = h.encode(e)
			}
			if !yield(data, err) {
				return
			}
		}
	}
	return nil, x.WriteList(w, r.Request, "events", events, func() map[string]any {
		return map[string]any{
			"id":             body.ID,
			"appName":        body.App,
			"userId":         body.User,
			"state":          body.State,
			"lastUpdateTime": body.Updated,
		}
	})
}

// patchSession changes a session's state.
func (x *routes) patchSession(w http.ResponseWriter, r *request) (any, error) {
	b, err := readBody(w, r.Request, x.Limits.Body)
	if err != nil {
		return nil, err
	}
	delta := b.object("stateDelta")
	if err = b.err; err == nil && len(delta) > 0 {
		_, err = x.PatchState(r.Context(), r.app, r.key, "", delta)
	}
	if err != nil {
		return nil, err
	}
	return x.getSession(w, r)
}

// rewind takes back an invocation and everything after it.
func (x *routes) rewind(w http.ResponseWriter, r *request) (any, error) {
	b, err := readBody(w, r.Request, x.Limits.Body)
	if err != nil {
		return nil, err
	}
	invocation := ""
	b.read("rewindBeforeInvocationId", &invocation)
	if invocation == "" {
		b.fail(web.Bad("rewindBeforeInvocationId is missing: the first invocation to take back"))
	}
	if b.err != nil {
		return nil, b.err
	}
	_, err = x.Command(r.Context(), r.app, r.key, plugin.Rewind, map[string]any{"before": invocation}, "")
	var p *web.Problem
	if errors.As(err, &p) && p.Code == web.CodeNotPossible {
		return nil, web.Bad(p.Message) // the kit knows no status 409 here
	}
	if err != nil {
		return nil, err
	}
	return x.getSession(w, r)
}

// deleteSession deletes a session and its files.
func (x *routes) deleteSession(_ http.ResponseWriter, r *request) (any, error) {
	return null, x.Delete(r.Context(), r.app, r.key)
}

// null is the answer that says nothing.
var null = jsontext.Value("null")
