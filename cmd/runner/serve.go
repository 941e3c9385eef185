package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/version"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/examples/demo/show"
	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/runner/hooklog"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/tokens"
	"github.com/plughook/plughook/session/memory"
)

// defaultAddr is where the server listens if nobody says where.
const defaultAddr = "127.0.0.1:8080"

// shutdownTime is how long runs that are under way may take when the server is told to end.
const shutdownTime = 20 * time.Second

func (p *program) serveCommand() *cobra.Command {
	var addr, tokenFile, hooks string
	demo := false
	var origins []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the configured agent over HTTP",
		Long: `Serve runs the configured agent for clients that send requests over HTTP.

    /                                       a page: sessions, what each plugin did and why, what waits
    POST /chat                              a message, answered by a stream of events
    /v1/apps/APP/sessions/…                 sessions, runs, events, approvals, rewind, artifacts
    /v1/openapi.json                        what there is, in the form of OpenAPI

A stream that breaks goes on where it was: its client sends the last id that it has seen. A run does
not end when its client leaves. Any number of servers may serve one store.

Only this machine can connect, unless --addr says otherwise; then callers must say who they are by a
token (--tokens, "runner serve token") or by a header of a proxy (server.user_header). The section
server: of the configuration has the same settings and more; flags come first.

Ctrl-C ends it in good order: streams are told, and runs have ` + shutdownTime.String() + ` to end.`,
		Example: `  runner serve --config runner.yaml --store sqlite:sessions.db
  curl -N -d '{"message":"Hello","session":"ada"}' localhost:8080/chat
  runner serve --demo                # then open http://127.0.0.1:8080/ in a browser`,
		Args: cli.Args(0, 0, "serve takes no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			if demo {
				return p.serveDemo(ctx, cmd, cmp.Or(addr, defaultAddr))
			}
			c, err := p.LoadConfig(ctx)
			if err != nil {
				return err
			}
			if hooks == "" && c.Hooks().Serve {
				hooks = coding.Socket()
			}
			err = c.CheckAgent(ctx)
			p.hooksOnly = hooks != "" && errors.Is(err, config.ErrNoAgent)
			if err != nil && !p.hooksOnly {
				return configError(c, err)
			}
			s := c.Server()
			s.Addr = cmp.Or(addr, s.Addr, defaultAddr)
			s.Tokens = cmp.Or(tokenFile, s.Tokens)
			s.Origins = append(s.Origins, origins...)
			return p.serve(ctx, c, s, hooks)
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "", "where to listen, `HOST:PORT` (default 127.0.0.1:8080)")
	f.StringVar(&tokenFile, "tokens", "", "a `file` of bearer tokens, which say who a caller is")
	f.StringVar(&hooks, "hooks", "", "answer hooks of coding agents, too, at this socket, a `file` (see \"runner hook\"; no agent is needed then)")
	f.BoolVar(&demo, "demo", false, "serve a demo: an agent and sessions that show what plugins do, without a key or a configuration")
	f.Lookup("hooks").NoOptDefVal = coding.Socket()
	f.StringArrayVar(&origins, "origin", nil,
		"an `origin` whose pages may use the server, such as https://chat.example.com; may be repeated")
	cmd.AddCommand(p.tokenCommand())
	return cmd
}

