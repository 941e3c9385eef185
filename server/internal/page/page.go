// Package page is the page at / of the server, for people with a browser: sessions, what each plugin did to an event and why,
// what waits for a yes, a chat.
//
// It translates and holds no rule of its own: what may be done to a session is an operation of package sessions, as for the
// other surfaces; what is told of a log is package timeline's. The server renders whole pages, which are complete without a
// script. static/page.js renews them, streams and adds keys. Texts of models are never HTML: html/template escapes them, and
// package visible names the characters that are not seen.
//
// A new page: a handler in the file of its noun, with a line in Register, and a template in html.
package page

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Options say what the page shows beside the sessions. The zero Options are ready.
type Options struct {
	// Login says that callers send bearer tokens: who is not known is asked for one by a form, and a cookie keeps it.
	Login bool
	// Hooks returns the hook calls that were kept of a session; nil if none are.
	Hooks func(context.Context, session.Key) ([]session.HookRecord, error)
	// Prices are what tokens cost; nil is prices.Default.
	Prices *prices.Table
	// Caller says who sends a request, as that of the server. The login form asks it.
	Caller func(*http.Request) (apps.Caller, error)
}

//go:embed html static
var files embed.FS

// templates parses the templates when the first page is asked for: most runs of the program show none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "html/*.html"))
})

// page is what the handlers are methods of.
type page struct {
	sessions.Service
	Options
	sums sumCache
	wait waitCount
}

// A request is one for a page.
type request struct {
	*http.Request
	w   http.ResponseWriter
	app *apps.App   // that the path names, nil if it names none
	key session.Key // of the session that the path names
}

// A view is what a template is rendered with.
type view struct {
	Template string
	Title    string
	Nav      string
	Who      string
	Login    bool
	Admin    bool
	Narrow   bool
	Waiting  int
	Status   int
	Follow   string // where the events of the session are followed
	Data     any
}

// A redirect is an answer: go there.
type redirect string

// Register adds the page to a mux.
func Register(mux *http.ServeMux, core *web.Core, o Options) {
	if o.Prices == nil {
		o.Prices = prices.Default()
	}
	x := &page{Service: sessions.Service{Core: core}, Options: o}
	mux.HandleFunc("GET /page.css", x.file("static/page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /page.js", x.file("static/page.js", "text/javascript; charset=utf-8"))
	for pattern, h := range map[string]func(*request) (any, error){
		"GET /{$}":                                x.list,
		"GET /s/{app}/{user}/{session}":           x.session,
		"GET /s/{app}/{user}/{session}/e/{event}": x.event,
		"GET /new":                                x.newChat,
		"POST /new":                               x.newChat,
		"GET /chat/{app}/{user}/{session}":        x.chat,
		"POST /chat/{app}/{user}/{session}":       x.say,
		"POST /chat/{app}/{user}/{session}/stop":  x.stop,
		"GET /s/{app}/{user}/{session}/rewind":    x.rewind,
		"POST /s/{app}/{user}/{session}/rewind":   x.posted(x.rewind),
		"GET /s/{app}/{user}/{session}/compact":   x.compact,
		"POST /s/{app}/{user}/{session}/compact":  x.posted(x.compact),
		"GET /s/{app}/{user}/{session}/fork":      x.fork,
		"POST /s/{app}/{user}/{session}/fork":     x.posted(x.fork),
		"GET /policy":                             x.policy,
		"POST /policy":                            x.posted(x.policy),
		"GET /waiting":                            x.waiting,
		"POST /waiting":                           x.answer,
		"GET /login":                              x.login,
		"POST /login":                             x.login,
		"POST /logout":                            x.logout,
	} {
		mux.HandleFunc(pattern, x.handle(h))
	}
}

// Owns reports whether a request is one for the page, and not for a route of a protocol.
func Owns(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "", "s", "new", "waiting", "policy", "login", "logout", "page.css", "page.js":
		return true
	case "chat":
		return r.URL.Path != "/chat"
	}
	return false
}

// Open reports whether a request is let in without a caller: what the login form needs.
func Open(r *http.Request) bool {
	return r.URL.Path == "/login" || r.URL.Path == "/page.css" || r.URL.Path == "/page.js"
}

// contentPolicy lets the page load its own two files and nothing else, and nobody frame it.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func header(w http.ResponseWriter, kind string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (x *page) file(name, kind string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		header(w, kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(data) // a client that has left is told nothing
	}
}

// handle answers with what a handler returns: a page, or where to go. It returns nil if it has answered itself.
func (x *page) handle(h func(*request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w}
		err := x.find(q)
		var answer any
		if err == nil {
			answer, err = h(q)
		}
		if err != nil {
			answer = x.problem(q, err)
		}
		switch answer := answer.(type) {
		case redirect:
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, string(answer), http.StatusSeeOther)
		case *view:
			x.render(q, answer)
		}
	}
}

// posted reads the form before a handler is called.
func (x *page) posted(h func(*request) (any, error)) func(*request) (any, error) {
	return func(q *request) (any, error) {
		if err := x.form(q); err != nil {
			return nil, err
		}
		return h(q)
	}
}

// find finds the app and the session that a path names.
func (x *page) find(q *request) (err error) {
	if name := q.PathValue("app"); name != "" {
		if q.app, err = x.App(q.Request, name); err != nil {
			return err
		}
	}
	if id := q.PathValue("session"); id != "" {
		q.key, err = x.Key(q.Request, q.app, q.PathValue("user"), id, false)
	}
	return err
}

// problem is the page about an error.
func (x *page) problem(q *request, err error) *view {
	p := x.Noted(q.Request, err)
	return &view{Template: "problem", Title: "Not shown", Status: p.Status, Narrow: true, Data: p}
}

func (x *page) render(q *request, v *view) {
	who := web.CallerOf(q.Request)
	v.Login = x.Login && (who.User != "" || who.AnyUser)
	v.Admin = who.Admin
	v.Who = who.User
	if who.Admin && who.User != "" {
		v.Who += ", admin"
	}
	if v.Template != "login" {
		v.Waiting = x.waitingCount(q)
	}
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, v.Template, v); err != nil {
		x.Log.ErrorContext(q.Context(), "a page was not rendered", "page", v.Template, "error", err)
		http.Error(q.w, "The page could not be made; the server's log says why.", http.StatusInternalServerError)
		return
	}
	header(q.w, "text/html; charset=utf-8")
	q.w.WriteHeader(cmp.Or(v.Status, http.StatusOK))
	_, _ = q.w.Write(b.Bytes()) // a client that has left is told nothing
}

// pathOf returns the address of a session's page, below a root such as "/s".
func pathOf(root string, key session.Key) string {
	return root + "/" + url.PathEscape(key.App) + "/" + url.PathEscape(key.User) + "/" + url.PathEscape(key.ID)
}

// with returns an address with some parameters changed; an empty value takes one away.
func with(u *url.URL, pairs ...string) string {
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Del(pairs[i])
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + q.Encode()
}

// params writes parameters of an address.
func params(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

// followed is where the server's own route streams a session's events behind a position.
func followed(key session.Key) string {
	return "/v1/apps/" + url.PathEscape(key.App) + "/sessions/" + url.PathEscape(key.ID) + "/events?follow=1&user=" +
		url.QueryEscape(key.User)
}

// now is the time that ages are told from.
func now() time.Time { return time.Now() }
