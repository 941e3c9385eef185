// Package v1 has the server's own routes: sessions, runs and their events, as the log has them.
package v1

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Options are what the routes need beside the Core.
type Options struct {
	ChatApp, ChatField string
	Version            string
}

// routes are the handlers.
type routes struct {
	*web.Core
	options Options
}

// handler answers a request, or returns the error to answer with.
type handler func(w http.ResponseWriter, r *http.Request) error

// Register adds the routes to a mux.
func Register(mux *http.ServeMux, core *web.Core, options Options) {
	x := &routes{Core: core, options: options}
	const apps = "/v1/apps/{app}"
	const one = apps + "/sessions/{session}"
	documented := queryParameters()
	for _, route := range []struct {
		pattern string
		handler handler
	}{
		{"GET /health", x.health},
		{"GET /ready", x.ready},
		{"GET /version", x.version},
		{"GET /v1/openapi.json", x.openAPI},
		{"GET /v1/apps", x.listApps},
		{"POST /chat", x.chat},

		{"GET " + apps + "/sessions", x.listSessions},
		{"POST " + apps + "/sessions", x.createSession},
		{"GET " + one, x.getSession},
		{"PATCH " + one, x.patchSession},
		{"DELETE " + one, x.deleteSession},

		{"GET " + one + "/events", x.events},
		{"POST " + one + "/run", x.run},
		{"POST " + one + "/invocations/{invocation}/cancel", x.cancel},
		{"GET " + one + "/waiting", x.waiting},
		{"POST " + one + "/approve", x.approve},
		{"POST " + one + "/decline", x.decline},
		{"POST " + one + "/respond", x.respond},

		{"POST " + one + "/rewind", x.rewind},
		{"POST " + one + "/undo", x.undo},
		{"POST " + one + "/compact", x.compact},
		{"POST " + one + "/fork", x.fork},
		{"GET " + one + "/export", x.export},

		{"GET " + one + "/artifacts", x.listArtifacts},
		{"GET " + one + "/artifacts/{name...}", x.getArtifact},
		{"PUT " + one + "/artifacts/{name...}", x.putArtifact},
		{"DELETE " + one + "/artifacts/{name...}", x.deleteArtifact},

		{"DELETE " + apps + "/users/{user}", x.deleteUser},
		{"POST " + apps + "/retention", x.retain},
	} {
		parameters := documented[strings.ReplaceAll(route.pattern, "...}", "}")]
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			err := checkQuery(r, parameters)
			if err == nil {
				err = route.handler(w, r)
			}
			if err != nil {
				x.Fail(w, r, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if methods := methodsOf(mux, r); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			x.Fail(w, r, &web.Problem{
				Status:  http.StatusMethodNotAllowed,
				Code:    "method_not_allowed",
				Message: "this route does not take " + strconv.Quote(r.Method) + "; it takes " + strings.Join(methods, ", "),
			})
			return
		}
		x.Fail(w, r, &web.Problem{Status: http.StatusNotFound, Code: "not_found", Message: "there is no such route; /v1/openapi.json lists those that there are"})
	})
}

// methodsOf lists the methods that the routes of a request's path take. The request has reached "/", so its own method is
// not among them.
func methodsOf(mux *http.ServeMux, r *http.Request) (methods []string) {
	for _, method := range []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		other := *r
		other.Method = method
		_, pattern := mux.Handler(&other)
		if pattern != "/" {
			methods = append(methods, method)
		}
	}
	return methods
}

// checkQuery refuses a parameter that a route does not have: whoever misspells one meant something else. What asks
// whether the server lives may have any.
func checkQuery(r *http.Request, parameters []string) error {
	if r.URL.RawQuery == "" || parameters == nil {
		return nil
	}
	for name := range r.URL.Query() {
		if !slices.Contains(parameters, name) {
			return web.Bad("the parameter " + strconv.Quote(name) + " is none of this route's")
		}
	}
	return nil
}

// at returns the app and the session that a request's path names.
func (x *routes) at(r *http.Request) (*web.App, session.Key, error) {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		return nil, session.Key{}, err
	}
	key, err := x.Key(r, app, r.URL.Query().Get("user"), r.PathValue("session"), false)
	return app, key, err
}

func (x *routes) health(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// ready says whether the server takes runs: it is not shut down, and its stores can be reached.
func (x *routes) ready(w http.ResponseWriter, r *http.Request) error {
	if err := x.Closing(); err != nil {
		return err
	}
	for _, app := range x.Apps {
		for _, err := range app.Sessions.List(r.Context(), app.Name, "\uFFFD") { // a user that nobody is
			if err != nil {
				return err
			}
			break
		}
	}
	web.WriteJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

func (x *routes) version(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, map[string]string{
		"version":          x.options.Version,
		"language":         "go",
		"language_version": runtime.Version(),
	})
	return nil
}

// app is what the routes say of an app.
type app struct {
	Name        string `json:"name"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitzero"`
}

func (x *routes) listApps(w http.ResponseWriter, r *http.Request) error {
	list := []app{}
	for _, a := range x.Reachable(r) {
		list = append(list, app{Name: a.Name, Agent: a.Agent.Name(), Description: a.Agent.Description()})
	}
	web.WriteJSON(w, http.StatusOK, map[string][]app{"apps": list})
	return nil
}
