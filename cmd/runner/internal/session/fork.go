package session

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

func (p *commands) forkCommand() *cobra.Command {
	var position int64
	var id string
	cmd := &cobra.Command{
		Use:   "fork ID --at SEQ [--id NEW]",
		Short: "Copy the beginning of a session into a new one",
		Long: `Fork makes a new session of the same app and user. It has the events of the other
session up to a position, and the state as it was there. The other session stays as it is. The new
one is made whole or not at all.

The state that sessions share (app: and user: keys) is shared with the fork too, as it is now: the
events of the fork do not change it a second time. Saved artifacts stay with the other session.

The id of the new session is printed; without --id it is a fresh one.`,
		Example: `  runner session fork ada --store sqlite:sessions.db --at 12 --id ada-2`,
		Args:    cli.Args(0, 1, oneID),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("id") && id == "" {
				return exit.Usage.Errorf("--id is empty; leave it out for a fresh one")
			}
			return p.WithSession(cmd.Context(), args,
				func(svc session.Service, _ *config.Config, key session.Key) error {
					fork, err := session.Fork(cmd.Context(), svc, key, position, id)
					switch {
					case errors.Is(err, session.ErrInvalid):
						return exit.Usage.As(err)
					case err != nil:
						return exit.Store.As(err)
					case p.JSONL:
						return p.WriteJSON(lineOf(fork))
					}
					p.Note("forked %s at position %d", key, position)
					_, err = fmt.Fprintln(p.Out, eventtext.Printable(fork.ID))
					return err
				})
		},
	}
	cmd.Flags().Int64Var(&position, "at", 0, "the position of the last event that the fork has, 0 for none")
	cmd.Flags().StringVar(&id, "id", "", "the new session's id")
	if err := cmd.MarkFlagRequired("at"); err != nil {
		panic(err) // the flag was defined above
	}
	return cmd
}
