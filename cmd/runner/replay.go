package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

func (p *program) replayCommand() *cobra.Command {
	workers := 0
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Play recorded sessions through the plugins",
		Long: `Replay plays every session of the files through the runner, under the configured plugins, into a
fresh store, and prints what each plugin did. Users say what they said, agents answer what they
answered; without plugins the sessions come out as they were ("session export --all").

Sessions go into memory unless --store names a store; the configuration's store is left alone. No
session of the files may be in it. --app, --user and --session narrow which sessions are played. A
plugin's failure ends its invocation, as always, and the replay goes on; its exit code is 4 then.`,
		Example: `  runner replay conversations.jsonl --config runner.yaml
  runner replay conversations.jsonl --store sqlite:out.db --workers 8`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if workers < 1 {
				return exitUsage.errorf("--workers %d: at least 1 is needed", workers)
			}
			return p.replay(cmd.Context(), args, workers)
		},
	}
	cmd.Flags().IntVar(&workers, "workers", runtime.NumCPU(), "how many sessions are played at once")
	return cmd
}

// recordings reads the sessions of files that the flags name.
func (p *program) recordings(files []string) ([]*session.Recording, error) {
	var list []*session.Recording
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, exitUsage.as(err)
		}
		for rec, err := range session.ReadRecordings(name, f) {
			if err != nil {
				f.Close()
				return nil, exitUsage.as(err)
			}
			if !p.names(rec.Key) {
				continue
			}
			if i := slices.IndexFunc(rec.Events, func(e *session.Event) bool { return e.Partial }); i >= 0 {
				f.Close()
				return nil, exitUsage.errorf("%s: session %s: event %d is partial; a recording has whole events only", name, rec.Key, i+1)
			}
			list = append(list, rec)
		}
		f.Close() // it was only read
	}
	if len(list) == 0 {
		return nil, exitUsage.errorf("there is no session to play in the files")
	}
	return list, nil
}

func (p *program) replay(ctx context.Context, files []string, workers int) (err error) {
	c, err := p.loadConfig()
	if err != nil {
		return err
	}
	recs, err := p.recordings(files)
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
	plugins, err := c.plugins(ctx, p.log)
	if err != nil {
		return err
	}
	svc, err := open(ctx, where, true)
	if err != nil {
		return errors.Join(err, closePlugins(ctx, plugins))
	}
	defer closeStore(svc, &err)
	if err := makeSessions(ctx, svc, recs); err != nil {
		return errors.Join(exitStore.as(err), closePlugins(ctx, plugins))
	}
	tally := newTally(plugins, recs)
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: player, Sessions: svc, Plugins: plugins, Restore: true, Trace: tally.call})
	if err != nil {
		return err
	}
	start := time.Now()
	err = p.play(ctx, r, player, tally, workers)
	if e := finish(); err == nil { // observers are done now
		err = e
	}
	if err != nil {
		return err
	}
	tally.took = time.Since(start)
	if err := p.report(tally); err != nil {
		return err
	}
	if n := tally.failedRuns(); n > 0 {
		return exitPlugin.errorf("%d invocations ended with a plugin's failure; the first: %w", n, tally.first)
	}
	return nil
}

// makeSessions makes the sessions in their order, once it is known that none is there.
func makeSessions(ctx context.Context, svc session.Service, recs []*session.Recording) error {
	for _, rec := range recs {
		if _, err := svc.Get(ctx, rec.Key); err == nil {
			return fmt.Errorf("nothing was played: %w; replay into a fresh store, or delete it with: runner session delete",
				&session.KeyError{Key: rec.Key, Err: session.ErrExists})
		} else if !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	for _, rec := range recs {
		if _, err := svc.Create(ctx, rec.Key, rec.State); err != nil {
			return err
		}
	}
	return nil
}

// play plays the sessions, some at once, until all are played or something other than a plugin fails.
func (p *program) play(ctx context.Context, r *runner.Runner, player *replay.Agent, t *tally, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bar := p.progress("replay", len(t.sessions))
	defer bar.end()
	next := make(chan *sessionTally)
	var wait sync.WaitGroup
	for range min(workers, len(t.sessions)) {
		wait.Go(func() {
			for s := range next {
				if err := playSession(ctx, r, player, t, s); err != nil {
					cancel(err) // the first counts
				}
				bar.add()
			}
		})
	}
	for _, s := range t.sessions {
		select {
		case next <- s:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

func playSession(ctx context.Context, r *runner.Runner, player *replay.Agent, t *tally, s *sessionTally) error {
	start := time.Now()
	defer func() { s.took = time.Since(start) }()
	for input := range player.Inputs(s.key) {
		s.invocations++
		for e, err := range r.Run(ctx, s.key, input, session.RunConfig{}) {
			var failed *plugin.Error
			switch {
			case err == nil:
				s.note(e)
			case errors.As(err, &failed) && context.Cause(ctx) == nil:
				s.failed++
				t.failure(err)
			default:
				return runFailure(err)
			}
		}
	}
	return nil
}
