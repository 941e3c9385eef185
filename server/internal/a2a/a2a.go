// Package a2a serves the Agent2Agent protocol, A2A 1.0 (https://a2a-protocol.org), in its JSON-RPC form.
//
// A context is a session, a task an invocation, and a message's id that of the input: a message that is sent
// again runs nothing again. What a task is, is read from the log, so that every replica knows every task. A
// call that waits for an answer makes its task INPUT_REQUIRED; a denial by a policy makes it REJECTED.
//
// A new method: a line in rpc, with its name and messages in package a2awire. A new state of a task:
// routes.assemble, which decides the states.
package a2a

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	wire "github.com/plughook/plughook/internal/a2awire"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Options are what the routes need beside the Core.
type Options struct {
	// URL is where clients reach the server, for the agents' cards; "" is where the request for a card came
	// to.
	URL     string
	Version string
	// Tokens says that callers need a bearer token.
	Tokens bool
}

// routes are the handlers.
type routes struct {
	sessions.Service
	options Options
}

// Register adds the routes to a mux.
func Register(mux *http.ServeMux, core *web.Core, options Options) {
	x := &routes{Service: sessions.Service{Core: core}, options: options}
	card := func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(r.PathValue("app"), core.Apps[0].Name)
		app, err := x.App(r, name)
		if err != nil {
			x.Fail(w, r, err)
			return
		}
		web.WriteJSON(w, http.StatusOK, x.card(r, app))
	}
	mux.HandleFunc("GET /.well-known/agent-card.json", card)
	mux.HandleFunc("GET /a2a/{app}/.well-known/agent-card.json", card)
	mux.HandleFunc("POST /a2a/{app}", x.rpc)
}

// card says what an app is.
func (x *routes) card(r *http.Request, app *apps.App) wire.Card {
	base := strings.TrimSuffix(x.options.URL, "/")
	if base == "" {
		// Not the header Host, which any client can set: the address that was connected to.
		address := "localhost"
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			address = local.String()
		}
		base = "http://" + address
		if r.TLS != nil {
			base = "https://" + address
		}
		// The handler may be mounted below a path, which http.StripPrefix has taken off.
		asked, _, _ := strings.Cut(r.RequestURI, "?")
		if prefix, ok := strings.CutSuffix(asked, r.URL.EscapedPath()); ok && strings.HasPrefix(prefix, "/") {
			base += prefix
		}
	}
	name := app.Runner.Agent().Name()
	c := wire.Card{
		Name:        name,
		Description: cmp.Or(app.Runner.Agent().Description(), name),
		Version:     cmp.Or(x.options.Version, "0"),
		SupportedInterfaces: []wire.Interface{{
			URL:             base + "/a2a/" + app.Name,
			ProtocolBinding: "JSONRPC",
			ProtocolVersion: wire.Version,
		}},
		Capabilities:       map[string]bool{"streaming": true, "pushNotifications": false},
		DefaultInputModes:  []string{"text/plain", "application/json"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []wire.Skill{{
			ID:          app.Name,
			Name:        name,
			Description: cmp.Or(app.Runner.Agent().Description(), name),
			Tags:        []string{"agent"},
		}},
	}
	if x.options.Tokens {
		c.SecuritySchemes = map[string]any{
			"bearer": map[string]any{"httpAuthSecurityScheme": map[string]string{"scheme": "Bearer"}},
		}
		c.SecurityRequirements = []map[string]wire.Scopes{{"schemes": {"bearer": {List: []string{}}}}}
	}
	return c
}

// A rpcRequest is one request of JSON-RPC.
type rpcRequest struct {
	w   http.ResponseWriter
	r   *http.Request
	app *apps.App
	id  jsontext.Value
	// params is what the method is called with.
	params jsontext.Value
}

