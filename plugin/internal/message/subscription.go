package message

import (
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// WireHook has the wire's number for each hook, and HookOf the hook for each number. The wire's name for
// BeforeRun is BEFORE_RUN.
var (
	WireHook = map[plugin.Hook]wire.Hook{}
	HookOf   = map[wire.Hook]plugin.Hook{}
)

func init() {
	for name, number := range wire.Hook_value {
		for _, kind := range plugin.Hooks {
			if strings.EqualFold(strings.ReplaceAll(name, "_", ""), string(kind.Name)) {
				WireHook[kind.Name] = wire.Hook(number)
				HookOf[wire.Hook(number)] = kind.Name
			}
		}
	}
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
func Hooks(s *wire.Subscription, call plugin.HookFunc) *plugin.Plugin {
	p := &plugin.Plugin{
		Partials:    s.GetPartials(),
		Observer:    s.GetObserver(),
		Background:  s.GetBackground(),
		SharedState: s.GetSharedState(),
	}
	if f := s.GetFilter(); f != nil {
		p.Filter = &plugin.Filter{Authors: f.Authors}
		for _, feature := range f.Has {
			p.Filter.Has = append(p.Filter.Has, plugin.EventFeature(feature))
		}
	}
	for _, number := range s.GetHooks() {
		p.SetHooks(call, HookOf[number])
	}
	return p
}
