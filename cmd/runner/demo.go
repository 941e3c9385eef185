package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/examples/demo/show"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

func (p *program) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show conversations under plugins, offline",
		Args:  cli.NoArgs,
		Long: `Show a conversation under three plugins: one ends a run early, one enforces a
policy, one observes. Then show a longer one under two: one puts a summary in place of its older
part, one takes back its end. The demo needs no key and no network. Its sessions are kept in a
temporary SQLite file, which is opened again in between.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"config", "store", "app", "user", "session", "jsonl"} {
				if cmd.Flags().Changed(flag) {
					return exit.Usage.Errorf("the demo takes no --%s: it has its own configuration and store", flag)
				}
			}
			return p.demo(cmd.Context())
		},
	}
}

func (p *program) demo(ctx context.Context) error {
	d := &show.Demo{
		Out:       p.Out,
		Bold:      p.Style().Bold,
		Log:       p.Log,
		Store:     show.Store{Name: "the SQLite file", Open: openSQLite},
		NewRunner: p.NewRunner,
	}
	err := d.Run(ctx)
	var broken *show.BrokenError
	if errors.As(err, &broken) {
		return exit.Other.As(err)
	}
	return exit.OfRun(err)
}

func openSQLite(ctx context.Context, dir string) (session.Service, func() error, error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "demo.db"))
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}
