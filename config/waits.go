package config

import (
	"context"
	"iter"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// waits tells Options.Waits of calls. A nil one tells nobody, and changes nothing.
type waits func(what string) (done func())

func (w waits) model(name string, m model.Model) model.Model {
	if w == nil {
		return m
	}
	return toldModel{Model: m, begin: func() func() { return w("model " + name) }}
}

type toldModel struct {
	model.Model
	begin func() (done func())
}

// Named implements model.Named.
func (m toldModel) Named() (provider, name string) {
	if named, is := m.Model.(model.Named); is {
		return named.Named()
	}
	return "", ""
}

// Generate implements model.Model. While the caller has a response, nobody waits for the model.
func (m toldModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		done := m.begin()
		defer func() { done() }()
		for response, err := range m.Model.Generate(ctx, req) {
			done()
			done = func() {}
			if !yield(response, err) {
				return
			}
			done = m.begin()
		}
	}
}

func (w waits) tools(list []*tool.Tool) []*tool.Tool {
	if w == nil {
		return list
	}
	told := make([]*tool.Tool, len(list))
	for i, t := range list {
		c := *t
		c.Run = func(ctx context.Context, call *tool.Call) (map[string]any, error) {
			defer w("tool " + t.Name())()
			return t.Run(ctx, call)
		}
		told[i] = &c
	}
	return told
}

// plugins leaves out what nobody waits for: observers, and work in the background.
func (w waits) plugins(list []*plugin.Plugin) []*plugin.Plugin {
	if w == nil {
		return list
	}
	told := make([]*plugin.Plugin, len(list))
	for i, p := range list {
		told[i] = p
		if p.Observer {
			continue
		}
		told[i] = p.Wrap(func(ctx context.Context, inv *session.Invocation, args plugin.Args, call plugin.HookFunc) (plugin.Outcome, error) {
			if args.Hook != plugin.AfterRun || !p.Background {
				defer w("plugin " + p.Name)()
			}
			return call(ctx, inv, args)
		})
	}
	return told
}
