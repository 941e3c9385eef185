package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

func (p *program) deleteCommand() *cobra.Command {
	everything := false
	cmd := &cobra.Command{
		Use: "delete ID… | --all", Short: "Delete sessions, their events and their artifacts", Args: arguments(cobra.ArbitraryArgs),
		Long: `Delete sessions, their events, and the artifacts that they have where the configuration's artifacts: keeps
them: files that were sent with a message, and what tools have saved. What belongs to their app and user
stays: state, and artifacts whose names begin with "user:". --all deletes every session that --app and
--user leave in.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			svc, c, err := p.kept(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			files, closeFiles, err := c.artifacts()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeFiles()) }()
			var keys []session.Key
			switch {
			case everything && (len(args) > 0 || p.session != ""):
				return exitUsage.errorf("--all and the id of a session exclude each other")
			case everything:
				all, err := p.all(cmd.Context(), svc)
				if err != nil {
					return err
				}
				for _, s := range all {
					keys = append(keys, s.Key)
				}
			default:
				if keys, err = p.find(cmd.Context(), svc, args); err != nil {
					return err
				}
			}
			for _, key := range keys {
				if err := p.deleteSession(cmd.Context(), svc, files, key); err != nil {
					return exitStore.as(err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "delete every session that --app and --user leave in")
	return cmd
}

// deleteSession deletes a session's artifacts, if there is a store of such, and then the session: one whose
// deletion was cut short is still there, and is deleted again.
func (p *program) deleteSession(ctx context.Context, svc session.Service, files artifact.Service, key session.Key) error {
	if _, err := svc.Get(ctx, key); err != nil {
		return err
	}
	deleted := 0
	if files != nil {
		names, err := files.List(ctx, key)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, artifact.UserPrefix) {
				continue
			}
			if err := files.Delete(ctx, key, name); err != nil {
				return err
			}
			deleted++
		}
	}
	if err := svc.Delete(ctx, key); err != nil {
		return err
	}
	if deleted > 0 {
		p.note("deleted %s and its artifacts (%d)", key, deleted)
	} else {
		p.note("deleted %s", key)
	}
	return nil
}
