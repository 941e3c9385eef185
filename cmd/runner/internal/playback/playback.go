// Package playback plays recorded sessions through plugins, and counts what they do.
//
// A new number in the report: a field of the counters, and where it is counted.
package playback

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Recordings reads the sessions of files that --app, --user and --session leave in. There has to be
// one.
func Recordings(ctx context.Context, p *cli.Program, files []string) ([]*session.Recording, error) {
	var list []*session.Recording
	for _, name := range files {
		some, err := recordingsOf(ctx, p, name)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		list = append(list, some...)
	}
	if len(list) == 0 {
		return nil, exit.Usage.Errorf("the files have no session to play (--app, --user and --session narrow which are played)")
	}
	return list, nil
}

func recordingsOf(ctx context.Context, p *cli.Program, name string) ([]*session.Recording, error) {
	f, err := p.OpenInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	var list []*session.Recording
	for rec, err := range cli.ReadSessions(f) {
		if err != nil {
			return nil, err
		}
		if !p.Selects(rec.Key) {
			continue
		}
		i := slices.IndexFunc(rec.Events, func(e *session.Event) bool { return e.Partial })
		if i >= 0 {
			return nil, exit.Usage.Errorf("%s: session %s: event %d is partial; a recording has whole events only", f.Name, rec.Key, i+1)
		}
		list = append(list, rec)
	}
	return list, nil
}

// A player plays recordings through a Runner whose agent is agent.
type player struct {
	*cli.Program
	agent    *replay.Agent
	store    session.Service
	runner   *runner.Runner
	counters *Counters
}

// Play plays recordings under plugins into a store, so many at once, until all are played or something
// other than a plugin fails. Sessions are made in the order of the files, each when it is its turn. The
// counters are nil if not all was played.
func Play(ctx context.Context, p *cli.Program, svc session.Service, plugins []*plugin.Plugin,
	recs []*session.Recording, workers int) (*Counters, error) {
	agent, err := replay.New("agent", recs...)
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	counters := newCounters(plugins, recs)
	r, closeRunner, err := p.NewRunner(ctx, runner.Options{
		Agent:    agent,
		Sessions: svc,
		Plugins:  plugins,
		Restore:  true,
		Trace:    counters.call,
	})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	all := &player{Program: p, agent: agent, store: svc, runner: r, counters: counters}
	err = all.play(ctx, workers)
	closed := closeRunner() // observers are done now
	if err != nil {
		return nil, errors.Join(err, closed)
	}
	counters.took = time.Since(start)
	return counters, closed
}

func (p *player) play(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sessions := p.counters.sessions
	bar := p.Progress("replay", len(sessions))
	defer bar.End()
	next := make(chan *recorded)
	var wait sync.WaitGroup
	for range min(workers, len(sessions)) {
		wait.Go(func() {
			for s := range next {
				if err := p.playSession(ctx, s); err != nil {
					cancel(err) // the first counts
				}
				bar.Add()
			}
		})
	}
	for _, s := range sessions {
		if context.Cause(ctx) != nil {
			break
		}
		if _, err := p.store.Create(ctx, s.key, s.state); err != nil {
			cancel(exit.Store.As(err))
			break
		}
		next <- s // workers take what comes until it is closed
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

func (p *player) playSession(ctx context.Context, s *recorded) error {
	start := time.Now()
	defer func() { s.took = time.Since(start) }()
	for input := range p.agent.Inputs(s.key) {
		if err := p.playInvocation(ctx, s, input); err != nil {
			return err
		}
	}
	return nil
}

// playInvocation plays the invocation of an input. A plugin's failure ends the invocation, and is
// counted.
func (p *player) playInvocation(ctx context.Context, s *recorded, input *session.Event) error {
	s.invocations++
	for e, err := range p.runner.Run(ctx, s.key, input, session.RunConfig{}) {
		var failed *plugin.Error
		switch {
		case err == nil:
			s.note(e)
		case errors.As(err, &failed) && context.Cause(ctx) == nil:
			p.counters.failure(s, err)
		default:
			return exit.OfRun(err)
		}
	}
	return nil
}
