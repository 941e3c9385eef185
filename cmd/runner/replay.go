package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/playback"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
)

func (p *program) replayCommand() *cobra.Command {
	workers := 0
	var v views
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Play recorded sessions through the plugins",
		Long: `Replay plays every session of the files ("-" is standard input) through the runner,
under the configured plugins, into a fresh store, and prints what each plugin did. Users say what
they said, and agents answer what they answered. Without plugins the sessions come out as they
were ("session export --all").

Sessions are kept in memory unless --store names a store; the configuration's store is not used.
The store must not have a session of the files. --app, --user and --session narrow which sessions
are played. If a plugin fails, its run ends and the replay goes on; the exit code is 4 then.

With --views nothing is run. The recorded events are put into a store in memory, the plugin of the
kind compaction (as configured, or with its defaults) looks at the session after every 50 events,
and the text of the prompt that would be sent is printed: with "last" at the end of a session,
{"session":…,"text":…}; with "calls" before each event with function calls,
{"session":…,"event":…,"text":…}. Summaries of the recording are left out. --budget is how many
tokens such a text may have, of four characters each. If it would be longer, because of what must
stay, it is not printed, and the exit code is 1.`,
		Example: `  runner replay conversations.jsonl --config runner.yaml
  runner replay conversations.jsonl --store sqlite:out.db --workers 8
  runner replay conversations.jsonl --views last --budget 2000`,
		Args: cli.Args(1, -1, "which recordings? Name a session file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if workers < 1 {
				return exit.Usage.Errorf("--workers %d: at least 1 is needed", workers)
			}
			if cmd.Flags().Changed("budget") && v.which == "" ||
				v.which != "" && (cmd.Flags().Changed("workers") || p.StoreName != "") {
				return exit.Usage.Errorf("--budget goes with --views; --workers and --store do not")
			}
			if v.which != "" {
				return p.views(cmd.Context(), args, v, cmd.Flags().Changed("budget"))
			}
			return p.replay(cmd.Context(), args, workers)
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 1,
		"how many `sessions` are played at once; with more than one, plugins see their events interleaved")
	cmd.Flags().StringVar(&v.which, "views", "",
		"do not play; print what a model would be shown: last or calls")
	cmd.Flags().IntVar(&v.budget, "budget", 0,
		"`tokens` that a view may have (default: the budget of the plugin compaction)")
	return cmd
}

func (p *program) replay(ctx context.Context, files []string, workers int) (err error) {
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return err
	}
	recs, err := playback.Recordings(ctx, p.Program, files)
	if err != nil {
		return err
	}
	svc, err := config.Options{}.OpenStore(ctx, cmp.Or(p.StoreName, "memory:"), true)
	if err != nil {
		return exit.OfConfig(err)
	}
	defer cli.CloseStore(svc, &err)
	if err := checkFresh(ctx, svc, recs); err != nil {
		return exit.Store.As(err)
	}
	parts, err := c.Open(ctx, config.Options{Log: p.Log, Sessions: svc, NoAgent: true})
	if err != nil {
		return exit.OfConfig(err)
	}
	defer func() { err = errors.Join(err, exit.OfConfig(parts.Close(ctx))) }()
	counters, err := playback.Play(ctx, p.Program, svc, parts.Plugins, recs, workers)
	if counters == nil {
		return err
	}
	if err := errors.Join(counters.Print(p.Program), err); err != nil {
		return err
	}
	return counters.Err()
}

// checkFresh returns an error if the store has one of the sessions.
func checkFresh(ctx context.Context, svc session.Service, recs []*session.Recording) error {
	for _, rec := range recs {
		_, err := svc.Get(ctx, rec.Key)
		if err == nil {
			there := &session.KeyError{Key: rec.Key, Err: session.ErrExists}
			return fmt.Errorf("nothing was played: %w; replay into a fresh store, or delete it with: runner session delete", there)
		}
		if !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return nil
}
