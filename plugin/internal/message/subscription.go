package message

import (
	"context"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// Args is what a hook is called with, besides the invocation.
type Args struct {
	Hook    plugin.Hook
	Event   *session.Event // of OnEvent
	Request *model.Request // of BeforeModel, which the plugin may change
	End     plugin.End     // of AfterRun
}

// WireHook has the wire's number for each hook.
var WireHook = map[plugin.Hook]wire.Hook{
	plugin.BeforeRun:   wire.Hook_BEFORE_RUN,
	plugin.BeforeModel: wire.Hook_BEFORE_MODEL,
	plugin.OnEvent:     wire.Hook_ON_EVENT,
	plugin.AfterRun:    wire.Hook_AFTER_RUN,
}

// Subscription returns what a plugin subscribes to, as a message.
func Subscription(p *plugin.Plugin) *wire.Subscription {
	s := &wire.Subscription{
		Partials:    p.Partials,
		Observer:    p.Observer,
		Background:  p.Background,
		SharedState: p.SharedState,
	}
	if f := p.Filter; f != nil {
		s.Filter = &wire.Filter{Authors: f.Authors}
		for _, h := range f.Has {
			s.Filter.Has = append(s.Filter.Has, string(h))
		}
	}
	for _, hook := range p.Subscribes() {
		s.Hooks = append(s.Hooks, WireHook[hook])
	}
	return s
}

// Hooks returns a plugin with the hooks of a subscription. Each of them calls call.
func Hooks(s *wire.Subscription, call func(context.Context, *session.Invocation, Args) (plugin.Outcome, error)) *plugin.Plugin {
	p := &plugin.Plugin{
		Partials:    s.GetPartials(),
		Observer:    s.GetObserver(),
		Background:  s.GetBackground(),
		SharedState: s.GetSharedState(),
	}
	if f := s.GetFilter(); f != nil {
		p.Filter = &plugin.Filter{Authors: f.Authors}
		for _, h := range f.Has {
			p.Filter.Has = append(p.Filter.Has, plugin.EventFeature(h))
		}
	}
	for _, hook := range s.GetHooks() {
		switch hook {
		case wire.Hook_BEFORE_RUN:
			p.BeforeRun = func(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
				return call(ctx, inv, Args{Hook: plugin.BeforeRun})
			}
		case wire.Hook_BEFORE_MODEL:
			p.BeforeModel = func(ctx context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
				return call(ctx, inv, Args{Hook: plugin.BeforeModel, Request: req})
			}
		case wire.Hook_ON_EVENT:
			p.OnEvent = func(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				return call(ctx, inv, Args{Hook: plugin.OnEvent, Event: e})
			}
		case wire.Hook_AFTER_RUN:
			p.AfterRun = func(ctx context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
				return call(ctx, inv, Args{Hook: plugin.AfterRun, End: end})
			}
		}
	}
	return p
}