// serve serves a configuration until the program is told to end.
func (p *program) serve(ctx context.Context, c *config.Config, s config.Server, hooks string) (err error) {
	// Who are the callers?
	caller, err := p.callerOf(s)
	if err != nil {
		return exit.Usage.As(err)
	}
	if caller == nil && !onLoopback(s.Addr) {
		return exit.Usage.Errorf("%s can be reached from other machines, and nobody would have to say who they are: give --tokens FILE (\"runner serve token\" makes one), or server.user_header in the configuration", s.Addr)
	}

	// Go collects its garbage before the machine or the container has no memory left.
	if _, err := memlimit.Set(); err != nil {
		p.Log.Debug("how much memory the process may use is not known", "error", err)
	}

	// Listen first: an address that is taken costs nothing.
	listener, err := net.Listen("tcp", s.Addr)
	if err != nil {
		return exit.Usage.As(err)
	}
	defer listener.Close()
	p.Session = noSession
	p.keepsHooks = s.Page == nil && onLoopback(s.Addr) || s.Page != nil && *s.Page
	setup, err := p.setUp(ctx, c)
	if err != nil {
		return err
	}
	defer setup.finish(&err)
	if setup.inMemory {
		p.Note("no store is set: the sessions end with the server. Use --store sqlite:FILE or postgres://…")
	}
	o := server.Options{
		Apps: []server.App{{
			Name:      setup.key.App,
			Runner:    setup.local.runner,
			Artifacts: setup.local.Artifacts,
			State:     server.StateRule{Write: s.State.Write, Role: s.State.Role, Read: c.StateRead()},
		}},
		URL:     s.URL,
		Caller:  caller,
		Hosts:   s.Hosts,
		Origins: s.Origins,
		Chat:    server.Chat{Field: s.Chat.Field},
		Kit:     s.Kit,
		KitDev:  s.KitDev,
		Limits: server.Limits{
			Body:          int64(s.Limits.Body),
			Upload:        int64(s.Limits.Upload),
			Waiting:       s.Limits.Waiting,
			UserRuns:      s.Limits.UserRuns,
			Run:           s.Limits.Run,
			Streams:       s.Limits.Streams,
			UserStreams:   s.Limits.UserStreams,
			Memory:        int64(s.Limits.Memory),
			UserMemory:    int64(s.Limits.UserMemory),
			Requests:      s.Limits.Requests,
			UserRequests:  s.Limits.UserRequests,
			State:         int64(s.Limits.State),
			Session:       int64(s.Limits.Session),
			UserSessions:  int64(s.Limits.UserSessions),
			UserArtifacts: int64(s.Limits.UserArtifacts),
			Heartbeat:     s.Limits.Heartbeat,
			Patience:      s.Limits.Patience,
		},
		Log:     p.Log,
		Version: version.Get().Version,

		ResumeAfter: s.ResumeAfter,
	}
	for i, n := range s.Notify {
		secret, err := n.Secret()
		if err != nil {
			return exit.Usage.Errorf("server.notify[%d].secret_env: %w", i, err)
		}
		o.Notify = append(o.Notify, &server.Notify{
			URL: n.URL, Secret: secret, Command: n.Command, Dir: n.Dir, Env: n.Env, On: n.On,
		})
	}
	if p.keepsHooks {
		o.Page = &server.Page{Login: s.Tokens != "", Hooks: setup.local.calls.Of, Prices: c.Prices()}
		p.Note("the page is on http://%s/", listener.Addr())
	}
	if s.Pages != "" {
		if info, err := os.Stat(s.Pages); err != nil || !info.IsDir() {
			return exit.Usage.Errorf("server.pages: %s is no directory with the page's files", s.Pages)
		}
		o.Pages = http.Dir(s.Pages)
	}
	srv, err := server.New(o)
	if err != nil {
		return exit.Usage.As(err)
	}
	if s.Pages != "" {
		p.Note("the page %s is on http://%s/dev-ui/", s.Pages, listener.Addr())
	}
	if hooks != "" {
		stop, err := p.serveHooks(hooks, coding.Host{
			Runner:       setup.local.runner,
			Sessions:     setup.local.Sessions,
			App:          setup.key.App,
			User:         setup.key.User,
			AllowUnknown: c.Hooks().Unknown == "allow",
		})
		if err != nil {
			return exit.Usage.As(err)
		}
		defer stop()
	}
	return p.listen(ctx, listener, srv, setup.key.App, example(s))
}

// serveDemo serves the demo's agent, on sessions in memory.
func (p *program) serveDemo(ctx context.Context, cmd *cobra.Command, addr string) (err error) {
	for _, flag := range []string{"config", "store", "app", "user", "session", "tokens", "hooks", "origin"} {
		if cmd.Flags().Changed(flag) {
			return exit.Usage.Errorf("the demo takes no --%s: it has its own agent and sessions", flag)
		}
	}
	if !onLoopback(addr) {
		return exit.Usage.Errorf("the demo is for this machine: %s can be reached from others", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return exit.Usage.As(err)
	}
	defer listener.Close()
	store := memory.New()
	defer store.Close()
	calls := hooklog.New(hooklog.Options{})
	d := &show.Demo{Log: p.Log, NewRunner: p.NewRunner}
	r, closeRunner, err := d.Desk(ctx, store, calls.Trace)
	if err != nil {
		return exit.OfRun(err)
	}
	defer func() { err = errors.Join(err, closeRunner()) }()
	srv, err := server.New(server.Options{
		Apps:    []server.App{{Name: show.DeskApp, Runner: r, Artifacts: artifact.NewMemory()}},
		Page:    &server.Page{Hooks: calls.Of, Prices: show.DeskPrices()},
		Log:     p.Log,
		Version: version.Get().Version,
	})
	if err != nil {
		return exit.Other.As(err)
	}
	p.Note("open http://%s/ in a browser", listener.Addr())
	return p.listen(ctx, listener, srv, show.DeskApp, example(config.Server{}))
}

// serveHooks answers hooks of coding agents at a socket, until it is stopped.
func (p *program) serveHooks(socket string, h coding.Host) (stop func(), err error) {
	listener, err := coding.Listen(socket)
	if err != nil {
		return nil, fmt.Errorf("hooks of coding agents: %w", err)
	}
	srv := &http.Server{
		Handler:           h.Handler(p.Log),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       coding.Deadline,
		ErrorLog:          slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(listener) // it ends with Shutdown or Close
	}()
	p.Note("hooks of coding agents are answered at %s", socket)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
		<-ended
	}, nil
}

