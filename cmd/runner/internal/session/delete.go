package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/session"
)

func (p *commands) deleteCommand() *cobra.Command {
	everything := false
	yes := false
	dry := false
	cmd := &cobra.Command{
		Use:   "delete ID… | --all",
		Short: "Delete sessions, their events and their artifacts",
		Args:  cobra.ArbitraryArgs,
		Long: `Delete sessions, their events and their artifacts: files that were sent with a
message, and files that tools have saved, in the store that artifacts: of the configuration names.
What belongs to the app or the user stays: state, and artifacts whose names begin with "user:".
--all deletes every session that --app and --user leave in. On a terminal it asks first; elsewhere
it needs --yes. --dry-run says what would be deleted, and deletes nothing.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			svc, c, err := p.OpenKept(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer cli.CloseStore(svc, &err)
			files, closeFiles, err := c.OpenArtifacts()
			if err != nil {
				return exit.OfConfig(err)
			}
			defer func() { err = errors.Join(err, closeFiles()) }()
			var keys []session.Key
			switch {
			case everything && (len(args) > 0 || p.Session != ""):
				return exit.Usage.Errorf("--all and the id of a session exclude each other")
			case everything:
				all, err := p.Sessions(cmd.Context(), svc)
				if err != nil {
					return err
				}
				for _, s := range all {
					keys = append(keys, s.Key)
				}
			default:
				if keys, err = p.Find(cmd.Context(), svc, args); err != nil {
					return err
				}
			}
			if dry {
				for _, key := range keys {
					s, err := svc.Get(cmd.Context(), key)
					if err != nil {
						return exit.Store.As(err)
					}
					p.Note("would delete %s (%s)", key, phrase.Count(int(s.Position), "event"))
				}
				return nil
			}
			if everything && !yes && len(keys) > 0 {
				if err := p.askToDelete(cmd.Context(), len(keys)); err != nil {
					return err
				}
			}
			for _, key := range keys {
				if err := p.deleteSession(cmd.Context(), svc, files, key); err != nil {
					return exit.Store.As(err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false,
		"delete every session that --app and --user leave in")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --all: delete without asking")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be deleted, and delete nothing")
	return cmd
}

// askToDelete asks the person whether so many sessions are to go. It is an error unless they say so, and
// where nobody can be asked.
func (p *commands) askToDelete(ctx context.Context, sessions int) error {
	what := phrase.Count(sessions, "session")
	if !terminal.Is(p.Stdin) {
		return exit.Usage.Errorf("--all would delete %s; say --yes to do it, or --dry-run to see which", what)
	}
	fmt.Fprintf(p.Err, "delete %s, with their events and artifacts? [y/N] ", what)
	line, err := input.Within(ctx, func() (string, error) { return bufio.NewReader(p.Stdin).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return exit.Other.As(err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return exit.Usage.Errorf("nothing was deleted")
	}
	return nil
}

// deleteSession deletes a session's artifacts, if there is a store of such, and then the session:
// one whose deletion was cut short is still there, and is deleted again.
func (p *commands) deleteSession(ctx context.Context, svc session.Service, files artifact.Service,
	key session.Key) error {
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
		p.Note("deleted %s and its artifacts (%d)", key, deleted)
	} else {
		p.Note("deleted %s", key)
	}
	return nil
}
