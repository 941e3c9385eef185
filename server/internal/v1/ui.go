package v1

import (
	"net/http"

	"github.com/plughook/plughook/server/internal/uistream"
)

// uiHandlers are those of the UI message stream of Vercel's AI SDK: see package uistream.
var uiHandlers = handlers{
	"uiRun": func(x *routes, w http.ResponseWriter, r *request) (any, error) {
		return nil, uistream.Routes{Service: x.Service}.Run(w, r.Request, r.app, r.query.Get("user"))
	},
	"uiResume": func(x *routes, w http.ResponseWriter, r *request) (any, error) {
		return nil, uistream.Routes{Service: x.Service}.Resume(w, r.Request, r.app, r.key)
	},
	"uiMessages": func(x *routes, _ http.ResponseWriter, r *request) (any, error) {
		list, err := uistream.Routes{Service: x.Service}.Messages(r.Request, r.app, r.key)
		return map[string]any{"messages": list}, err
	},
}
