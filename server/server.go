package server

import (
	"context"
	"net/http"

	"github.com/plughook/plughook/server/internal/a2a"
	"github.com/plughook/plughook/server/internal/agui"
	"github.com/plughook/plughook/server/internal/hooks"
	"github.com/plughook/plughook/server/internal/kit"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/page"
	v1 "github.com/plughook/plughook/server/internal/v1"
	"github.com/plughook/plughook/server/internal/web"
)

// A Server serves runners over HTTP. It is an http.Handler, for a server of its own or under a path of
// another one (http.StripPrefix). The http.Server around it should have no WriteTimeout, which would end
// streams: the Server bounds each write by itself.
type Server struct {
	core        *web.Core
	handler     http.Handler
	stopMetrics func() error // ends that OpenTelemetry reads the limits
}

// New returns a Server, or an error for each thing that is wrong with the options.
func New(o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	core := web.New(o.Apps, o.Limits, o.Log)
	mux := http.NewServeMux()
	v1.Register(mux, core, v1.Options{
		ChatApp:   o.Chat.App,
		ChatField: o.Chat.Field,
		Version:   o.Version,
	})
	agui.Register(mux, core)
	a2a.Register(mux, core, a2a.Options{
		URL:     o.URL,
		Version: o.Version,
		Tokens:  o.Caller != nil,
	})
	hooks.Register(mux, core)
	if o.Kit {
		kit.Register(mux, core, kit.Options{Dev: o.KitDev, Pages: o.Pages, Root: o.Page == nil})
	}
	if o.Page != nil {
		shown := *o.Page
		shown.Caller = o.Caller
		page.Register(mux, core, shown)
	}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !web.CallerOf(r).Admin {
			core.Fail(w, r, web.NewProblem(http.StatusForbidden, "forbidden", "only an admin may see the metrics"))
			return
		}
		w.Header().Set("Content-Type", limits.MetricsType)
		_ = core.Budget.WriteMetrics(w) // a client that has left is told nothing
	})
	g, err := newGuard(o, core, mux)
	if err != nil {
		return nil, err
	}
	stopMetrics, err := core.Budget.Observe()
	if err != nil {
		return nil, err
	}
	if len(o.Notify) > 0 {
		core.NotifyRuns(o.Notify, o.ResumeAfter)
	}
	if o.ResumeAfter > 0 {
		core.ResumeRuns(o.ResumeAfter)
	}
	return &Server{core: core, handler: g, stopMetrics: stopMetrics}, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Shutdown ends the service in good order. Streams are told and end at once, and no run begins any more.
// Runs that are under way end by themselves until ctx is done, and are cancelled then; Shutdown waits for
// them. It is called before, or from a function that was given to, http.Server.RegisterOnShutdown: an
// http.Server waits for streams. The runners and stores stay open.
func (s *Server) Shutdown(ctx context.Context) {
	s.core.EndStreams()
	s.core.Runs.Close(ctx)
	if err := s.stopMetrics(); err != nil {
		s.core.Log.Warn("the metrics of the limits are still read", "error", err)
	}
}
