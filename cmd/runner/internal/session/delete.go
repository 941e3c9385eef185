package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/retention"
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
it needs --yes. --dry-run says what would be deleted, and deletes nothing; with --jsonl there is a
line for each session, as in session list.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return p.withArtifacts(ctx, func(store retention.Store, _ *config.Config) error {
				var keys []session.Key
				var err error
				switch {
				case everything && (len(args) > 0 || p.Session != ""):
					return exit.Usage.Errorf("--all and the id of a session exclude each other")
				case everything:
					all, err := p.Sessions(ctx, store.Sessions)
					if err != nil {
						return err
					}
					for _, s := range all {
						keys = append(keys, s.Key)
					}
				default:
					if keys, err = p.Find(ctx, store.Sessions, args); err != nil {
						return err
					}
				}
				if len(keys) == 0 {
					p.Note("there is nothing to delete")
					return nil
				}
				sessions := phrase.Count(len(keys), "session")
				if everything && !yes && !dry {
					question := "delete " + sessions + ", with their events and artifacts?"
					if err := p.Confirm(ctx, question, "nothing was deleted"); err != nil {
						return err
					}
				}
				for _, key := range keys {
					if err := p.deleteSession(ctx, store, key, dry); err != nil {
						return err
					}
				}
				if dry {
					p.Note("would delete %s", sessions)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false,
		"delete every session that --app and --user leave in")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --all: delete without asking")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be deleted, and delete nothing")
	return cmd
}

// deleteSession deletes a session with its artifacts. With dry it says what would be deleted.
func (p *commands) deleteSession(ctx context.Context, store retention.Store, key session.Key, dry bool) error {
	if !dry {
		report, err := store.Session(ctx, key)
		if err != nil {
			return exit.Store.As(err)
		}
		artifacts := ""
		if report.Artifacts > 0 {
			artifacts = fmt.Sprintf(" and its artifacts (%d)", report.Artifacts)
		}
		p.Note("deleted %s%s", key, artifacts)
		return nil
	}
	s, err := store.Sessions.Get(ctx, key)
	if err != nil {
		return exit.Store.As(err)
	}
	if p.JSONL {
		return p.WriteJSON(lineOf(s))
	}
	line := fmt.Sprintf("%s  %s", key, phrase.Count(int(s.Position), "event"))
	_, err = fmt.Fprintln(p.Out, eventtext.Printable(line))
	return err
}

// withArtifacts opens the stores of sessions and of artifacts, calls do, and closes them.
func (p *commands) withArtifacts(ctx context.Context, do func(retention.Store, *config.Config) error) error {
	return p.WithStore(ctx, false, func(svc session.Service, c *config.Config) error {
		files, closeFiles, err := c.OpenArtifacts()
		if err != nil {
			return exit.OfConfig(err)
		}
		err = do(retention.Store{Sessions: svc, Artifacts: files}, c)
		return errors.Join(err, closeFiles())
	})
}
