// Package web is what all routes of the server share: the apps, who the caller is and what is theirs, bodies
// within limits, errors as statuses, and runs as streams.
//
// A new error that clients are told with a status and a code of its own: a case of ProblemOf. What every
// stream does, in all protocols: Core.Stream. What only sessions have belongs into package sessions.
package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/notify"
	"github.com/plughook/plughook/server/internal/runs"
	"github.com/plughook/plughook/session"
)

// DefaultUser is the user of a request that names none, where nobody has to say who they are.
const DefaultUser = "user"

// A Core is what the routes share.
type Core struct {
	Apps   []*apps.App
	Runs   *runs.Runs
	Limits limits.Limits // with numbers in place of defaults
	Budget *limits.Process
	Log    *slog.Logger

	life context.Context // done when streams have to end
	end  context.CancelFunc
}

// New returns a Core with runs of its own.
func New(served []apps.App, bounds limits.Limits, log *slog.Logger) *Core {
	life, end := context.WithCancel(context.Background())
	budget := limits.New(bounds, log)
	c := &Core{
		Runs:   runs.New(budget, log),
		Limits: budget.Limits,
		Budget: budget,
		Log:    log,
		life:   life,
		end:    end,
	}
	for _, app := range served {
		if app.Artifacts != nil {
			app.Artifacts = artifact.Bind(app.Artifacts, app.Sessions())
		}
		c.Apps = append(c.Apps, &app)
	}
	return c
}

// ResumeRuns goes on with runs that were cut off, until the streams are ended.
func (c *Core) ResumeRuns(after time.Duration) { c.Runs.Resume(c.life, c.Apps, after) }

// NotifyRuns tells targets how runs end, until the streams are ended.
func (c *Core) NotifyRuns(targets []*notify.Target, resumeAfter time.Duration) {
	c.Runs.Notify(c.life, c.Apps, targets, resumeAfter)
}

// EndStreams ends the streams that are open, and those to come.
func (c *Core) EndStreams() { c.end() }

// Closing returns an error, which says so, if the server is shut down.
func (c *Core) Closing() error {
	if c.life.Err() != nil {
		return errClosing
	}
	return nil
}

type callerKey struct{}

// admitted is a caller who was let in.
type admitted struct {
	apps.Caller
	hold *limits.Hold // nil for a request without bounds
	// still reports whether the caller would still be let in. It is asked while a stream is open.
	still func() bool
}

// WithCaller returns the request with who sends it in its context, and what it has of the budgets. still reports whether
// the caller would still be let in.
func (c *Core) WithCaller(r *http.Request, who apps.Caller, hold *limits.Hold, still func() bool) *http.Request {
	ctx := context.WithValue(r.Context(), callerKey{}, admitted{Caller: who, hold: hold, still: still})
	ctx = runs.WithSender(ctx, who.On)
	ctx = runs.WithStateRule(ctx, func(app, key string) error {
		i := slices.IndexFunc(c.Apps, func(a *apps.App) bool { return a.Name == app })
		return c.Apps[i].MayWrite(who, key)
	})
	return r.WithContext(ctx)
}

// CallerOf returns who sends a request.
func CallerOf(r *http.Request) apps.Caller {
	who, ok := r.Context().Value(callerKey{}).(admitted)
	if !ok {
		panic("web: a route was reached without " +
			"WithCaller") // a new handler that forgets the guard lets nobody in
	}
	return who.Caller
}

// HoldOf returns what a request has of the budgets; nil, which has no bounds, for what is no request.
func HoldOf(ctx context.Context) *limits.Hold {
	who, _ := ctx.Value(callerKey{}).(admitted)
	return who.hold
}

// App returns the app of a name that the caller can reach. The error says that there is none, also where it
// is not the caller's.
func (c *Core) App(r *http.Request, name string) (*apps.App, error) {
	who := CallerOf(r)
	for _, app := range c.Apps {
		if app.Name == name && (who.Apps == nil || slices.Contains(who.Apps, name)) {
			return app, nil
		}
	}
	return nil, NewProblem(http.StatusNotFound, "not_found", fmt.Sprintf("there is no app %q", name))
}

// Reachable returns the apps that the caller can reach.
func (c *Core) Reachable(r *http.Request) []*apps.App {
	var list []*apps.App
	for _, app := range c.Apps {
		if _, err := c.App(r, app.Name); err == nil {
			list = append(list, app)
		}
	}
	return list
}

// User returns the user of a request: the one that is named, or the caller's own, or DefaultUser where the
// caller is nobody in particular. A user whom the caller does not reach is not found.
func (c *Core) User(r *http.Request, named string) (string, error) {
	who := CallerOf(r)
	if named != "" && !who.Reaches(named) {
		return "", notFound
	}
	return cmp.Or(named, who.User, DefaultUser), nil
}

// Key returns the key of a session of the caller's. id may be empty if mayBeNew.
func (c *Core) Key(r *http.Request, app *apps.App, named, id string, mayBeNew bool) (session.Key, error) {
	user, err := c.User(r, named)
	if err != nil {
		return session.Key{}, err
	}
	key := session.Key{App: app.Name, User: user, ID: id}
	return key, key.Check(mayBeNew)
}

var notFound = NewProblem(http.StatusNotFound, "not_found", "session not found")
