package kit

import (
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// registerDev adds the routes for developers. Newer pages ask for them below /dev, older ones do not.
func (x *routes) registerDev(handle func(string, handler)) {
	answer := func(v any) handler {
		return func(http.ResponseWriter, *request) (any, error) { return v, nil }
	}
	none := []string{}
	for _, dev := range []string{"", "/dev"} {
		app := dev + "/apps/{app}"
		handle("GET "+dev+"/debug/trace/{event}", x.eventTrace)
		handle("GET "+dev+"/debug/trace/session/{session}", x.sessionTrace)
		handle("GET "+app+"/debug/trace/{event}", x.eventTrace)
		handle("GET "+app+"/debug/trace/session/{session}", x.sessionTrace)
		handle("GET "+app+"/users/{user}/sessions/{session}/events/{event}/graph", x.eventGraph)
		handle("GET "+app+"/build_graph", x.buildGraph)
		handle("GET "+app+"/build_graph_image", x.graphImages)
		handle("GET "+app+"/graph", x.graphImages)

		// What is not there: the pages leave out what they would show of it.
		handle("GET "+app+"/eval_sets", answer(none))
		handle("GET "+app+"/eval_results", answer(none))
		handle("GET "+app+"/tests", answer(none))
		handle("GET "+app+"/eval-sets", answer(map[string]any{"evalSetIds": none}))
		handle("GET "+app+"/eval-results", answer(map[string]any{"evalResultIds": none}))
		handle("GET "+app+"/metrics-info", answer(map[string]any{"metricsInfo": none}))
		handle("GET "+app+"/builder", noBuilder)
	}
	handle("GET /builder/app/{app}", noBuilder)
	handle("GET /dev/build_graph/{app}", x.buildGraph)
}

// noBuilder answers with an empty text: there is nothing that the page could edit.
func noBuilder(w http.ResponseWriter, _ *request) (any, error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return nil, nil
}

// recent are the sessions that requests have named last. Some routes name a session without its app and user,
// or an event without its session.
type recent struct {
	mu   sync.Mutex
	list []session.Key // the latest first
}

// add notes that a session was named.
func (r *recent) add(key session.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.DeleteFunc(r.list, func(other session.Key) bool { return other == key })
	r.list = slices.Insert(list, 0, key)
	r.list = r.list[:min(len(r.list), 64)]
}

// candidates returns the sessions that a request may mean, the likeliest first. An empty id is any session.
func (x *routes) candidates(r *request, id string) ([]session.Key, error) {
	served := x.Reachable(r.Request)
	if r.app != nil {
		served = []*apps.App{r.app}
	}
	who := web.CallerOf(r.Request).User
	x.recent.mu.Lock()
	list := slices.Clone(x.recent.list)
	x.recent.mu.Unlock()
	list = slices.DeleteFunc(list, func(key session.Key) bool {
		isServed := slices.ContainsFunc(served, func(app *apps.App) bool { return app.Name == key.App })
		return !isServed || who != "" && key.User != who || id != "" && key.ID != id
	})
	if id != "" {
		user, err := x.User(r.Request, "")
		if err != nil {
			return nil, err
		}
		for _, app := range served {
			list = append(list, session.Key{App: app.Name, User: user, ID: id})
		}
	}
	return list, nil
}

// readLog returns a session's events, nil if there is no such session.
func (x *routes) readLog(r *request, key session.Key) ([]*session.Event, error) {
	app, err := x.App(r.Request, key.App)
	if err != nil || key.Check(false) != nil {
		return nil, err
	}
	log, err := x.ReadAll(r.Context(), app, key, session.Selection{})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return log, err
}

// sessionTrace answers with the traces of a session, an empty list if there are none.
func (x *routes) sessionTrace(_ http.ResponseWriter, r *request) (any, error) {
	candidates, err := x.candidates(r, r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	for _, key := range candidates {
		log, err := x.readLog(r, key)
		if err != nil || len(log) > 0 {
			return spansOf(key, log), err
		}
	}
	return []span{}, nil
}

// eventTrace answers with the attributes of the span that ended with an event.
func (x *routes) eventTrace(_ http.ResponseWriter, r *request) (any, error) {
	candidates, err := x.candidates(r, "")
	if err != nil {
		return nil, err
	}
	id := r.PathValue("event")
	for _, key := range candidates {
		log, err := x.readLog(r, key)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(log, func(e *session.Event) bool { return e.ID == id }) {
			continue
		}
		for _, s := range spansOf(key, log) {
			if s.Attributes[attrEvent] == id {
				s.Attributes["trace_id"] = s.Trace
				s.Attributes["span_id"] = s.ID
				return s.Attributes, nil
			}
		}
	}
	return nil, web.NewProblem(http.StatusNotFound, "not_found", "Trace not found")
}
