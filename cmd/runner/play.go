package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// recordings reads the sessions of files that the flags name.
func (p *program) recordings(ctx context.Context, files []string) ([]*session.Recording, error) {
	var list []*session.Recording
	for _, name := range files {
		f, err := p.openInput(ctx, name)
		if err != nil {
			return nil, exitUsage.as(err)
		}
		for rec, err := range session.ReadRecordings(f.name, f) {
			if err != nil {
				f.close()
				return nil, exitUsage.as(err)
			}
			if !p.names(rec.Key) {
				continue
			}
			if i := slices.IndexFunc(rec.Events, func(e *session.Event) bool { return e.Partial }); i >= 0 {
				f.close()
				return nil, exitUsage.errorf("%s: session %s: event %d is partial; a recording has whole events only", f.name, rec.Key, i+1)
			}
			list = append(list, rec)
		}
		f.close() // it was only read
	}
	if len(list) == 0 {
		return nil, exitUsage.errorf("there is no session to play in the files")
	}
	return list, nil
}

// freshStore returns an error if one of the sessions is there.
func freshStore(ctx context.Context, svc session.Service, recs []*session.Recording) error {
	for _, rec := range recs {
		if _, err := svc.Get(ctx, rec.Key); err == nil {
			return fmt.Errorf("nothing was played: %w; replay into a fresh store, or delete it with: runner session delete",
				&session.KeyError{Key: rec.Key, Err: session.ErrExists})
		} else if !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return nil
}

// play plays the sessions, some at once, until all are played or something other than a plugin fails.
// Each is made when it is its turn, so they are made in their order.
func (p *program) play(ctx context.Context, r *runner.Runner, player *replay.Agent, t *tally, workers int, made func(*sessionTally) error) error {
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
		if context.Cause(ctx) != nil {
			break
		}
		if err := made(s); err != nil {
			cancel(err)
			break
		}
		next <- s // workers take what comes until it is closed
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

func playSession(ctx context.Context, r *runner.Runner, player *replay.Agent, t *tally, s *sessionTally) error {
	start := time.Now()
	defer func() { s.took = time.Since(start) }()
	for input := range player.Inputs(s.key) {
		if err := playTurn(ctx, r, t, s, input); err != nil {
			return err
		}
	}
	return nil
}

// playTurn plays the invocation that the player's inputs have come to.
func playTurn(ctx context.Context, r *runner.Runner, t *tally, s *sessionTally, input *session.Event) error {
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
	return nil
}
