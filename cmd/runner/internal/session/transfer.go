package session

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/session"
)

func (p *commands) exportCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "export [ID…]",
		Short: "Write sessions as JSON Lines",
		Long: `Write sessions to standard output as a session file: a line with the session, then a
line for each event of its whole log. With --all every session is written, in the order of
creation; --app and --user narrow that.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if all && len(args) > 0 {
				return exit.Usage.Errorf("--all and ids exclude each other")
			}
			svc, _, err := p.OpenKept(ctx, false)
			if err != nil {
				return err
			}
			defer cli.CloseStore(svc, &err)
			keys, err := p.chosen(ctx, svc, all, args)
			if err != nil {
				return err
			}
			bar := p.Progress("export", len(keys))
			defer bar.End()
			for _, key := range keys {
				if err := session.Export(ctx, svc, key, p.Out); err != nil {
					var out *terminal.OutputError
					if errors.As(err, &out) {
						return exit.Other.As(err)
					}
					return exit.Store.As(err)
				}
				bar.Add()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every session")
	return cmd
}

// chosen returns the keys that ids name, or all.
func (p *commands) chosen(ctx context.Context, svc session.Service, all bool,
	ids []string) ([]session.Key, error) {
	if !all {
		return p.Find(ctx, svc, ids)
	}
	list, err := p.Sessions(ctx, svc)
	if err != nil {
		return nil, err
	}
	keys := make([]session.Key, len(list))
	for i, s := range list {
		keys[i] = s.Key
	}
	return keys, nil
}
