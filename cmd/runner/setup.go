package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// setup is a configuration at work: a Runner on a store, and the session that the flags name.
type setup struct {
	runner   *runner.Runner
	sessions session.Service
	key      session.Key
	inMemory bool // the session ends with the program

	parts       *config.Parts
	closeRunner func() error
}

// setUp opens what the configuration names, and makes a Runner of it.
func (p *program) setUp(ctx context.Context, c *config.Config) (*setup, error) {
	s := &setup{key: p.Key(c)}
	fresh := s.key.ID == ""
	if fresh {
		s.key.ID = session.NewID()
	}
	if err := s.key.Check(false); err != nil {
		return nil, exit.Usage.As(err)
	}
	o := config.Options{Log: p.Log, Store: p.StoreName}
	if p.Verbose {
		o.ServerStderr = p.Err
	}
	s.inMemory = strings.HasPrefix(cmp.Or(p.StoreName, c.Store()), "memory")
	var err error
	s.parts, err = c.Open(ctx, o)
	if err != nil {
		return nil, configError(c, err)
	}
	s.sessions = s.parts.Sessions
	s.runner, s.closeRunner, err = p.NewRunner(ctx, runner.Options{
		Agent:    s.parts.Agent,
		Sessions: s.sessions,
		Plugins:  s.parts.Plugins,
	})
	if err != nil {
		return nil, errors.Join(err, s.parts.Close(ctx))
	}
	if fresh {
		p.Note("session %s", s.key.ID)
	}
	return s, nil
}

// finish closes everything at the end of a command, and adds what goes wrong to its error.
func (s *setup) finish(ctx context.Context, err *error) {
	closed := errors.Join(s.closeRunner(), exit.OfConfig(s.parts.Close(ctx)))
	if closed != nil {
		*err = errors.Join(*err, closed)
	}
}

const noAgent = `no agent is configured, so nobody would answer. Put one into %s:

    agent:
      model: gemini:gemini-2.5-flash   # with GEMINI_API_KEY set; openai:NAME and script:FILE are others
      instruction: Answer in one sentence.

or see "runner demo", which brings its own`

// configError gives an error of package config its exit code, and says how to write an agent if
// there is none.
func configError(c *config.Config, err error) error {
	if errors.Is(err, config.ErrNoAgent) {
		return exit.Usage.Errorf(noAgent, cmp.Or(c.Name(),
			config.DefaultName+" (or another file, named with --config)"))
	}
	return exit.OfConfig(err)
}

// waiting returns the calls that wait for an answer from outside: not one that an agent answers,
// once a call in their conversation has its own.
func (s *setup) waiting(ctx context.Context) ([]session.Call, error) {
	var live []*session.Event
	for e, err := range s.sessions.Read(ctx, s.key, session.Selection{Live: true}) {
		if errors.Is(err, session.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, exit.Store.As(err)
		}
		live = append(live, e)
	}
	calls := slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() })
	var list []session.Call
	for _, c := range calls {
		if held(c) || !slices.ContainsFunc(calls,
			func(other session.Call) bool { return c.Conversation(other.Event.Branch) }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// question says what a call waits for.
func question(c session.Call) string {
	what := fmt.Sprintf("%s: %s %s", c.Event.Author, c.Name, eventtext.Object(c.Args))
	if held(c) {
		what += eventtext.Because(c.Held.Actions.RequestedToolConfirmations[c.ID].Hint)
	}
	return what
}

// held reports whether the call waits for a human's yes or no, rather than for its response.
func held(c session.Call) bool { return c.Held != nil && c.Decision == nil }
