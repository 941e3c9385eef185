package main

import (
	"context"
	"errors"
	"iter"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// rewind runs a command under the configured plugins. What it has done is told from the plan.
func (p *program) rewind(ctx context.Context, svc session.Service, c *config, key session.Key, command session.Command, plan *rewind.Plan) (err error) {
	artifacts, shut, err := c.artifacts()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	plugins, err := c.plugins(ctx, lent{log: p.log, artifacts: artifacts})
	if err != nil {
		return err
	}
	nobody := agent.New("nobody", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("a rewind has no answer")) }
	})
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: nobody, Sessions: svc, Plugins: c.rewinding(plugins, svc)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	var done, wrong *session.Event
	var says verdict
	for e, err := range r.Run(ctx, key, command.Event(), session.RunConfig{}) {
		if err != nil {
			return runFailure(err)
		}
		says.note(e)
		switch {
		case e.Actions.Rewind != nil:
			done = e
		case e.ErrorCode == rewind.Invalid:
			wrong = e
		}
		if p.jsonl {
			if err := p.writeJSON(e); err != nil {
				return err
			}
		}
	}
	switch {
	case says.err() != nil:
		return says.err()
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

// rewinding returns the plugins with those of the kind rewind reading the log, or with one at the end: after
// those that decide who may rewind.
func (c *config) rewinding(plugins []*plugin.Plugin, svc session.Service) []*plugin.Plugin {
	there := false
	for i := range c.Plugins {
		pc := &c.Plugins[i]
		for n, p := range plugins {
			if pc.Rewind == nil || p.Name != pc.Name {
				continue
			}
			there, plugins[n] = true, rewind.Over(svc)
			plugins[n].Name = pc.Name
			if pc.Timeout > 0 {
				plugins[n] = plugin.Timeout(plugins[n], pc.Timeout)
			}
			if pc.OnError == "open" {
				plugins[n] = plugin.FailOpen(plugins[n])
			}
		}
	}
	if !there {
		plugins = append(plugins, rewind.Over(svc))
	}
	return plugins
}
