// Package kit serves the REST routes of Google's Agent Development Kit (ADK), so that the web page of that
// kit and clients that were written for its servers work with this one.
//
// The wire is not that of our own routes. Times are seconds since 1970, as numbers. An event has no key that
// the kit does not know, because its Python client refuses such an event; see wire.go. A request may spell
// keys in camelCase and in snake_case, and may have null wherever a key may be missing; see body.go.
//
// A new route: a line in Register, or in registerDev for developers, and a handler in the file of its noun. A
// new key of an event: a field of wireEvent. What the kit's pages need that our events do not say: history.
package kit

import (
	"net/http"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Options say what is served beside the routes of a production server.
type Options struct {
	// Dev serves the routes for developers: traces, graphs of agents, and empty answers where the kit's
	// web page asks for evaluations and a builder.
	Dev bool
	// Pages are the files of the kit's web page; nil serves none. Root says that / leads to it.
	Pages http.FileSystem
	Root  bool
}

// routes are the handlers.
type routes struct {
	sessions.Service
	options Options
	recent  recent
}

// A request is one to a route.
type request struct {
	*http.Request
	app *apps.App   // that the path names, nil if it names none
	key session.Key // of the session that the path names; without its ID if it names an app and a user only
}

// A handler returns what to answer a request with: a value as JSON, or an error. It returns neither if it has
// answered itself.
type handler func(w http.ResponseWriter, r *request) (any, error)

// Register adds the routes to a mux. The kit's routes /health and /version are the server's own.
func Register(mux *http.ServeMux, core *web.Core, options Options) {
	x := &routes{Service: sessions.Service{Core: core}, options: options}
	handle := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var value any
			q, err := x.request(r)
			if err == nil {
				value, err = h(w, q)
			}
			if err != nil {
				p := x.Noted(r, err)
				// The kit's Python server says "detail", its JavaScript server "error".
				web.WriteProblem(w, p, map[string]string{"detail": p.Message, "error": p.Message})
				return
			}
			x.Answer(w, r, value, nil)
		})
	}
	const all = "/apps/{app}/users/{user}/sessions"
	const session = all + "/{session}"
	handle("GET /list-apps", x.listApps)
	handle("GET /apps/{app}/app-info", x.appInfo)
	handle("GET /config/telemetry", x.telemetry)

	handle("GET "+all, x.listSessions)
	handle("POST "+all, x.createSession)
	handle("GET "+session, x.getSession)
	handle("POST "+session, x.createNamedSession)
	handle("PATCH "+session, x.patchSession)
	handle("DELETE "+session, x.deleteSession)
	handle("POST "+session+"/rewind", x.rewind)

	handle("GET "+session+"/artifacts", x.listArtifacts)
	handle("POST "+session+"/artifacts", x.saveArtifact)
	handle("GET "+session+"/artifacts/{name...}", x.getArtifact)
	handle("DELETE "+session+"/artifacts/{name...}", x.deleteArtifact)

	handle("PATCH /apps/{app}/users/{user}/memory", x.patchMemory)

	handle("POST /run", x.run)
	handle("POST /run_sse", x.runSSE)
	handle("GET /run_live", x.runLive)

	if options.Dev {
		x.registerDev(handle)
	}
	if options.Pages != nil {
		x.registerPages(handle)
	}
}

// request finds what the path of a request names. The session need not exist.
func (x *routes) request(r *http.Request) (q *request, err error) {
	q = &request{Request: r}
	if name := r.PathValue("app"); name != "" {
		if q.app, err = x.App(r, name); err != nil {
			return nil, err
		}
	}
	if user := r.PathValue("user"); user != "" {
		q.key, err = x.Key(r, q.app, user, r.PathValue("session"), true)
	}
	if err == nil && q.key.ID != "" {
		x.recent.add(q.key)
	}
	return q, err
}

// patchMemory says that there is no memory: the kit keeps there what it remembers of sessions.
func (x *routes) patchMemory(http.ResponseWriter, *request) (any, error) {
	return nil, web.NewProblem(http.StatusNotImplemented, "no_memory", "the app keeps no memory beside "+
		"its sessions")
}

// appBody is what /list-apps?detailed=true and app-info say of an app.
type appBody struct {
	Name        string      `json:"name"`
	RootAgent   string      `json:"rootAgentName"`
	Description string      `json:"description"`
	Language    string      `json:"language"`
	ComputerUse bool        `json:"isComputerUse"`
	Agents      []agentBody `json:"agents,omitzero"`
}

type agentBody struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func bodyOf(app *apps.App) appBody {
	return appBody{
		Name:        app.Name,
		RootAgent:   app.Runner.Agent().Name(),
		Description: app.Runner.Agent().Description(),
		Language:    "go",
	}
}

// listApps answers with the names of the apps, or with more of them: ?detailed=true.
func (x *routes) listApps(_ http.ResponseWriter, r *request) (any, error) {
	names := []string{}
	list := []appBody{}
	for _, app := range x.Reachable(r.Request) {
		names = append(names, app.Name)
		list = append(list, bodyOf(app))
	}
	if r.URL.Query().Get("detailed") == "true" {
		return map[string]any{"apps": list}, nil
	}
	return names, nil
}

// appInfo answers with an app and all its agents.
func (x *routes) appInfo(_ http.ResponseWriter, r *request) (any, error) {
	body := bodyOf(r.app)
	for _, n := range nodesOf(r.app.Runner.Agent()) {
		body.Agents = append(body.Agents, agentBody{Name: n.agent.Name(), Description: n.agent.Description()})
	}
	return body, nil
}

// telemetry says that the page must not report its use to its makers. Without this answer newer pages ask the
// user in a dialog that covers them.
func (x *routes) telemetry(http.ResponseWriter, *request) (any, error) {
	return map[string]bool{"telemetry": false}, nil
}
