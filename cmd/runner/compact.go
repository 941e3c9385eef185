package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

func (p *program) compactCommand() *cobra.Command {
	instructions, dry := "", false
	cmd := &cobra.Command{
		Use:   "compact ID",
		Short: "Put a summary in place of what was said in a session",
		Long: `Compact puts a summary in place of the older part of a kept session, as the chat's /compact does. The log
keeps everything: "session show --all" shows what the summary stands for, and a rewind to before it
brings the originals back.

The command goes through the configured plugins. One of the kind compaction does it; if none is
configured, one with its defaults does, before all others, so that plugins that redact are offered the
summary. It waits for a run that the session is in. If nothing would be gained, it says why, and the
exit code is 0. With --jsonl the events of the run are printed.

--dry-run changes nothing and asks no model. It says whether a trigger of the configuration asks for a
compaction, what the command would cover, what stays and why, and the tokens.`,
		Example: `  runner compact ada --store sqlite:sessions.db --dry-run
  runner compact ada --store sqlite:sessions.db --instructions "the order numbers"`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if dry && instructions != "" {
				return exitUsage.errorf("--instructions change what a summary says, and --dry-run makes none")
			}
			svc, c, err := p.kept(ctx, false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			keys, err := p.find(ctx, svc, args)
			if err != nil {
				return err
			}
			if dry {
				return p.planCompaction(ctx, svc, c, keys[0])
			}
			if _, err := svc.Get(ctx, keys[0]); err != nil {
				return exitStore.as(err)
			}
			return p.compact(ctx, svc, c, keys[0], instructions)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would happen, and why or why not")
	cmd.Flags().StringVar(&instructions, "instructions", "", "`text` that says what the summary should not leave out")
	return cmd
}

// compact carries out the command, and says what has become of it.
func (p *program) compact(ctx context.Context, svc session.Service, c *config, key session.Key, instructions string) error {
	var done, declined *session.Event
	with := func(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
		if _, i := c.compacting(); i >= 0 {
			return plugins, nil
		}
		added, err := compaction.New(compaction.Config{Log: lowered(p.log)})
		return slices.Insert(plugins, 0, added), err
	}
	err := p.carryOut(ctx, svc, c, key, compaction.Now(instructions), with, func(e *session.Event) {
		switch {
		case e.Actions.Compaction != nil:
			done = e
		case e.ErrorCode != "":
			declined = e
		}
	})
	switch {
	case err != nil:
		return err
	case p.jsonl && (done != nil || declined != nil):
		return nil
	case done != nil:
		_, err = fmt.Fprintf(p.out, "%s: %s\n", styleOf(p.stdout).bold(printable(key.String())), printable(summarized(done)))
	case declined != nil:
		_, err = fmt.Fprintf(p.out, "%s: %s\n", styleOf(p.stdout).bold(printable(key.String())), printable(declined.ErrorMessage))
	default:
		return exitDenied.errorf("nothing was compacted: a plugin has taken the command (--explain shows which)")
	}
	return err
}

// summarized says in words what a compaction has done, as its author has counted.
func summarized(e *session.Event) string {
	said, _ := e.CustomMetadata[compaction.Name].(map[string]any)
	text := fmt.Sprintf("the summary at %d stands for what was up to %d", e.Seq, e.Actions.Compaction.Through)
	if n := len(e.Actions.Compaction.Keep); n > 0 {
		text += fmt.Sprintf(" but for %s (%s)", counted(n, "kept event"), ranges(e.Actions.Compaction.Keep))
	}
	if said != nil {
		text += fmt.Sprintf(": %v covered, %v tokens to %v, by %v", said["events"], said["before"], said["after"], said["by"])
	}
	return text
}

// lowered returns the log with records of the level Info as ones of the level Debug: what a plugin does behind a
// conversation is shown with -v.
func lowered(log *slog.Logger) *slog.Logger { return slog.New(lowerer{log.Handler()}) }

type lowerer struct{ slog.Handler }

func (l lowerer) Enabled(ctx context.Context, level slog.Level) bool {
	return l.Handler.Enabled(ctx, lower(level))
}

func (l lowerer) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lower(r.Level)
	return l.Handler.Handle(ctx, r)
}

func (l lowerer) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lowerer{l.Handler.WithAttrs(attrs)}
}
func (l lowerer) WithGroup(name string) slog.Handler { return lowerer{l.Handler.WithGroup(name)} }

func lower(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}
