// Package web is what all routes of the server share: the apps, who the caller is and what is theirs, bodies
// within limits, errors as statuses, and runs as streams.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/session"
)

// DefaultUser is the user of a request that names none, where nobody has to say who they are.
const DefaultUser = "user"

// An App is one app that is served.
type App struct {
	Name      string
	Runner    *runner.Runner
	Sessions  session.Service
	Artifacts artifact.Service // may be nil
	Agent     agent.Agent
	Plugins   []*plugin.Plugin
	// Compaction has the settings of the app's plugin for compaction, nil if it has none.
	Compaction *compaction.Config
}

// A Caller is who sends a request.
type Caller struct {
	// User is the caller's user: every session of theirs, and no other, can be reached. Empty: any user,
	// the one that the request names, or DefaultUser.
	User string
	// Apps are the apps that the caller can reach; nil is all.
	Apps []string
	// Admin says that the caller may delete the data of any user, set off retention, and set state that all
	// users of an app share.
	Admin bool
	// Still reports whether the caller may still do what they were let in for; nil is yes. It is asked while a
	// stream is open.
	Still func() bool
}

// Settings are the limits and the times of a Core.
type Settings struct {
	Body        int64         // bytes of a body
	Upload      int64         // bytes of a body where files are sent
	Streams     int           // open streams of the process; 0 is no bound
	UserStreams int           // open streams of one user; 0 is no bound
	Heartbeat   time.Duration // of silence, after which a stream shows that it lives
	Patience    time.Duration // for one write to a slow reader
	Retry       time.Duration // that clients are told to wait before they come back
}

// A Core is what the routes share.
type Core struct {
	Apps     []*App
	Runs     *runs.Runs
	Settings Settings
	Log      *slog.Logger

	mu      sync.Mutex
	streams map[string]int // open streams by user
	open    int
	life    context.Context // done when streams have to end
	end     context.CancelFunc
}

// New returns a Core.
func New(apps []*App, r *runs.Runs, settings Settings, log *slog.Logger) *Core {
	life, end := context.WithCancel(context.Background())
	return &Core{
		Apps:     apps,
		Runs:     r,
		Settings: settings,
		Log:      log,
		streams:  map[string]int{},
		life:     life,
		end:      end,
	}
}

// EndStreams ends the streams that are open, and those to come.
func (c *Core) EndStreams() { c.end() }

type callerKey struct{}

// WithCaller returns the request with who sends it, and with what they may do in its context.
func WithCaller(r *http.Request, who Caller) *http.Request {
	ctx := context.WithValue(r.Context(), callerKey{}, who)
	if !who.Admin {
		ctx = runs.WithoutAppState(ctx)
	}
	return r.WithContext(ctx)
}

// CheckInitial refuses state that a session of the caller's cannot be created with: what is a plugin's, and
// what all users of the app share if the caller is no admin.
func (a *App) CheckInitial(r *http.Request, state map[string]any) error {
	if err := plugin.OwnersOf(a.Plugins...).CheckInitial(state); err != nil {
		return err
	}
	return runs.CheckAppState(r.Context(), state)
}

// CallerOf returns who sends a request.
func CallerOf(r *http.Request) Caller {
	who, ok := r.Context().Value(callerKey{}).(Caller)
	if !ok {
		panic("web: a route was reached without WithCaller") // nobody is let in by mistake
	}
	return who
}

// App returns the app of a name that the caller can reach. The error says that there is none, also where it
// is not the caller's.
func (c *Core) App(r *http.Request, name string) (*App, error) {
	who := CallerOf(r)
	for _, app := range c.Apps {
		if app.Name == name && (who.Apps == nil || slices.Contains(who.Apps, name)) {
			return app, nil
		}
	}
	return nil, &Problem{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("there is no app %q", name)}
}

// Reachable returns the apps that the caller can reach.
func (c *Core) Reachable(r *http.Request) []*App {
	var apps []*App
	for _, app := range c.Apps {
		if _, err := c.App(r, app.Name); err == nil {
			apps = append(apps, app)
		}
	}
	return apps
}

// User returns the user of a request: the caller's, or where the caller is nobody in particular the one that
// is named, DefaultUser if none is. Another user than the caller's is not found.
func (c *Core) User(r *http.Request, named string) (string, error) {
	switch who := CallerOf(r); {
	case who.User == "" && named == "":
		return DefaultUser, nil
	case who.User == "":
		return named, nil
	case named != "" && named != who.User:
		return "", notFound
	default:
		return who.User, nil
	}
}

// Key returns the key of a session of the caller's. id may be empty if mayBeNew.
func (c *Core) Key(r *http.Request, app *App, named, id string, mayBeNew bool) (session.Key, error) {
	user, err := c.User(r, named)
	if err != nil {
		return session.Key{}, err
	}
	key := session.Key{App: app.Name, User: user, ID: id}
	return key, key.Check(mayBeNew)
}

var notFound = &Problem{Status: http.StatusNotFound, Code: "not_found", Message: "session not found"}
