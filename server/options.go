package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Options say what a Server serves. Apps is needed.
type Options struct {
	// Apps are served. The server closes none of their parts.
	Apps []App
	// Caller says who sends a request, by a token, a cookie of an own login, or a header that a proxy sets.
	// An error that is ErrUnauthorized is answered with status 401; every other with 500. While a stream is
	// open, it is asked again after each Limits.Heartbeat: the stream ends if the answer is ErrUnauthorized, or
	// another user. It does not read the request's body. nil: everybody is let in, from this machine only.
	Caller func(*http.Request) (Caller, error)
	// Hosts are the names (without port) by which clients reach the server, beside the address that they
	// connect to. On a loopback address its names are allowed too.
	Hosts []string
	// Origins are the origins, such as "https://chat.example.com", whose pages may send requests.
	Origins []string
	// Chat says what POST /chat is.
	Chat Chat
	// Kit serves the routes of the Agent Development Kit, for its web page and its clients; see docs/adk-web.md.
	Kit bool
	// KitDev serves that kit's routes for developers as well: traces and graphs. It needs Kit.
	KitDev bool
	// Pages are the files of that kit's web page, served under /dev-ui/; nil serves none. They need Kit.
	Pages  http.FileSystem
	Limits Limits
	// Log takes what clients are not told, such as why a run failed. No record has content of events. nil
	// logs nothing.
	Log *slog.Logger
	// URL is where clients reach the server, such as "https://agents.example.com": the cards that tell other
	// agents of the apps name it. If it is empty, they name the address that they were asked for at.
	URL string
	// Version is told by the route /version.
	Version string
}

// An App is one runner that is served, with what it runs on.
type App struct {
	// Name is the app of the sessions' keys, and stands in paths.
	Name   string
	Runner *runner.Runner
	// Sessions and Agent are those of the runner.
	Sessions session.Service
	Agent    agent.Agent
	// Plugins are those of the runner: a client cannot create a session with state that is theirs.
	Plugins []*plugin.Plugin
	// Compaction has the settings of the plugin for compaction, for dry runs; nil if there is none.
	Compaction *compaction.Config
	// Artifacts has the files of the sessions; nil means that there are none.
	Artifacts artifact.Service
}

// A Caller is who sends a request.
type Caller struct {
	// User is the caller's user: the caller reaches every session of this user, and no other. A caller without
	// a user is not let in, but with AnyUser.
	User string
	// AnyUser lets a caller without a user reach the sessions of every user, by naming one in the request.
	AnyUser bool
	// Apps are the apps that the caller reaches; nil is all of them.
	Apps []string
	// Admin says that the caller may delete the data of every user, and set state that all users of an app
	// share: keys with the prefix "app:".
	Admin bool
}

// ErrUnauthorized says that it is not known who sends a request.
var ErrUnauthorized = errors.New("unauthorized")

// Chat is the route POST /chat: a message and the session that it belongs to, in one JSON object.
type Chat struct {
	// App is the app that answers; the first one if it is empty.
	App string
	// Field is the field that names the session, "session" if it is empty.
	Field string
}

// Limits bound what clients may take. A 0 is the default that stands beside it; a negative number is no bound.
type Limits struct {
	Body        int64         // bytes of a body: 1 MiB
	Upload      int64         // bytes of a body with a file: 10 MiB
	Waiting     int           // runs of the process that wait for a busy session: 1000
	UserRuns    int           // runs of one user, waiting or running: 100
	Run         time.Duration // length of a run: 30 minutes
	Streams     int           // streams of the process: 10000
	UserStreams int           // streams of one user: 100
	Heartbeat   time.Duration // silence on a stream: 15 s
	Patience    time.Duration // for a client that reads too slowly, for each 64 KiB of an answer: 10 s
}

// withDefaults returns the limits with a number for each that is 0, and 0 for no bound.
func (l Limits) withDefaults() Limits {
	return Limits{
		Body:        bound(l.Body, 1<<20),
		Upload:      bound(l.Upload, 10<<20),
		Waiting:     int(bound(int64(l.Waiting), 1000)),
		UserRuns:    int(bound(int64(l.UserRuns), 100)),
		Run:         time.Duration(bound(int64(l.Run), int64(30*time.Minute))),
		Streams:     int(bound(int64(l.Streams), 10000)),
		UserStreams: int(bound(int64(l.UserStreams), 100)),
		Heartbeat:   cmp.Or(l.Heartbeat, 15*time.Second),
		Patience:    cmp.Or(l.Patience, 10*time.Second),
	}
}

func bound(n, otherwise int64) int64 {
	switch {
	case n == 0:
		return otherwise
	case n < 0:
		return 0
	}
	return n
}

// check returns what is wrong with the options.
func (o *Options) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("server: "+format, args...)) }
	if len(o.Apps) == 0 {
		bad("Options.Apps is empty: there is nothing to serve")
	}
	seen := map[string]bool{}
	for i, app := range o.Apps {
		key := session.Key{App: app.Name, User: "user", ID: "id"}
		switch {
		case key.Check(false) != nil:
			bad("Apps[%d].Name: %w", i, key.Check(false))
		case seen[app.Name]:
			bad("two apps are named %q", app.Name)
		case app.Runner == nil || app.Sessions == nil || app.Agent == nil:
			bad("app %q needs a Runner, and its Sessions and Agent", app.Name)
		}
		seen[app.Name] = true
	}
	if o.Chat.App != "" && !seen[o.Chat.App] {
		bad("Chat.App: there is no app %q", o.Chat.App)
	}
	if !o.Kit && (o.KitDev || o.Pages != nil) {
		bad("KitDev and Pages need Kit")
	}
	for _, origin := range o.Origins {
		if err := checkOrigin(origin); err != nil {
			bad("Origins: %w", err)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return errors.Join(errs...)
}
