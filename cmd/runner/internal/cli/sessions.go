package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// OpenKept opens the store that a command about kept sessions works on: that of --store, or of the
// configuration. One in memory keeps nothing, and is an error.
func (p *Program) OpenKept(ctx context.Context,
	create bool) (session.Service, *config.Config, error) {
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	if where := cmp.Or(p.StoreName, c.Store()); where == "memory" || where == "memory:" {
		return nil, nil, exit.Usage.Errorf("no store is set, so no session was kept; name one with --store sqlite:FILE or --store postgres://…")
	}
	svc, err := c.OpenStore(ctx, config.Options{Store: p.StoreName}, create)
	if err != nil {
		return nil, nil, exit.OfConfig(err)
	}
	return svc, c, nil
}

// CloseStore closes a store at the end of a command, and sets *err to what goes wrong if it is nil.
func CloseStore(svc session.Service, err *error) {
	e := svc.Close()
	if *err == nil {
		*err = exit.Store.As(e)
	}
}

// WithStore opens the store as OpenKept does, calls do, and closes the store.
func (p *Program) WithStore(ctx context.Context, create bool,
	do func(session.Service, *config.Config) error) (err error) {
	svc, c, err := p.OpenKept(ctx, create)
	if err != nil {
		return err
	}
	defer CloseStore(svc, &err)
	return do(svc, c)
}

// WithSession is WithStore for a command that works on one session: that of its argument or of --session.
func (p *Program) WithSession(ctx context.Context, args []string,
	do func(svc session.Service, c *config.Config, key session.Key) error) error {
	return p.WithStore(ctx, false, func(svc session.Service, c *config.Config) error {
		keys, err := p.Find(ctx, svc, args)
		if err != nil {
			return err
		}
		return do(svc, c, keys[0])
	})
}

// A KeyLine is a session's key in the output for programs.
type KeyLine struct {
	App  string `json:"appName"`
	User string `json:"userId"`
	ID   string `json:"id"`
}

// Selects reports whether --app, --user and --session leave a session in.
func (p *Program) Selects(key session.Key) bool {
	return (p.App == "" || p.App == key.App) &&
		(p.User == "" || p.User == key.User) &&
		(p.Session == "" || p.Session == key.ID)
}

// Sessions returns the sessions that --app, --user and --session leave in, in the order of their
// creation.
func (p *Program) Sessions(ctx context.Context, svc session.Service) ([]*session.Session, error) {
	user := p.User
	if p.App == "" {
		user = "" // the store looks for users within an app
	}
	var list []*session.Session
	for s, err := range svc.List(ctx, p.App, user) {
		if err != nil {
			return nil, exit.Store.As(err)
		}
		if p.Selects(s.Key) {
			list = append(list, s)
		}
	}
	return list, nil
}

// Find returns the keys of the sessions with these ids. Without ids it is the one of --session.
func (p *Program) Find(ctx context.Context, svc session.Service,
	ids []string) ([]session.Key, error) {
	if len(ids) == 0 && p.Session != "" {
		ids = []string{p.Session}
	}
	p.Session = ""
	if len(ids) == 0 {
		return nil, p.whichSession(ctx, svc)
	}
	keys := make([]session.Key, len(ids))
	if p.App != "" && p.User != "" { // the flags say all of the key
		for i, id := range ids {
			keys[i] = session.Key{App: p.App, User: p.User, ID: id}
		}
		return keys, nil
	}
	all, err := p.Sessions(ctx, svc)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		var has []string
		for _, s := range all {
			if s.ID == id {
				keys[i] = s.Key
				has = append(has, s.Key.String())
			}
		}
		switch len(has) {
		case 0:
			return nil, exit.Store.Errorf("session %s: %w (runner session list shows what there is)", id,
				session.ErrNotFound)
		case 1:
		default:
			return nil, exit.Usage.Errorf("%d sessions have the id %s: %s; say which with --app and --user",
				len(has), id, strings.Join(has, ", "))
		}
	}
	return keys, nil
}

// whichSession is the error where a command names no session. It offers the one that was used last.
func (p *Program) whichSession(ctx context.Context, svc session.Service) error {
	list, err := p.Sessions(ctx, svc)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return exit.Usage.Errorf("which session? There is none in the store")
	}
	newest := slices.MaxFunc(list, func(a, b *session.Session) int { return a.Updated.Compare(b.Updated) })
	return exit.Usage.Errorf("which session? Give its id; the newest is %s, of %s (runner session list shows all)",
		eventtext.Printable(newest.ID), eventtext.Printable(newest.App+"/"+newest.User))
}

// CompleteIDs completes ids of kept sessions in a shell. A command that takes one id completes one.
func (p *Program) CompleteIDs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if most > 0 && len(args) >= most {
			return nil, nothing
		}
		// A shell that completes has nowhere to show an error.
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		svc, _, err := p.OpenKept(ctx, false)
		if err != nil {
			return nil, nothing
		}
		defer func() { _ = svc.Close() }()
		list, err := p.Sessions(ctx, svc)
		if err != nil {
			return nil, nothing
		}
		var found []string
		for _, s := range list {
			if strings.HasPrefix(s.ID, typed) && !slices.Contains(args, s.ID) {
				found = append(found, cobra.CompletionWithDesc(eventtext.Printable(s.ID),
					eventtext.Printable(fmt.Sprintf("%s/%s, %s", s.App, s.User, phrase.Count(int(s.Position), "event")))))
			}
		}
		return found, nothing
	}
}

// A Command is a session command that is carried out on a kept session, without an agent.
type Command struct {
	Sessions session.Service
	Config   *config.Config
	Key      session.Key
	Command  session.Command
	// Plugins returns the plugins of the run, made of those of the configuration.
	Plugins func(configured []*plugin.Plugin) ([]*plugin.Plugin, error)
	// Note is called with each event of the run.
	Note func(*session.Event)
}

// CarryOut carries out a command under plugins. With --jsonl it prints the events of the run. A
// denial is an error.
func (p *Program) CarryOut(ctx context.Context, c Command) (err error) {
	parts, err := c.Config.Open(ctx, config.Options{Log: p.Log, Sessions: c.Sessions, NoAgent: true})
	if err != nil {
		return exit.OfConfig(err)
	}
	defer func() { err = errors.Join(err, exit.OfConfig(parts.Close(ctx))) }()
	plugins, err := c.Plugins(parts.Plugins)
	if err != nil {
		return err
	}
	nobody := agent.New("nobody", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("a command has no answer")) }
	})
	r, closeRunner, err := p.NewRunner(ctx, runner.Options{
		Agent:    nobody,
		Sessions: c.Sessions,
		Plugins:  plugins,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRunner()) }()
	var result exit.Result
	for e, err := range r.Run(ctx, c.Key, c.Command.Event(), session.RunConfig{}) {
		if err != nil {
			return exit.OfRun(err)
		}
		result.Note(e)
		c.Note(e)
		if p.JSONL {
			if err := p.WriteJSON(e); err != nil {
				return err
			}
		}
	}
	return result.Err()
}