// rpc answers one request. Errors of the protocol have the status 200, those of the server their own.
func (x *routes) rpc(w http.ResponseWriter, r *http.Request) {
	app, err := x.App(r, r.PathValue("app"))
	if err != nil {
		x.Fail(w, r, err)
		return
	}
	data, err := web.JSON(w, r, x.Limits.Upload)
	if err != nil {
		x.Fail(w, r, err)
		return
	}
	c := &rpcRequest{w: w, r: r, app: app, id: jsontext.Value("null")}
	var q struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	err = json.Unmarshal(data, &q)
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		x.refuse(c, wireError(wire.CodeParse, "the body is not JSON"))
		return
	case err != nil || q.JSONRPC != "2.0" || q.Method == "":
		x.refuse(c, wireError(wire.CodeInvalidRequest, "the body is no request of JSON-RPC 2.0"))
		return
	}
	if kind := q.ID.Kind(); len(q.ID) > 0 && (kind == '"' || kind == '0') {
		c.id = q.ID
	}
	c.params = q.Params
	version := r.Header.Get(wire.VersionHeader)
	if version != wire.Version && !strings.HasPrefix(version, wire.Version+".") {
		version = cmp.Or(version, "0.3")
		x.refuse(c, wireError(
			wire.CodeVersionNotKnown,
			"version "+version+" is not served: send the header "+wire.VersionHeader+": "+wire.Version,
		))
		return
	}
	answer := map[string]method{
		wire.SendMessage:          with(x.send),
		wire.SendStreamingMessage: with(x.sendStreaming),
		wire.GetTask:              x.ofTask(x.getTask),
		wire.ListTasks:            with(x.listTasks),
		wire.CancelTask:           x.ofTask(x.cancelTask),
		wire.SubscribeToTask:      x.ofTask(x.subscribe),
	}[q.Method]
	switch {
	case answer != nil:
	case strings.Contains(q.Method, "PushNotification"):
		x.refuse(c, wireError(wire.CodeNoPush, "push notifications are not served"))
		return
	case q.Method == "GetExtendedAgentCard":
		x.refuse(c, wireError(wire.CodeNoExtendedCard, "there is no extended agent card"))
		return
	default:
		x.refuse(c, wireError(wire.CodeMethodNotFound, "method not found"))
		return
	}
	result, err := answer(c)
	switch {
	case err == web.ErrLeft:
	case err != nil:
		x.refuse(c, err)
	case result != nil: // else it was a stream
		web.WriteJSON(w, http.StatusOK, c.response(result))
	}
}

// response returns the answer with a result.
func (c *rpcRequest) response(result any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": c.id, "result": result}
}

// refuse answers with an error.
func (x *routes) refuse(c *rpcRequest, err error) {
	e := x.errorOf(c, err)
	body := map[string]any{"jsonrpc": "2.0", "id": c.id, "error": e}
	p := web.ProblemOf(err)
	var own *wire.Error
	if errors.As(err, &own) || p.Status < http.StatusTooManyRequests {
		p = &web.Problem{Status: http.StatusOK}
	}
	web.WriteProblem(c.w, p, body)
}

// errorOf returns what a client is told of an error.
func (x *routes) errorOf(c *rpcRequest, err error) *wire.Error {
	var own *wire.Error
	if errors.As(err, &own) {
		return own
	}
	p := x.Noted(c.r, err)
	e := wireError(wire.CodeInternal, p.Message)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return notFound
	case p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests:
		e.Code = wire.CodeInvalidParams
	}
	e.Data = []map[string]string{{
		"@type":  "type.googleapis.com/google.rpc.ErrorInfo",
		"reason": strings.ToUpper(p.Code),
		"domain": "plughook",
	}}
	return e
}

var notFound = wireError(wire.CodeTaskNotFound, "task not found")

// bad returns the error of parameters that are not right.
func bad(message string) *wire.Error { return wireError(wire.CodeInvalidParams, message) }

func wireError(code int, message string) *wire.Error {
	return &wire.Error{Code: code, Message: message}
}

// A method answers a request with a result, or with a stream if that is nil.
type method func(*rpcRequest) (any, error)

// with returns the method of a function that takes the request's parameters.
func with[P any](h func(*rpcRequest, *P) (any, error)) method {
	return func(c *rpcRequest) (any, error) {
		params := new(P)
		if len(c.params) > 0 {
			if err := web.Unmarshal(c.params, params); err != nil {
				return nil, err
			}
		}
		return h(c, params)
	}
}

// ofTask returns the method of a function that takes a task which the parameters name.
func (x *routes) ofTask(h func(*rpcRequest, taskID, *wire.TaskParams) (any, error)) method {
	return with(func(c *rpcRequest, params *wire.TaskParams) (any, error) {
		t, err := x.parse(c, params.ID)
		if err != nil {
			return nil, err
		}
		return h(c, t, params)
	})
}
