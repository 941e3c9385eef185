// Package session has the commands about kept sessions: runner session list, show, rewind, fork,
// export, import, delete, forget, stats.
package session

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/session"
)

// commands are those of sessions.
type commands struct{ *cli.Program }

// Command returns the command session.
func Command(program *cli.Program) *cobra.Command {
	p := &commands{program}
	cmd := cli.Group(&cobra.Command{
		Use:   "session",
		Short: "List, show, sum up, rewind, fork, export, import, delete and forget kept sessions",
		Long: `These commands work on the store that --store or the configuration names. A session
is named by its id; where two apps or users have sessions with the same id, --app and --user say
whose is meant.`,
	}, p.listCommand(), p.showCommand(), p.rewindCommand(), p.forkCommand(), p.exportCommand(),
		p.importCommand(), p.deleteCommand(), p.forgetCommand(), p.statsCommand())

	// The shell completes ids.
	for _, sub := range cmd.Commands() {
		switch sub.Name() {
		case "show", "rewind", "fork":
			sub.ValidArgsFunction = p.CompleteIDs(1)
		case "export", "delete":
			sub.ValidArgsFunction = p.CompleteIDs(0)
		}
	}
	return cmd
}

func (p *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List sessions in the order of their creation", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			svc, _, err := p.OpenKept(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer cli.CloseStore(svc, &err)
			list, err := p.Sessions(cmd.Context(), svc)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
			if !p.JSONL {
				fmt.Fprintln(w, "APP\tUSER\tSESSION\tEVENTS\tCREATED\tUPDATED")
			}
			for _, s := range list {
				if p.JSONL {
					if err := p.WriteJSON(lineOf(s)); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.App, s.User, s.ID, s.Position,
					s.Created.UTC().Format(time.DateTime), s.Updated.UTC().Format(time.DateTime))
			}
			return w.Flush()
		},
	}
}

// line is a session in the output for programs.
type line struct {
	App     string    `json:"appName"`
	User    string    `json:"userId"`
	ID      string    `json:"id"`
	Events  int64     `json:"events"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

func lineOf(s *session.Session) line {
	return line{
		App:     s.App,
		User:    s.User,
		ID:      s.ID,
		Events:  s.Position,
		Created: s.Created.UTC(),
		Updated: s.Updated.UTC(),
	}
}

// oneID says what a command wants that works on one session.
const oneID = "one session at a time: give one id"
