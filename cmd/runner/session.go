package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/session"
)

func (p *program) sessionCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "session",
		Short: "List, show, rewind, fork, export, import and delete kept sessions",
		Long: `These commands work on the store that --store or the configuration names. A session is named by its
id; where two apps or users have sessions of one id, --app and --user say whose is meant.`,
	}, p.listCommand(), p.showCommand(), p.rewindCommand(), p.forkCommand(), p.exportCommand(), p.importCommand(), p.deleteCommand())
}

// names reports whether the flags leave a session in.
func (p *program) names(key session.Key) bool {
	return (p.app == "" || p.app == key.App) && (p.user == "" || p.user == key.User) && (p.session == "" || p.session == key.ID)
}

// all returns the sessions that the flags leave in, in the order of their creation.
func (p *program) all(ctx context.Context, svc session.Service) ([]*session.Session, error) {
	var list []*session.Session
	user := p.user
	if p.app == "" {
		user = "" // the store looks for users within an app
	}
	for s, err := range svc.List(ctx, p.app, user) {
		if err != nil {
			return nil, exitStore.as(err)
		}
		if p.names(s.Key) {
			list = append(list, s)
		}
	}
	return list, nil
}

// find returns the keys of the sessions with these ids.
func (p *program) find(ctx context.Context, svc session.Service, ids []string) ([]session.Key, error) {
	if len(ids) == 0 && p.session != "" {
		ids = []string{p.session}
	}
	p.session = ""
	if len(ids) == 0 {
		return nil, exitUsage.errorf("no session is named; give the id of one (runner session list shows them)")
	}
	var all []*session.Session
	if p.app == "" || p.user == "" {
		var err error
		if all, err = p.all(ctx, svc); err != nil {
			return nil, err
		}
	}
	keys := make([]session.Key, len(ids))
	for i, id := range ids {
		keys[i] = session.Key{App: p.app, User: p.user, ID: id}
		if p.app != "" && p.user != "" {
			continue
		}
		var has []string
		for _, s := range all {
			if s.ID == id {
				keys[i] = s.Key
				has = append(has, s.Key.String())
			}
		}
		switch len(has) {
		case 0:
			return nil, exitStore.errorf("session %s: %w (runner session list shows what there is)", id, session.ErrNotFound)
		case 1:
		default:
			return nil, exitUsage.errorf("%d sessions have the id %s: %s; say which with --app and --user", len(has), id, strings.Join(has, ", "))
		}
	}
	return keys, nil
}

func (p *program) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List sessions in the order of their creation", Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			svc, _, err := p.kept(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			list, err := p.all(cmd.Context(), svc)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			if !p.jsonl {
				fmt.Fprintln(w, "APP\tUSER\tSESSION\tEVENTS\tCREATED\tUPDATED")
			}
			for _, s := range list {
				if !p.jsonl {
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.App, s.User, s.ID, s.Position, s.Created.UTC().Format(time.DateTime), s.Updated.UTC().Format(time.DateTime))
				} else if err := p.writeJSON(listed{s.App, s.User, s.ID, s.Position, s.Created.UTC(), s.Updated.UTC()}); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
}

// listed is a session's line in list --jsonl.
type listed struct {
	App     string    `json:"appName"`
	User    string    `json:"userId"`
	ID      string    `json:"id"`
	Events  int64     `json:"events"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}
