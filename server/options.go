package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/notify"
	"github.com/plughook/plughook/server/internal/page"
	"github.com/plughook/plughook/session"
)

// Options say what a Server serves. Apps is needed.
type Options struct {
	// Apps are served. The server closes none of their parts.
	Apps []App
	// Caller says who sends a request, by a token, a cookie of an own login, or a header that a proxy sets.
	// An error that is ErrUnauthorized is answered with status 401; every other with 500. While a stream is
	// open, it is asked again after each Limits.Heartbeat: the stream ends if the answer is ErrUnauthorized,
	// or another user. It does not read the request's body. nil: everybody is let in, from this machine only.
	Caller func(*http.Request) (Caller, error)
	// Hosts are the names (without port) by which clients reach the server, beside the address that they
	// connect to. On a loopback address its names are allowed too.
	Hosts []string
	// Origins are the origins, such as "https://chat.example.com", whose pages may send requests.
	Origins []string
	// Chat says what POST /chat is.
	Chat Chat
	// Kit serves the routes of the Agent Development Kit, for its web page and its clients; see
	// docs/adk-web.md.
	Kit bool
	// KitDev serves that kit's routes for developers as well: traces and graphs. It needs Kit.
	KitDev bool
	// Pages are the files of that kit's web page, served under /dev-ui/; nil serves none. They need Kit.
	Pages http.FileSystem
	// Page is the page at /, for people with a browser: sessions, what plugins did and why, what waits. nil serves none.
	Page   *Page
	Limits Limits
	// ResumeAfter has the server go on with runs that were cut off, since their server died or could not reach
	// the store: after this time, and for an hour. 0 leaves that to the clients, who send the input again. Any
	// number of servers on one store may have it. Tools may be called again that were under way.
	ResumeAfter time.Duration
	// Notify are told of each run that ends, fails or waits, at least once, also if this server dies: the store
	// keeps what is to be told. Of two messages with one ID the second is the first again.
	Notify []*Notify
	// Log takes what clients are not told, such as why a run failed. No record has content of events. nil
	// logs nothing.
	Log *slog.Logger
	// URL is where clients reach the server, such as "https://agents.example.com": the cards that tell other
	// agents of the apps name it. If it is empty, they name the address that the request has reached.
	URL string
	// Version is told by the route /version.
	Version string
}

// An App is one runner that is served. Its agent, sessions and plugins are those of the runner.
type App = apps.App

// A StateRule says which keys of a session's state callers may write.
type StateRule = apps.StateRule

// A Caller is who sends a request.
type Caller = apps.Caller

// Limits bound what clients may take. A 0 is the default, which the table in docs/server.md says; a negative number is
// no bound.
type Limits = limits.Limits

// A Page is what the page at / shows beside the sessions. Caller is that of Options.
type Page = page.Options

// A Notify is an address or a command that is told how runs end.
type Notify = notify.Target

// ErrUnauthorized says that it is not known who sends a request.
var ErrUnauthorized = errors.New("unauthorized")

// Chat is the route POST /chat: a message and the session that it belongs to, in one JSON object.
type Chat struct {
	// App is the app that answers; the first one if it is empty.
	App string
	// Field is the field that names the session, "session" if it is empty.
	Field string
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
		case app.Runner == nil:
			bad("app %q has no Runner", app.Name)
		case len(o.Notify) > 0:
			if _, can := app.Sessions().(session.NoticeKeeper); !can {
				bad("app %q: its store is no session.NoticeKeeper, so nobody can be told of its runs", app.Name)
			}
		}
		seen[app.Name] = true
	}
	if o.Chat.App != "" && !seen[o.Chat.App] {
		bad("Chat.App: there is no app %q", o.Chat.App)
	}
	for i, n := range o.Notify {
		if err := n.Check(); err != nil {
			bad("Notify[%d]: %w", i, err)
		}
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
