package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/runner"
)

func (p *program) replayCommand() *cobra.Command {
	workers := 0
	var v views
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Play recorded sessions through the plugins",
		Long: `Replay plays every session of the files ("-" is standard input) through the runner, under the configured plugins, into a
fresh store, and prints what each plugin did. Users say what they said, agents answer what they
answered; without plugins the sessions come out as they were ("session export --all").

Sessions go into memory unless --store names a store; the configuration's store is left alone. No
session of the files may be in it. --app, --user and --session narrow which sessions are played. A
plugin's failure ends its invocation, as always, and the replay goes on; its exit code is 4 then.

--views plays nobody's part: it puts the recorded events into a store in memory, lets the plugin of the kind
compaction (as configured, or with its defaults) look at every 50th of them, and prints the text of the
prompt that would be sent: with "last" once a session is at its end, {"session":…,"text":…}; with "calls"
before each event with function calls, {"session":…,"event":…,"text":…}. Summaries of the recording are
left out. --budget is how many tokens such a text may have, of four characters each; one that has to be
longer, because of what must stay as it is, is not printed, and the exit code is 1.`,
		Example: `  runner replay conversations.jsonl --config runner.yaml
  runner replay conversations.jsonl --store sqlite:out.db --workers 8
  runner replay conversations.jsonl --views last --budget 2000`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if workers < 1 {
				return exitUsage.errorf("--workers %d: at least 1 is needed", workers)
			}
			if cmd.Flags().Changed("budget") && v.which == "" || v.which != "" && (cmd.Flags().Changed("workers") || p.store != "") {
				return exitUsage.errorf("--budget goes with --views, and --workers and --store do not")
			}
			if v.which != "" {
				return p.views(cmd.Context(), args, v, cmd.Flags().Changed("budget"))
			}
			return p.replay(cmd.Context(), args, workers)
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 1, "how many `sessions` are played at once; with more than one, what plugins see of different sessions is interleaved")
	cmd.Flags().StringVar(&v.which, "views", "", "print what a model would be shown in place of playing: last or calls")
	cmd.Flags().IntVar(&v.budget, "budget", 0, "`tokens` that a view may have (default: the budget of the plugin compaction)")
	return cmd
}

func (p *program) replay(ctx context.Context, files []string, workers int) (err error) {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return err
	}
	recs, err := p.recordings(ctx, files)
	if err != nil {
		return err
	}
	player, err := replay.New("agent", recs...)
	if err != nil {
		return exitUsage.as(err)
	}
	where := p.store
	if where == "" {
		where = "memory:"
	}
	artifacts, shut, err := c.artifacts()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	svc, err := open(ctx, where, true)
	if err != nil {
		return err
	}
	defer closeStore(svc, &err)
	if err := freshStore(ctx, svc, recs); err != nil {
		return exitStore.as(err)
	}
	plugins, err := c.plugins(ctx, lent{log: p.log, artifacts: artifacts, sessions: svc})
	if err != nil {
		return err
	}
	tally := newTally(plugins, recs)
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: player, Sessions: svc, Plugins: plugins, Restore: true, Trace: tally.call})
	if err != nil {
		return err
	}
	start := time.Now()
	err = p.play(ctx, r, player, tally, workers, func(s *sessionTally) error {
		_, err := svc.Create(ctx, s.key, s.state)
		return exitStore.as(err)
	})
	closed := finish() // observers are done now
	if err != nil {
		return errors.Join(err, closed)
	}
	tally.took = time.Since(start)
	if err := errors.Join(p.report(tally), closed); err != nil {
		return err
	}
	if n := tally.failedRuns(); n > 0 {
		return exitPlugin.errorf("%d invocations ended with a plugin's failure; the first: %w", n, tally.first)
	}
	return nil
}
