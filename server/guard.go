package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/page"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// guard lets requests in, before any route sees them.
type guard struct {
	caller  func(*http.Request) (Caller, error)
	hosts   []string
	origins []string
	cross   *http.CrossOriginProtection
	page    bool // people with a browser are served
	login   bool // a cookie may have their token
	core    *web.Core
	next    http.Handler
}

// checkOrigin returns an error if the text is no origin: scheme, host and perhaps a port, and nothing else.
func checkOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.Scheme+"://"+u.Host != text {
		return fmt.Errorf("%q is no origin, such as https://chat.example.com", text)
	}
	return nil
}

func newGuard(o Options, core *web.Core, next http.Handler) (*guard, error) {
	g := &guard{
		caller:  o.Caller,
		hosts:   o.Hosts,
		origins: o.Origins,
		cross:   http.NewCrossOriginProtection(),
		page:    o.Page != nil,
		login:   o.Page != nil && o.Page.Login,
		core:    core,
		next:    next,
	}
	for _, origin := range o.Origins {
		if err := g.cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("server: Origins: %w", err)
		}
	}
	return g, nil
}

// ServeHTTP checks a request, says who sends it, and hands it on.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A panic of a route ends its request and is told to the log: a stack, without the panic's value, which
	// may be content.
	defer func() {
		if what := recover(); what != nil {
			if what == http.ErrAbortHandler {
				panic(what)
			}
			g.core.Log.ErrorContext(r.Context(), "a route panicked", "method", r.Method, "route",
				r.Pattern, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler)
		}
	}()
	r = r.WithContext(telemetry.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	w = web.Patient(w, g.core.Limits.Patience)
	if tooLong(r) {
		g.core.Fail(w, r, headerTooLarge)
		return
	}
	if err := g.check(w, r); err != nil {
		g.core.Fail(w, r, err)
		return
	}
	// Before a browser sends a request with a token or JSON to another origin, it asks whether it may (a CORS
	// preflight).
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	who := Caller{}
	if g.login {
		page.Token(r)
	}
	if g.caller != nil && !g.open(r) {
		var err error
		who, err = g.caller(r)
		switch {
		case g.page && page.Owns(r) && !known(who, err):
			http.Redirect(w, r, page.LoginPath(r), http.StatusSeeOther)
			return
		case !known(who, err):
			g.core.Fail(w, r, unauthorized)
			return
		case err != nil:
			g.core.Fail(w, r, fmt.Errorf("who sends the request could not be found out: %w", err))
			return
		}
	}
	if g.caller == nil {
		who.Admin = true
		who.Roles = []string{session.AnyRole}
	}
	var hold *limits.Hold
	if !g.open(r) {
		var err error
		if hold, err = g.core.Budget.Request(who.Budget()); err != nil {
			g.core.Fail(w, r, err)
			return
		}
		defer hold.Release()
	}
	g.next.ServeHTTP(w, g.core.WithCaller(r, who, hold, func() bool { return g.still(r, who) }))
}

// still reports whether a request would still be let in, as the same caller. It is true if Options.Caller
// fails: a stream goes on while the list of tokens cannot be read.
func (g *guard) still(r *http.Request, was Caller) bool {
	if g.caller == nil {
		return true
	}
	now, err := g.caller(r)
	if err != nil {
		return !errors.Is(err, ErrUnauthorized)
	}
	all := now.Apps == nil || was.Apps != nil && !slices.ContainsFunc(was.Apps, func(app string) bool {
		return !slices.Contains(now.Apps, app)
	})
	return now.User == was.User && all && (now.Admin || !was.Admin) && slices.Equal(now.OnBehalfOf, was.OnBehalfOf)
}

// headerBytes is how many bytes the URL and the header of a request may have. An http.Server refuses longer ones,
// too, but not as JSON.
const headerBytes = 64 << 10

var headerTooLarge = web.NewProblem(http.StatusRequestHeaderFieldsTooLarge, "header_too_large",
	fmt.Sprintf("the request's URL and header have more than %d bytes", headerBytes))

func tooLong(r *http.Request) bool {
	n := len(r.RequestURI)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + 4
		}
	}
	return n > headerBytes
}

// unauthorized is the answer to a request whose sender is not known.
var unauthorized = web.NewProblem(
	http.StatusUnauthorized,
	"unauthorized",
	"the server does not know who you are: log in, or send a token that is valid here as Authorization: Bearer TOKEN",
)

// known reports whether what Options.Caller has returned names somebody, or a failure that is not theirs.
func known(who Caller, err error) bool {
	return !errors.Is(err, ErrUnauthorized) && (err != nil || who.User != "" || who.AnyUser)
}

// open reports whether a request is let in without a caller: it asks whether the server lives, or how to log in, and for
// no user's data.
func (g *guard) open(r *http.Request) bool {
	return g.page && page.Open(r) || r.Method == http.MethodGet && (r.URL.Path == "/health" || r.URL.Path == "/ready")
}

// check refuses requests that came by a name that is not the server's, or from a page of another origin.
func (g *guard) check(w http.ResponseWriter, r *http.Request) error {
	forbidden := func(message string) error {
		return web.NewProblem(http.StatusForbidden, "forbidden", message)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	loopback := local != nil && isLoopback(local.String())
	if !loopback && g.caller == nil && local != nil {
		return forbidden("this server does not know who its callers are, and serves this machine only")
	}

	// A page that was loaded from another name than the server's may have made that name point here.
	host := hostname(r.Host)
	switch {
	case host == "" || strings.Contains(r.Host, ","):
		return forbidden("the header Host is missing or has several values")
	case slices.Contains(g.hosts, host):
	case loopback && !isLoopback(host) && host != "localhost" && !strings.HasSuffix(host, ".localhost"):
		return forbidden("the header Host names a host that is not this one; if it is one of this " +
			"server's names, add it to the server's hosts")
	}

	// A page of another origin may neither change nor read anything, but for the origins that are allowed.
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if slices.Contains(g.origins, origin) && origin != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, A2A-Version")
		h.Set("Access-Control-Max-Age", "600")
		return nil
	}
	if origin != "" && !sameOrigin(origin, r.Host) {
		return forbidden("pages of this origin may not use this server; see its option for origins")
	}
	if err := g.cross.Check(r); err != nil {
		return forbidden("a page of another origin has sent this request")
	}
	return nil
}

// sameOrigin reports whether a page's origin is the host that the request was sent to.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// hostname returns a host without its port.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return strings.ToLower(host)
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

func isLoopback(hostport string) bool {
	ip := net.ParseIP(hostname(hostport))
	return ip != nil && ip.IsLoopback()
}
