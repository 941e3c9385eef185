package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// rewind runs a command under the configured plugins. What it has done is told from the plan.
func (p *program) rewind(ctx context.Context, svc session.Service, c *config, key session.Key, command session.Command, plan *rewind.Plan) (err error) {
	var done, wrong *session.Event
	with := func(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
		if slices.ContainsFunc(c.Plugins, func(p pluginConfig) bool { return p.Rewind != nil }) {
			return plugins, nil
		}
		return append(plugins, rewind.New(svc)), nil // after those that decide who may rewind
	}
	err = p.carryOut(ctx, svc, c, key, command, with, func(e *session.Event) {
		switch {
		case e.Actions.Rewind != nil:
			done = e
		case e.ErrorCode == rewind.Invalid:
			wrong = e
		}
	})
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return exitUsage.errorf("%s", printable(wrong.ErrorMessage))
	case done == nil:
		return exitDenied.errorf("nothing was rewound: a plugin has taken the command (--explain shows which)")
	case p.jsonl:
		return nil
	case plan.To != done.Actions.Rewind.To || plan.Position != done.Seq-1: // something was said meanwhile
		plan = &rewind.Plan{To: done.Actions.Rewind.To, Position: done.Seq - 1}
	}
	return p.showPlan(key, plan, true)
}

// carryOut runs a command on a kept session, under the configured plugins and what with adds to them, with no agent. It
// passes on the run's events, and with --jsonl prints them. A denial is an error.
func (p *program) carryOut(ctx context.Context, svc session.Service, c *config, key session.Key, command session.Command,
	with func([]*plugin.Plugin) ([]*plugin.Plugin, error), note func(*session.Event)) (err error) {
	artifacts, shut, err := c.artifacts()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	configured, err := c.plugins(ctx, lent{log: p.log, artifacts: artifacts, sessions: svc})
	if err != nil {
		return err
	}
	plugins, err := with(configured)
	if err != nil {
		return errors.Join(err, closePlugins(ctx, configured))
	}
	nobody := agent.New("nobody", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("a command has no answer")) }
	})
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: nobody, Sessions: svc, Plugins: plugins})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	var says verdict
	for e, err := range r.Run(ctx, key, command.Event(), session.RunConfig{}) {
		if err != nil {
			return runFailure(err)
		}
		says.note(e)
		note(e)
		if p.jsonl {
			if err := p.writeJSON(e); err != nil {
				return err
			}
		}
	}
	return says.err()
}
