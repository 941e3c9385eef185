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
	// Pages are the files of the kit's web page; nil serves none.
	Pages http.FileSystem
}

// routes are the handlers.
type routes struct {
	sessions.Service
	options Options
	recent  recent
}

// handler answers a request, or returns the error to answer with.
type handler func(w http.ResponseWriter, r *http.Request) error

// Register adds the routes to a mux. The kit's routes /health and /version are the server's own.
func Register(mux *http.ServeMux, core *web.Core, options Options) {
	x := &routes{Service: sessions.Service{Core: core}, options: options}
	handle := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				x.fail(w, r, err)
			}
		})
	}
	const all = "/apps/{app}/users/{user}/sessions"
	const session = all + "/{session}"
	handle("GET /list-apps", x.listApps)
	handle("GET /apps/{app}/app-info", x.appInfo)
	handle("GET /config/telemetry", x.telemetry)

	handle("GET "+all, x.listSessions)
	handle("POST "+all, x.createSession)
	handle("GET "+session, x.ofSession(x.getSession))
	handle("POST "+session, x.createNamedSession)
	handle("PATCH "+session, x.ofSession(x.patchSession))
	handle("DELETE "+session, x.ofSession(x.deleteSession))
	handle("POST "+session+"/rewind", x.ofSession(x.rewind))

	handle("GET "+session+"/artifacts", x.ofSession(x.listArtifacts))
	handle("POST "+session+"/artifacts", x.ofSession(x.saveArtifact))
	handle("GET "+session+"/artifacts/{name...}", x.ofSession(x.getArtifact))
	handle("DELETE "+session+"/artifacts/{name...}", x.ofSession(x.deleteArtifact))

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

// fail answers with an error in a form that every client of the kit reads: its Python server says "detail",
// its JavaScript server "error".
func (x *routes) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := x.Noted(r, err)
	web.WriteProblem(w, p, map[string]string{"detail": p.Message, "error": p.Message})
}

// A sessionRequest is a request whose path names a session. The session need not exist.
type sessionRequest struct {
	*http.Request
	app *apps.App
	key session.Key
}

// ofSession returns the handler of a route whose path names a session.
func (x *routes) ofSession(h func(http.ResponseWriter, *sessionRequest) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		app, err := x.App(r, r.PathValue("app"))
		if err != nil {
			return err
		}
		key, err := x.Key(r, app, r.PathValue("user"), r.PathValue("session"), false)
		if err != nil {
			return err
		}
		x.recent.add(key)
		return h(w, &sessionRequest{Request: r, app: app, key: key})
	}
}

// patchMemory says that there is no memory: the kit keeps there what it remembers of sessions.
func (x *routes) patchMemory(_ http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}
	if _, err := x.Key(r, app, r.PathValue("user"), "", true); err != nil {
		return err
	}
	return web.NewProblem(http.StatusNotImplemented, "no_memory", "the app keeps no memory beside "+
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
func (x *routes) listApps(w http.ResponseWriter, r *http.Request) error {
	names := []string{}
	list := []appBody{}
	for _, app := range x.Reachable(r) {
		names = append(names, app.Name)
		list = append(list, bodyOf(app))
	}
	if r.URL.Query().Get("detailed") == "true" {
		web.WriteJSON(w, http.StatusOK, map[string]any{"apps": list})
		return nil
	}
	web.WriteJSON(w, http.StatusOK, names)
	return nil
}

// appInfo answers with an app and all its agents.
func (x *routes) appInfo(w http.ResponseWriter, r *http.Request) error {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return err
	}
	body := bodyOf(app)
	for _, n := range nodesOf(app.Runner.Agent()) {
		body.Agents = append(body.Agents, agentBody{Name: n.agent.Name(), Description: n.agent.Description()})
	}
	web.WriteJSON(w, http.StatusOK, body)
	return nil
}

// telemetry says that the page must not report its use to its makers. Without this answer newer pages ask the
// user in a dialog that covers them.
func (x *routes) telemetry(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, map[string]bool{"telemetry": false})
	return nil
}
