// Package v1 has the server's own routes: sessions, runs and their events, as the log has them.
//
// The document openapi.json has every route, with its parameters. Register makes the routes from it, and a
// request's parameters are checked against it before the route's handler sees them.
//
// A new route takes two files and a row in openapi_test.go: write its operation in openapi.json, with an operationId, and its handler in
// the file of its noun, with a line in the handlers at the file's beginning. What the route does to a session
// is an operation of package sessions. TestTheDocumentSaysWhatTheRoutesDo fails until it has asked the route.
package v1

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Options are what the routes need beside the Core.
type Options struct {
	ChatApp, ChatField string
	Version            string
}

// routes are what the handlers are methods of.
type routes struct {
	sessions.Service
	options Options
}

// A request is one to a route. Its parameters are those of the document.
type request struct {
	*http.Request
	operation *operation
	query     url.Values
	app       *apps.App   // that the path names, nil if it names none
	key       session.Key // of the session that the path names, zero if it names none
}

// A handler returns what to answer a request with: a value as JSON, or an error. It returns neither if it has
// answered itself.
type handler func(x *routes, w http.ResponseWriter, r *request) (any, error)

// with returns the handler of a route whose body is a JSON object.
func with[B any](h func(x *routes, w http.ResponseWriter, r *request, body *B) (any, error)) handler {
	return func(x *routes, w http.ResponseWriter, r *request) (any, error) {
		body := new(B)
		if err := x.Decode(w, r.Request, body); err != nil {
			return nil, err
		}
		return h(x, w, r, body)
	}
}

// handlers are handlers by the operationId of their route in the document.
type handlers map[string]handler

// allHandlers are those of each file.
var allHandlers = []handlers{
	serverHandlers, chatHandlers, sessionHandlers, eventHandlers, runHandlers, answerHandlers, commandHandlers,
	artifactHandlers, dataHandlers, approvalHandlers, uiHandlers,
}

// Register adds the routes to a mux.
func Register(mux *http.ServeMux, core *web.Core, options Options) {
	x := &routes{Service: sessions.Service{Core: core}, options: options}
	byID := handlers{}
	for _, some := range allHandlers {
		for id, h := range some {
			byID[id] = h
		}
	}
	for _, op := range operations() {
		handle := byID[op.ID]
		if handle == nil {
			panic("v1: openapi.json has the operation " + op.ID + ", which has no handler")
		}
		delete(byID, op.ID)
		mux.HandleFunc(op.pattern(), func(w http.ResponseWriter, r *http.Request) {
			var value any
			q, err := x.request(op, r)
			if err == nil {
				value, err = handle(x, w, q)
			}
			x.Answer(w, r, value, err)
		})
	}
	for id := range byID {
		panic("v1: openapi.json does not have the operation " + id)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if methods := methodsOf(mux, r); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			x.Fail(w, r, web.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed",
				fmt.Sprintf("this route does not take %q; it takes %s", r.Method, strings.Join(methods, ", "))))
			return
		}
		x.Fail(w, r, web.NewProblem(http.StatusNotFound, "not_found", "there is no such route; "+
			"/v1/openapi.json lists those that there are"))
	})
}

// request checks a request's parameters, and finds the app and the session that it names.
func (x *routes) request(op *operation, r *http.Request) (q *request, err error) {
	q = &request{Request: r, operation: op}
	if r.URL.RawQuery != "" {
		q.query = r.URL.Query()
	}
	if err := op.check(q.query, r.Header); err != nil {
		return nil, err
	}
	if name := r.PathValue("app"); name != "" {
		if q.app, err = x.App(r, name); err != nil {
			return nil, err
		}
	}
	if id := r.PathValue("session"); id != "" {
		q.key, err = x.Key(r, q.app, q.query.Get("user"), id, false)
	}
	return q, err
}

// methodsOf lists the methods that the routes of a request's path take. The request has reached "/", so its
// own method is not among them.
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

// serverHandlers say what the server is, and how it is.
var serverHandlers = handlers{
	"health":   (*routes).health,
	"ready":    (*routes).ready,
	"version":  (*routes).version,
	"openAPI":  (*routes).openAPI,
	"listApps": (*routes).listApps,
}

func (x *routes) health(http.ResponseWriter, *request) (any, error) {
	return map[string]string{"status": "ok"}, nil
}

// readyTime is how long a store may take to answer.
const readyTime = time.Second

// ready says whether the server takes runs: it is not shut down, and its stores can be reached.
func (x *routes) ready(_ http.ResponseWriter, r *request) (any, error) {
	if err := x.Closing(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), readyTime, session.ErrUnavailable)
	defer cancel()
	for _, app := range x.Apps {
		const nobody = "\uFFFD" // no user has this name, so the list is empty
		for _, err := range app.Sessions().List(ctx, app.Name, nobody) {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	return map[string]string{"status": "ready"}, nil
}

func (x *routes) version(http.ResponseWriter, *request) (any, error) {
	return map[string]string{
		"version":          x.options.Version,
		"language":         "go",
		"language_version": runtime.Version(),
	}, nil
}

func (x *routes) openAPI(w http.ResponseWriter, _ *request) (any, error) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // a client that has left is told nothing
	return nil, nil
}

// appBody is what the routes say of an app.
type appBody struct {
	Name        string `json:"name"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitzero"`
}

func (x *routes) listApps(_ http.ResponseWriter, r *request) (any, error) {
	list := []appBody{}
	for _, app := range x.Reachable(r.Request) {
		agent := app.Runner.Agent()
		list = append(list, appBody{Name: app.Name, Agent: agent.Name(), Description: agent.Description()})
	}
	return map[string][]appBody{"apps": list}, nil
}
