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

// A Player plays recordings through a Runner whose agent is Agent.
type Player struct {
	Program  *cli.Program
	Runner   *runner.Runner
	Agent    *replay.Agent
	Counters *Counters
	// Create makes a session before its first invocation is played.
	Create func(*Session) error
}

// Play plays the sessions, so many at once, until all are played or something other than a plugin
// fails. Sessions are made in the order of the files, each when it is its turn.
func (p *Player) Play(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sessions := p.Counters.sessions
	bar := p.Program.Progress("replay", len(sessions))
	defer bar.End()
	next := make(chan *Session)
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
		if err := p.Create(s); err != nil {
			cancel(err)
			break
		}
		next <- s // workers take what comes until it is closed
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

func (p *Player) playSession(ctx context.Context, s *Session) error {
	start := time.Now()
	defer func() { s.took = time.Since(start) }()
	for input := range p.Agent.Inputs(s.Key) {
		if err := p.playInvocation(ctx, s, input); err != nil {
			return err
		}
	}
	return nil
}

// playInvocation plays the invocation of an input. A plugin's failure ends the invocation, and is
// counted.
func (p *Player) playInvocation(ctx context.Context, s *Session, input *session.Event) error {
	s.invocations++
	for e, err := range p.Runner.Run(ctx, s.Key, input, session.RunConfig{}) {
		var failed *plugin.Error
		switch {
		case err == nil:
			s.note(e)
		case errors.As(err, &failed) && context.Cause(ctx) == nil:
			p.Counters.failure(s, err)
		default:
			return exit.OfRun(err)
		}
	}
	return nil
}
