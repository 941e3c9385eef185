package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A Hook names one of the hooks.
type Hook string

// The hooks. Hooks has what is known of each.
const (
	BeforeRun   Hook = "BeforeRun"
	BeforeModel Hook = "BeforeModel"
	OnEvent     Hook = "OnEvent"
	AfterRun    Hook = "AfterRun"
)

// Args is what a hook is called with besides the invocation.
type Args struct {
	Hook    Hook
	Event   *session.Event // of OnEvent
	Request *model.Request // of BeforeModel, which the plugin may change
	End     End            // of AfterRun
}

// A HookFunc is a hook of any kind. Of Args it reads what that hook is called with.
type HookFunc func(context.Context, *session.Invocation, Args) (Outcome, error)

// A HookKind is what is known of a hook. Everything that treats all hooks alike ranges over Hooks.
type HookKind struct {
	Name Hook
	// Replace, Withhold and Stop say whether the hook may set these fields of its Outcome. Every hook may emit.
	Replace, Withhold, Stop bool

	has    func(*Plugin) bool
	invoke func(context.Context, *Plugin, *session.Invocation, Args) (Outcome, error)
	set    func(*Plugin, HookFunc)
}

// Hooks are all hooks, in the order in which a run first calls them. It is not changed.
var Hooks = []HookKind{
	{
		Name:     BeforeRun,
		Withhold: true,
		Stop:     true,
		has:      func(p *Plugin) bool { return p.BeforeRun != nil },
		invoke: func(ctx context.Context, p *Plugin, inv *session.Invocation, _ Args) (Outcome, error) {
			return p.BeforeRun(ctx, inv)
		},
		set: func(p *Plugin, f HookFunc) {
			p.BeforeRun = func(ctx context.Context, inv *session.Invocation) (Outcome, error) {
				return f(ctx, inv, Args{Hook: BeforeRun})
			}
		},
	},
	{
		Name:     BeforeModel,
		Withhold: true,
		Stop:     true,
		has:      func(p *Plugin) bool { return p.BeforeModel != nil },
		invoke: func(ctx context.Context, p *Plugin, inv *session.Invocation, args Args) (Outcome, error) {
			return p.BeforeModel(ctx, inv, args.Request)
		},
		set: func(p *Plugin, f HookFunc) {
			p.BeforeModel = func(ctx context.Context, inv *session.Invocation, r *model.Request) (Outcome, error) {
				return f(ctx, inv, Args{Hook: BeforeModel, Request: r})
			}
		},
	},
	{
		Name:     OnEvent,
		Replace:  true,
		Withhold: true,
		Stop:     true,
		has:      func(p *Plugin) bool { return p.OnEvent != nil },
		invoke: func(ctx context.Context, p *Plugin, inv *session.Invocation, args Args) (Outcome, error) {
			return p.OnEvent(ctx, inv, args.Event)
		},
		set: func(p *Plugin, f HookFunc) {
			p.OnEvent = func(ctx context.Context, inv *session.Invocation, e *session.Event) (Outcome, error) {
				return f(ctx, inv, Args{Hook: OnEvent, Event: e})
			}
		},
	},
	{
		Name: AfterRun, // the run has ended: nothing is left to withhold or to stop
		has:  func(p *Plugin) bool { return p.AfterRun != nil },
		invoke: func(ctx context.Context, p *Plugin, inv *session.Invocation, args Args) (Outcome, error) {
			return p.AfterRun(ctx, inv, args.End)
		},
		set: func(p *Plugin, f HookFunc) {
			p.AfterRun = func(ctx context.Context, inv *session.Invocation, end End) (Outcome, error) {
				return f(ctx, inv, Args{Hook: AfterRun, End: end})
			}
		},
	},
}

// kind returns what is known of a hook, nil if there is no hook of that name.
func (h Hook) kind() *HookKind {
	for i := range Hooks {
		if Hooks[i].Name == h {
			return &Hooks[i]
		}
	}
	return nil
}

// HookNames returns the names of all hooks, for a message.
func HookNames() string {
	var names []string
	for _, k := range Hooks {
		names = append(names, string(k.Name))
	}
	return strings.Join(names, ", ")
}

// Subscribes lists the hooks that the plugin has.
func (p *Plugin) Subscribes() []Hook {
	var hooks []Hook
	for _, k := range Hooks {
		if k.has(p) {
			hooks = append(hooks, k.Name)
		}
	}
	return hooks
}

// Call calls the hook that args names. A plugin that does not have it returns an error.
func (p *Plugin) Call(ctx context.Context, inv *session.Invocation, args Args) (Outcome, error) {
	k := args.Hook.kind()
	if k == nil || !k.has(p) {
		return Outcome{}, fmt.Errorf("plugin %s has no hook %q", p.Name, args.Hook)
	}
	return k.invoke(ctx, p, inv, args)
}

// SetHooks makes f the hooks that are named; it changes p. Names that are no hook are ignored.
func (p *Plugin) SetHooks(f HookFunc, hooks ...Hook) {
	for _, k := range Hooks {
		if slices.Contains(hooks, k.Name) {
			k.set(p, f)
		}
	}
}

// Wrap returns a copy of p in which every hook that p has is replaced by around. call is p's own hook, and args
// says which.
func (p *Plugin) Wrap(around func(ctx context.Context, inv *session.Invocation, args Args, call HookFunc) (Outcome, error)) *Plugin {
	inner := *p
	w := inner
	for _, k := range Hooks {
		if !k.has(p) {
			continue
		}
		call := func(ctx context.Context, inv *session.Invocation, args Args) (Outcome, error) {
			return k.invoke(ctx, &inner, inv, args)
		}
		k.set(&w, func(ctx context.Context, inv *session.Invocation, args Args) (Outcome, error) {
			return around(ctx, inv, args, call)
		})
	}
	return &w
}
