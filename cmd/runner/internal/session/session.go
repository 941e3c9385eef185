// Package session has the commands about kept sessions: runner session list, show, index, rewind, fork,
// export, import, delete, forget, stats.
//
// A new command: a file with a function that returns it, and a line in session.go. A new condition for finding sessions is a
// flag in query.go.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// commands are those of sessions.
type commands struct{ *cli.Program }

// Command returns the command session.
func Command(program *cli.Program) *cobra.Command {
	p := &commands{program}
	cmd := cli.Group(&cobra.Command{
		Use:   "session",
		Short: "List, find, show, sum up, rewind, fork, export, import, delete and forget kept sessions",
		Long: `These commands work on the store that --store or the configuration names. A session
is named by its id; where two apps or users have sessions with the same id, --app and --user say
whose is meant.`,
	}, p.listCommand(), p.showCommand(), p.indexCommand(), p.rewindCommand(), p.forkCommand(), p.exportCommand(),
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
	var q *query
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, or find them by time, author, tool, failure and words",
		Long: `List the sessions that --app, --user, --session and the flags below leave in, the one that was
updated last first. --sort oldest reverses that, --sort stored is the order in which they came into
the store.

` + queryHelp + `

Under a session stands the newest event that meets the conditions: its position, its author and what it
says. With --jsonl it is in "hit"; "live" says whether it is in the session's live view.`,
		Example: `  runner session list --store sqlite:desk.db --since 7d --denied
  runner session list --store sqlite:desk.db --match "refund Paris" --limit 20
  runner session list --store sqlite:desk.db --tool book_table --error --jsonl`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.read(cmd); err != nil {
				return err
			}
			return p.WithStore(cmd.Context(), false, func(svc session.Service, _ *config.Config) error {
				list, err := p.search(cmd.Context(), svc, q)
				if err != nil {
					return err
				}
				agents, err := agentsOf(cmd.Context(), svc, list)
				if err != nil {
					return exit.Store.As(err)
				}
				return p.writeList(list, agents, q.Match)
			})
		},
	}
	q = queryFlags(cmd, session.Newest)
	return cmd
}

// agentsOf returns whose agents sessions are of, "" for those that were run here. It fills in what runs on them.
func agentsOf(ctx context.Context, svc session.Reader, list []*session.Hit) ([]string, error) {
	agents := make([]string, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16) // a store may be far away
	for i, hit := range list {
		group.Go(func() error {
			s, err := svc.Get(ctx, hit.Session.Key)
			if errors.Is(err, session.ErrNotFound) { // it was deleted meanwhile
				return nil
			}
			if err == nil {
				agents[i] = runner.AgentOutside(s.State)
				hit.Session.Holder = s.Holder
				hit.Session.CutOff = s.CutOff
			}
			return err
		})
	}
	return agents, group.Wait()
}

// writeList writes sessions as a table, or for programs. The table says whose agents they are of if one was not run here,
// and marks sessions with a run, and those whose last run was cut off.
func (p *commands) writeList(list []*session.Hit, agents []string, match string) error {
	if p.JSONL {
		for i, hit := range list {
			line := lineOf(hit.Session)
			line.Agent = agents[i]
			line.Hit = hitOf(hit, match)
			if err := p.WriteJSON(line); err != nil {
				return err
			}
		}
		return nil
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	elsewhere := slices.ContainsFunc(agents, func(name string) bool { return name != "" })
	marked := slices.ContainsFunc(list, func(hit *session.Hit) bool { return markOf(hit.Session) != "" })
	row := func(agent, mark string, cells ...any) {
		if elsewhere {
			cells = append(cells, agent)
		}
		if marked {
			cells = append(cells, mark)
		}
		fmt.Fprintf(w, strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t")+"\n", cells...)
	}
	row("AGENT", "RUN", "APP", "USER", "SESSION", "EVENTS", "CREATED", "UPDATED")
	for i, hit := range list {
		s := hit.Session
		row(agents[i], markOf(s), s.App, s.User, s.ID, s.Position,
			s.Created.UTC().Format(time.DateTime), s.Updated.UTC().Format(time.DateTime))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, row := range strings.SplitAfter(table.String(), "\n") {
		if _, err := fmt.Fprint(p.Out, row); err != nil {
			return err
		}
		if i == 0 || i > len(list) {
			continue
		}
		if found := hitOf(list[i-1], match); found != nil {
			if _, err := fmt.Fprintln(p.Out, "    "+p.Style().Dim(found.String())); err != nil {
				return err
			}
		}
	}
	return nil
}

// markOf says whether a run goes on on a session, or was cut off; "" for neither.
func markOf(s *session.Session) string {
	switch {
	case s.Holder != "":
		return "running"
	case s.CutOff != "":
		return "cut off"
	}
	return ""
}

// line is a session in the output for programs.
type line struct {
	cli.KeyLine
	Agent   string    `json:"agent,omitzero"`   // in another program
	Running string    `json:"running,omitzero"` // the invocation
	CutOff  string    `json:"cutOff,omitzero"`  // the invocation that was cut off last
	Events  int64     `json:"events"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Hit     *hitLine  `json:"hit,omitzero"`
}

func lineOf(s *session.Session) line {
	return line{
		KeyLine: cli.KeyLine(s.Key),
		Running: s.Holder,
		CutOff:  s.CutOff,
		Events:  s.Position,
		Created: s.Created.UTC(),
		Updated: s.Updated.UTC(),
	}
}

// oneID says what a command wants that works on one session.
const oneID = "one session at a time: give one id"