// example returns the beginning of a command that talks to the server.
func example(s config.Server) string {
	who := ""
	switch {
	case s.Tokens != "" || s.JWT.Issuer != "":
		who = ` -H "Authorization: Bearer $TOKEN"`
	case s.UserHeader != "":
		who = " -H '" + s.UserHeader + ": ada'"
	}
	return fmt.Sprintf(`curl -N%s -d '{"message":"Hello",%q:"1"}'`, who, cmp.Or(s.Chat.Field, "session"))
}

// listen serves until the context is done, and then ends in good order.
func (p *program) listen(ctx context.Context, listener net.Listener, srv *server.Server, app, example string) error {
	// What net/http logs may have lines of clients in it, such as broken headers: only -v shows it.
	h := &http.Server{
		Handler:           srv,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    128 << 10, // beyond half of it the server answers with 431 itself
		ErrorLog:          slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	base := "http://" + listener.Addr().String()
	p.Note("app %s is served on %s", app, base)
	p.Note("  %s %s/chat", example, base)
	p.Note("  %s/v1/openapi.json lists the routes; Ctrl-C ends the server", base)
	select {
	case err := <-ended:
		return exit.Other.As(err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	p.Note("the server ends; runs have %v to end", shutdownTime)
	srv.Shutdown(late)
	err := h.Shutdown(late)
	<-ended
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	return exit.Other.As(err)
}

// callerOf returns what says who a caller is, nil if nothing does.
func (p *program) callerOf(s config.Server) (func(*http.Request) (server.Caller, error), error) {
	switch {
	case (s.Tokens != "" || s.JWT.Issuer != "") && s.UserHeader != "":
		return nil, errors.New("tokens (--tokens, server.jwt) and server.user_header both say who a caller is: leave one of them out")
	case s.Tokens != "" || s.JWT.Issuer != "":
		var callers []func(*http.Request) (server.Caller, error)
		if s.Tokens != "" {
			file, err := tokens.Open(s.Tokens, p.Log)
			if err != nil {
				return nil, err
			}
			callers = append(callers, file.Caller)
		}
		if s.JWT.Issuer != "" {
			jwt, err := tokens.NewJWT(tokens.Issuer{
				URL: s.JWT.Issuer, Audience: s.JWT.Audience, Keys: s.JWT.Keys,
				User: s.JWT.User, Roles: s.JWT.Roles, AdminRole: s.JWT.AdminRole,
			}, p.Log)
			if err != nil {
				return nil, fmt.Errorf("server.jwt: %w", err)
			}
			callers = append(callers, jwt.Caller)
		}
		return tokens.Any(callers...), nil
	case s.UserHeader != "":
		return func(r *http.Request) (server.Caller, error) {
			users := r.Header.Values(s.UserHeader)
			if len(users) != 1 || users[0] == "" {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: users[0]}, nil
		}, nil
	}
	return nil, nil
}

// onLoopback reports whether only this machine reaches an address.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (p *program) tokenCommand() *cobra.Command {
	var apps, roles, behalf []string
	var admin bool
	var name string
	cmd := &cobra.Command{
		Use:   "token --user USER",
		Short: "Make a bearer token for runner serve --tokens",
		Long: `Token makes a token and prints it on standard output, and on standard error the lines that
let it in: add them to the file that --tokens names. The file has the token's SHA-256 sum, not the
token, which is shown only now. Who takes the lines out of the file ends the token.`,
		Example: `  echo tokens: >tokens.yaml        # once
  runner serve token --user ada --allow weather >ada.token 2>>tokens.yaml`,
		Args: cli.Args(0, 0, "token takes no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if p.User == "" {
				return exit.Usage.Errorf("whose token? Name the user with --user")
			}
			token, sum := tokens.New()
			lines := []string{"  - sha256: " + sum, "    user: " + strconv.Quote(p.User)}
			list := func(key string, names []string) {
				var quoted []string
				for _, name := range names {
					quoted = append(quoted, strconv.Quote(name))
				}
				if len(names) > 0 {
					lines = append(lines, "    "+key+": ["+strings.Join(quoted, ", ")+"]")
				}
			}
			list("apps", apps)
			list("roles", roles)
			list("on_behalf_of", behalf)
			if admin {
				lines = append(lines, "    admin: true")
			}
			if name != "" {
				lines = append(lines, "    name: "+strconv.Quote(name))
			}
			fmt.Fprintln(p.Err, strings.Join(lines, "\n"))
			_, err := fmt.Fprintln(p.Out, token)
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&apps, "allow", nil, "an `app` that the token reaches; may be repeated (default all)")
	f.StringArrayVar(&roles, "role", nil, "a `role` of the token, which answers calls that wait for it; may be repeated")
	f.StringArrayVar(&behalf, "on-behalf-of", nil,
		"a `user`, or the beginning of names and a \"*\", whom a service's token may act for; may be repeated")
	f.BoolVar(&admin, "admin", false,
		"the token reaches the sessions of any user, may delete their data, and write all state")
	f.StringVar(&name, "name", "", "what people call the token")
	return cmd
}
