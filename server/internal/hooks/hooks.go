// Package hooks serves contracts of hooks: other programs ask what an app's plugins say of what their agents do.
//
// Another contract is a handler that Register adds.
package hooks

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/hooks/intercept"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Register adds the routes to a mux. POST /hooks/agent-hooks takes a context of AGENT-HOOKS 0.1 and answers with the
// verdict of the plugins of an app (?app=…, the first one if it is left out).
func Register(mux *http.ServeMux, core *web.Core) {
	mux.HandleFunc("POST /hooks/agent-hooks", func(w http.ResponseWriter, r *http.Request) {
		if err := judge(core, w, r); err != nil {
			core.Fail(w, r, err)
		}
	})
}

func judge(core *web.Core, w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("app")
	if reachable := core.Reachable(r); name == "" && len(reachable) > 0 {
		name = reachable[0].Name
	}
	app, err := core.App(r, name)
	if err != nil {
		return err
	}
	data, err := web.JSON(w, r, core.Limits.Upload)
	if err != nil {
		return err
	}
	id, err := intercept.SessionOf(data)
	if err != nil {
		return web.Bad(err.Error())
	}
	key, err := core.Key(r, app, r.URL.Query().Get("user"), id, false)
	if err != nil {
		return err
	}
	hold, err := room(r.Context(), core, app, key, data)
	if err != nil {
		return err
	}
	defer hold.Release()
	i := &intercept.Interceptor{Runner: app.Runner, App: key.App, User: key.User}
	v, err := i.Intercept(r.Context(), agenthooks.Context(data))
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, v)
	return nil
}

// room checks, as for a run's input, that there is room for what the context has stored, and counts it as a run.
func room(ctx context.Context, core *web.Core, app *apps.App, key session.Key, data []byte) (*limits.Hold, error) {
	var shown struct {
		Point agenthooks.Point `json:"interception_point"`
	}
	if err := json.Unmarshal(data, &shown); err != nil {
		return nil, web.Bad("the context is not what AGENT-HOOKS 0.1 says")
	}
	n := int64(len(data))
	if shown.Point == agenthooks.PreModelCall { // it repeats the conversation, and stores none of it
		n = 0
	}
	if _, err := core.Budget.Room(ctx, app.Sessions(), key, n); err != nil {
		return nil, err
	}
	hold, err := core.Budget.Run(key.User)
	if err != nil {
		return nil, err
	}
	hold.Begun()
	return hold, nil
}
