package session

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
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
			if len(keys) == 0 {
				p.Note("there is nothing to delete")
				return nil
			}
			store := retention.Store{Sessions: svc, Artifacts: files}
			if dry {
				for _, key := range keys {
					s, err := svc.Get(cmd.Context(), key)
					if err != nil {
						return exit.Store.As(err)
					}
					if p.JSONL {
						err = p.WriteJSON(lineOf(s))
					} else {
						line := fmt.Sprintf("%s  %s", key, phrase.Count(int(s.Position), "event"))
						_, err = fmt.Fprintln(p.Out, eventtext.Printable(line))
					}
					if err != nil {
						return err
					}
				}
				p.Note("would delete %s", phrase.Count(len(keys), "session"))
				return nil
			}
			if everything && !yes {
				if err := p.Confirm(cmd.Context(), "delete "+phrase.Count(len(keys), "session")+", with their events and artifacts?", "nothing was deleted"); err != nil {
					return err
				}
			}
			for _, key := range keys {
				report, err := store.Session(cmd.Context(), key)
				if err != nil {
					return exit.Store.As(err)
				}
				if report.Artifacts > 0 {
					p.Note("deleted %s and its artifacts (%d)", key, report.Artifacts)
				} else {
					p.Note("deleted %s", key)
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
