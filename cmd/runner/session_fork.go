package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/session"
)

func (p *program) forkCommand() *cobra.Command {
	at, id := int64(0), ""
	cmd := &cobra.Command{
		Use:   "fork ID --at SEQ [--id NEW]",
		Short: "Make a session of another's beginning",
		Long: `Fork makes a session of the same app and user with the events of another up to a position, as they are
there, and with the state as it was at that position. The other session stays as it is. It is made
whole or not at all.

The state that sessions share (app: and user: keys) is shared with the fork too, as it is now: the
events of the fork do not change it a second time. Saved artifacts stay with the other session.

The id of the new session is printed; without --id it is a fresh one.`,
		Example: `  runner session fork ada --store sqlite:sessions.db --at 12 --id ada-2`,
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.Flags().Changed("id") && id == "" {
				return exitUsage.errorf("--id is empty; leave it out for a fresh one")
			}
			svc, _, err := p.kept(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			keys, err := p.find(cmd.Context(), svc, args)
			if err != nil {
				return err
			}
			fork, err := session.Fork(cmd.Context(), svc, keys[0], at, id)
			switch {
			case errors.Is(err, session.ErrInvalid):
				return exitUsage.as(err)
			case err != nil:
				return exitStore.as(err)
			case p.jsonl:
				return p.writeJSON(listed{fork.App, fork.User, fork.ID, fork.Position, fork.Created.UTC(), fork.Updated.UTC()})
			}
			p.note("forked %s at position %d", keys[0], at)
			_, err = fmt.Fprintln(p.out, printable(fork.ID))
			return err
		},
	}
	cmd.Flags().Int64Var(&at, "at", 0, "the position of the last event that the fork has, 0 for none")
	cmd.Flags().StringVar(&id, "id", "", "the new session's id")
	if err := cmd.MarkFlagRequired("at"); err != nil {
		panic(err) // it was defined two lines above
	}
	return cmd
}
