package session

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// rewindFlags are the ways to say how far a rewind goes.
type rewindFlags struct {
	to     int64
	before string
	turns  int
	undo   bool
}

func (p *commands) rewindCommand() *cobra.Command {
	var f rewindFlags
	dry := false
	cmd := &cobra.Command{
		Use:   "rewind ID --to SEQ | --before INVOCATION | --turns N | --undo",
		Short: "Take back the end of a session",
		Long: `Rewind takes back the end of a session: its messages, tool calls and changes of the
session's state count no more, and what a summary stood for counts again. Nothing is deleted: a
rewind is an event of the log, and --undo takes back the last one in force, with all that was said
since. An undo is a rewind too, so a second --undo takes back the first.

What tools have done outside, saved artifacts, and the state that sessions share (app: and user:
keys) stay as they are. --dry-run says all that without doing it.

The rewind goes through the configured plugins, as one that the chat or another caller asks for:
one of them may deny it. It waits for a run that the session is in. With --jsonl the events of the
run are printed, with --dry-run what would be.`,
		Example: `  runner session rewind ada --store sqlite:sessions.db --turns 1 --dry-run
  runner session rewind ada --store sqlite:sessions.db --to 12
  runner session rewind ada --store sqlite:sessions.db --undo`,
		Args: cli.Args(0, 1, oneID),
		RunE: func(cmd *cobra.Command, args []string) error {
			command, err := f.command(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return p.WithSession(ctx, args, func(svc session.Service, c *config.Config, key session.Key) error {
				plan, err := planOf(ctx, svc, key, command)
				switch {
				case err != nil: // a command that cannot be carried out does not go into the log
					return err
				case !dry:
					return p.rewind(ctx, &cli.Command{Sessions: svc, Config: c, Key: key, Command: command}, plan)
				case p.JSONL:
					return p.WriteJSON(plan)
				}
				return p.showPlan(key, plan, false)
			})
		},
	}
	cmd.Flags().Int64Var(&f.to, "to", 0, "the position of the last event that counts, 0 for none")
	cmd.Flags().StringVar(&f.before, "before", "",
		"the `invocation` that is taken back, with all that came after it")
	cmd.Flags().IntVar(&f.turns, "turns", 0,
		"how many turns that began with a user's message are taken back")
	cmd.Flags().BoolVar(&f.undo, "undo", false, "take back the last rewind")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what the rewind would do, and do not do it")
	cmd.MarkFlagsMutuallyExclusive("to", "before", "turns", "undo")
	return cmd
}

// command returns what the flags ask for.
func (f *rewindFlags) command(cmd *cobra.Command) (session.Command, error) {
	set := cmd.Flags().Changed
	switch {
	case set("to") && f.to < 0:
		return session.Command{}, exit.Usage.Errorf("--to %d: positions begin with 1, and 0 is before the first event", f.to)
	case set("to"):
		return rewind.To(f.to), nil
	case set("before"):
		return rewind.Before(f.before), nil
	case set("turns") && f.turns < 1:
		return session.Command{}, exit.Usage.Errorf("--turns %d: at least 1 is needed", f.turns)
	case set("turns"):
		return rewind.Turns(f.turns), nil
	case f.undo:
		return rewind.Undo(), nil
	}
	return session.Command{}, exit.Usage.Errorf("how far back? Use --to, --before, --turns or --undo")
}

// planOf returns what a command would do.
func planOf(ctx context.Context, svc session.Service, key session.Key,
	command session.Command) (*rewind.Plan, error) {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return nil, exit.Store.As(err)
	}
	log, err := session.ReadAll(ctx, svc, key, session.Selection{})
	if err != nil {
		return nil, exit.Store.As(err)
	}
	plan, err := rewind.DryRun(s.Initial, log, command)
	if err != nil {
		return nil, exit.Usage.Errorf("rewind: %w", err)
	}
	return plan, nil
}

// rewind carries out a rewind under the configured plugins, and says what it has done, by the plan.
func (p *commands) rewind(ctx context.Context, c *cli.Command, plan *rewind.Plan) error {
	var done, wrong *session.Event
	configured := slices.ContainsFunc(c.Config.Plugins(),
		func(p config.Plugin) bool { return p.Kind == "rewind" })
	c.Plugins = func(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
		if configured {
			return plugins, nil
		}
		// The rewind plugin comes last, so that the others can deny the command. Only budgets come after it: they
		// see the rewind, and keep counting what was used before it.
		index := slices.IndexFunc(c.Config.Plugins(), func(p config.Plugin) bool { return p.Kind == "budget" })
		if index < 0 || index > len(plugins) {
			index = len(plugins)
		}
		return slices.Insert(plugins, index, rewind.New(c.Sessions)), nil
	}
	c.Note = func(e *session.Event) {
		switch {
		case e.Actions.Rewind != nil:
			done = e
		case e.ErrorCode == rewind.Invalid:
			wrong = e
		}
	}
	err := p.CarryOut(ctx, *c)
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return exit.Usage.Errorf("%s", eventtext.Printable(wrong.ErrorMessage))
	case done == nil:
		return exit.Denied.Errorf("nothing was rewound: a plugin kept the command from the rewind plugin (--explain shows which)")
	case p.JSONL:
		return nil
	case plan.To != done.Actions.Rewind.To || plan.Position != done.Seq-1:
		// Something was said since the plan was made, so its details are no longer right.
		plan = &rewind.Plan{To: done.Actions.Rewind.To, Position: done.Seq - 1}
	}
	return p.showPlan(c.Key, plan, true)
}
