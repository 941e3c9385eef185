package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// setup is a configuration at work: a Runner on a store, and all that they need.
type setup struct {
	runner   *runner.Runner
	sessions session.Service
	key      session.Key
	where    string // the store
	closers
}

// setUp opens what the configuration names. What was opened is closed again if something fails.
func (p *program) setUp(ctx context.Context, c *config) (s *setup, err error) {
	s = &setup{key: p.key(c)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	if s.where, err = p.storeOf(c); err != nil {
		return s, err
	}
	fresh := s.key.ID == ""
	if fresh {
		s.key.ID = session.NewID()
	}
	if err := s.key.Check(false); err != nil {
		return s, exitUsage.as(err)
	}
	artifacts, closed, err := c.artifacts()
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, closed)
	if s.sessions, err = open(ctx, s.where, true); err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() error { return exitStore.as(s.sessions.Close()) })
	plugins, err := c.plugins(ctx, lent{log: p.log, artifacts: artifacts, sessions: s.sessions})
	if err != nil {
		return s, err
	}
	unused := func() error { return closePlugins(ctx, plugins) } // until a Runner has them
	s.closers = append(s.closers, func() error { return unused() })
	b := p.builder(ctx, c, false, artifacts, s.sessions)
	s.closers = append(s.closers, b.end)
	a, err := b.agent()
	if err != nil {
		return s, err
	}
	unused = func() error { return nil }
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: a, Sessions: s.sessions, Plugins: plugins})
	if err != nil {
		return s, err
	}
	s.runner, s.closers = r, append(s.closers, finish)
	if fresh {
		p.note("session %s", s.key.ID)
	}
	return s, nil
}

// closers close what was opened, in the order of opening.
type closers []func() error

// end closes everything, last opened first.
func (c *closers) end() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f())
	}
	*c = nil
	return errors.Join(errs...)
}

// finish closes a setup at the end of a command, and adds what goes wrong to its error.
func (s *setup) finish(err *error) {
	if e := s.end(); e != nil {
		*err = errors.Join(*err, e)
	}
}

// artifacts opens the configuration's artifact store, nil if there is none, and returns what closes it.
func (c *config) artifacts() (artifact.Service, func() error, error) {
	nothing := func() error { return nil }
	switch c.Artifacts {
	case "":
		return nil, nothing, nil
	case "memory", "memory:":
		return artifact.NewMemory(), nothing, nil
	}
	files, err := artifact.Open(c.path(c.Artifacts))
	if err != nil {
		return nil, nothing, exitUsage.as(c.source.Errorf("artifacts", "%w", err))
	}
	return files, files.Close, nil
}

// dryArtifacts stands for the store where nothing is to be kept.
func (c *config) dryArtifacts() artifact.Service {
	if c.Artifacts == "" {
		return nil
	}
	return artifact.NewMemory()
}

// waiting returns the calls that wait for an answer from outside: not one that an agent answers, once a call
// in their conversation has its own.
func (s *setup) waiting(ctx context.Context) ([]session.Call, error) {
	var live []*session.Event
	for e, err := range s.sessions.Read(ctx, s.key, session.Selection{Live: true}) {
		if errors.Is(err, session.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, exitStore.as(err)
		}
		live = append(live, e)
	}
	calls := slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() })
	var list []session.Call
	for _, c := range calls {
		if held(c) || !slices.ContainsFunc(calls, func(other session.Call) bool { return c.Conversation(other.Event.Branch) }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// question says what a call waits for.
func question(c session.Call) string {
	what := fmt.Sprintf("%s: %s %s", c.Event.Author, c.Name, objectText(c.Args))
	if held(c) {
		what += because(c.Held.Actions.RequestedToolConfirmations[c.ID].Hint)
	}
	return what
}

// held reports whether the call waits for a human's yes or no, rather than for its response.
func held(c session.Call) bool { return c.Held != nil && c.Decision == nil }
