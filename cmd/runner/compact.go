package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/debuglog"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

func (p *program) compactCommand() *cobra.Command {
	instructions := ""
	dry := false
	cmd := &cobra.Command{
		Use:   "compact ID",
		Short: "Put a summary in place of what was said in a session",
		Long: `Compact puts a summary in place of the older part of a kept session, as the chat's
/compact does. The log keeps everything: "session show --all" shows what the summary stands for,
and a rewind to before it brings the originals back.

The command goes through the configured plugins; the one of the kind compaction carries it out. If
there is none, one with its defaults is added before all others, so that plugins that redact see
the summary. The command waits for a run of the session to end. If a summary would save too
little, it says so, and the exit code is 0. With --jsonl the events of the run are printed.

--dry-run changes nothing and asks no model. It says whether a trigger of the configuration asks
for a compaction, what the command would cover, what stays and why, how many tokens that saves, and
what the summaries of the session have cost. It shows the summary as it would be without a model,
and what it would leave out of the one before.`,
		Example: `  runner compact ada --store sqlite:sessions.db --dry-run
  runner compact ada --store sqlite:sessions.db --instructions "the order numbers"`,
		Args: cli.Args(0, 1, "one session at a time: give one id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return p.WithSession(ctx, args, func(svc session.Service, c *config.Config, key session.Key) error {
				if dry {
					return p.planCompaction(ctx, svc, c, key, instructions)
				}
				if _, err := svc.Get(ctx, key); err != nil {
					return exit.Store.As(err)
				}
				return p.compact(ctx, svc, c, key, instructions)
			})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would happen, and why or why not")
	cmd.Flags().StringVar(&instructions, "instructions", "",
		"`text` that says what the summary should not leave out")
	return cmd
}

// compact carries out the command, and says what has become of it.
func (p *program) compact(ctx context.Context, svc session.Service, c *config.Config,
	key session.Key, instructions string) error {
	var done, declined *session.Event
	err := p.CarryOut(ctx, cli.Command{
		Sessions: svc,
		Config:   c,
		Key:      key,
		Command:  compaction.Now(instructions),
		Plugins: func(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
			if _, configured := c.Compaction(); configured {
				return plugins, nil
			}
			added, err := compaction.New(compaction.Config{Log: debuglog.New(p.Log)})
			return slices.Insert(plugins, 0, added), err // first: others are offered the summary
		},
		Note: func(e *session.Event) {
			switch {
			case e.Actions.Compaction != nil:
				done = e
			case e.ErrorCode != "":
				declined = e
			}
		},
	})
	switch {
	case err != nil:
		return err
	case done == nil && declined == nil:
		return exit.Denied.Errorf("nothing was compacted: a plugin kept the command from the compaction plugin " +
			"(--explain shows which)")
	case p.JSONL:
		return nil
	}
	text := ""
	if done != nil {
		text = summarized(done)
	} else {
		text = declined.ErrorMessage
	}
	_, err = fmt.Fprintf(p.Out, "%s: %s\n", p.Style().Bold(eventtext.Printable(key.String())),
		eventtext.Printable(text))
	return err
}

// summarized says in words what a compaction has done, as its author has counted.
func summarized(e *session.Event) string {
	note, _ := e.CustomMetadata[compaction.Name].(map[string]any)
	text := fmt.Sprintf("the summary at %d stands for the events up to %d", e.Seq,
		e.Actions.Compaction.Through)
	if n := len(e.Actions.Compaction.Keep); n > 0 {
		text += fmt.Sprintf(", except %s (%s)", phrase.Count(n, "kept event"),
			phrase.Ranges(e.Actions.Compaction.Keep))
	}
	if note != nil {
		text += fmt.Sprintf(": %v covered, %v tokens to %v, by %v", note["events"], note["before"],
			note["after"], note["by"])
	}
	return text
}
