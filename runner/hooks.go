package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// call calls one hook: a panic and an outcome it cannot have are errors, and each is a *plugin.Error.
func (x *run) call(ctx context.Context, i int, hook plugin.Hook, args hookArgs) (out plugin.Outcome, err error) {
	traced := x.opt.Trace != nil || x.opt.Log.Enabled(ctx, slog.LevelDebug)
	var start time.Time
	if traced {
		start = time.Now()
	}
	out, err = x.guarded(ctx, x.opt.Plugins[i], hook, args)
	if err == nil {
		err = out.Check(hook)
	}
	if err != nil {
		out, err = plugin.Outcome{}, &plugin.Error{Plugin: x.opt.Plugins[i].Name, Hook: hook, Err: err}
	}
	if traced {
		x.report(ctx, HookCall{x.opt.Plugins[i].Name, hook, x.key, x.id, args.event, out, err, time.Since(start)})
	}
	if out.Unchecked != "" {
		x.opt.Log.Warn("plugin failed open", "plugin", x.opt.Plugins[i].Name, "hook", hook, "session", x.key, "invocation", x.id, "error", out.Unchecked)
	}
	if hook == plugin.BeforeRun || hook == plugin.BeforeModel {
		x.lasting(x.opt.Plugins[i].Name, hook, out.Unchecked)
	}
	return out, err
}

// hookArgs is what is at hand: what the hook takes beyond the invocation.
type hookArgs struct {
	event   *session.Event
	seal    *seal // the event's, nil if the event is the hook's own
	request *model.Request
	end     plugin.End
}

func (x *run) guarded(ctx context.Context, p *plugin.Plugin, hook plugin.Hook, args hookArgs) (out plugin.Outcome, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if out, err = (plugin.Outcome{}), plugin.Recovered(recover()); err == nil { // runtime.Goexit: this goroutine ends
			x.fail(ctx, &plugin.Error{Plugin: p.Name, Hook: hook, Err: fmt.Errorf("%w: runtime.Goexit", plugin.ErrPanic)})
		}
	}()
	out, err = x.hook(ctx, p, hook, args)
	returned = true
	return out, err
}

func (x *run) hook(ctx context.Context, p *plugin.Plugin, hook plugin.Hook, args hookArgs) (out plugin.Outcome, err error) {
	inv := x.invocation()
	was := *inv
	defer func() {
		if changedInvocation(&was, inv) {
			if *inv = was; err == nil {
				err = fmt.Errorf("%w: the invocation", plugin.ErrInPlace)
			}
		}
	}()
	switch hook {
	case plugin.BeforeRun:
		return p.BeforeRun(ctx, inv)
	case plugin.BeforeModel:
		return p.BeforeModel(ctx, inv, args.request)
	case plugin.AfterRun:
		return p.AfterRun(ctx, inv, args.end)
	}
	out, err = p.OnEvent(ctx, inv, args.event)
	if err == nil && args.seal != nil && args.seal.broken() {
		err = plugin.ErrInPlace
	}
	return out, err
}

// lasting notes that what follows is unchecked, or that it is not any more.
func (x *run) lasting(name string, hook plugin.Hook, unchecked string) {
	if unchecked == "" {
		delete(x.unchecked[name], hook)
		return
	}
	if x.unchecked == nil {
		x.unchecked = map[string]map[plugin.Hook]plugin.Note{}
	}
	if x.unchecked[name] == nil {
		x.unchecked[name] = map[plugin.Hook]plugin.Note{}
	}
	x.unchecked[name][hook] = plugin.Note{Plugin: name, Hook: hook}
}

func (x *Runner) report(ctx context.Context, c HookCall) {
	x.trace(c)
	if !x.opt.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{slog.String("plugin", c.Plugin), slog.String("hook", string(c.Hook)), slog.String("session", c.Key.String()),
		slog.String("invocation", c.Invocation), slog.Duration("duration", c.Duration)}
	if c.Event != nil {
		attrs = append(attrs, slog.String("event", c.Event.ID))
	}
	for _, did := range c.Did() {
		attrs = append(attrs, slog.Bool(did, true))
	}
	if c.Outcome.Reason != "" {
		attrs = append(attrs, slog.String("reason", c.Outcome.Reason))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.Any("error", c.Err))
		var p *plugin.PanicError
		if errors.As(c.Err, &p) {
			attrs = append(attrs, slog.String("stack", string(p.Stack)))
		}
	}
	x.opt.Log.LogAttrs(ctx, slog.LevelDebug, "hook", attrs...)
}

// trace tells Options.Trace, whose panic is nobody's failure but its own.
func (x *Runner) trace(c HookCall) {
	if x.opt.Trace == nil {
		return
	}
	defer func() {
		if err := plugin.Recovered(recover()); err != nil {
			x.opt.Log.Error("Options.Trace panicked", "plugin", c.Plugin, "hook", c.Hook, "invocation", c.Invocation, "error", err, "stack", string(err.(*plugin.PanicError).Stack))
		}
	}()
	x.opt.Trace(c)
}

// Did lists in words what the hook asked for: "replaced", "emitted", "withheld", "stopped",
// "unchecked" and "failed". It is empty if it asked nothing.
func (c HookCall) Did() []string {
	var did []string
	for _, d := range []struct {
		what string
		is   bool
	}{{"replaced", c.Outcome.Replace != nil}, {"withheld", c.Outcome.Withhold}, {"emitted", len(c.Outcome.Emit) > 0},
		{"stopped", c.Outcome.Stop}, {"unchecked", c.Outcome.Unchecked != ""}, {"failed", c.Err != nil}} {
		if d.is {
			did = append(did, d.what)
		}
	}
	return did
}

func (x *run) beforeRun(ctx context.Context) {
	var stop *plugin.Outcome
	stopper := 0
	for i, p := range x.opt.Plugins {
		switch {
		case p.BeforeRun == nil:
			continue
		case p.Observer:
			x.observe(ctx, i, plugin.BeforeRun, hookArgs{})
			continue
		}
		out, err := x.call(ctx, i, plugin.BeforeRun, hookArgs{})
		if err != nil {
			x.fail(ctx, err)
			return
		}
		if (out.Stop || out.Withhold) && stop == nil {
			stop, stopper = &out, i
		}
		emits := out
		emits.Stop = false // once everybody was asked
		if _, err := x.putAll(ctx, i, plugin.BeforeRun, emits, "", ""); err != nil || x.ended {
			return
		}
	}
	if stop != nil {
		x.stop(x.opt.Plugins[stopper].Name, stop.Reason)
	}
}

// rebuildLimit is how often one plugin may have a model request built anew.
const rebuildLimit = 8

// beforeModel is agent.Host.BeforeModel, for an agent whose context is asked. Hooks have that of the run:
// an agent's own time limit is not theirs.
func (x *run) beforeModel(ctx, asked context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error) {
	rebuilt := make([]int, len(x.opt.Plugins))
again:
	if cause := context.Cause(ctx); cause != nil {
		x.fail(ctx, cause)
	}
	if x.ended {
		return nil, agent.ErrEnded
	}
	if cause := context.Cause(asked); cause != nil {
		return nil, cause
	}
	req, err := build(x.invocation())
	if err != nil {
		return nil, err
	}
	for i, p := range x.opt.Plugins {
		switch {
		case p.BeforeModel == nil:
			continue
		case p.Observer:
			x.observe(ctx, i, plugin.BeforeModel, hookArgs{request: req.Clone()})
			continue
		}
		out, err := x.call(ctx, i, plugin.BeforeModel, hookArgs{request: req})
		if err != nil {
			x.fail(ctx, err)
			return nil, agent.ErrEnded
		}
		b, err := x.putAll(ctx, i, plugin.BeforeModel, out, req.Branch, req.Agent)
		switch {
		case err != nil || x.ended:
			return nil, agent.ErrEnded
		case out.Withhold && len(b.events) == 0:
			x.stop(p.Name, out.Reason)
			return nil, agent.ErrEnded
		case out.Withhold:
			return nil, nil
		case len(out.Emit) > 0:
			if rebuilt[i]++; rebuilt[i] > rebuildLimit {
				x.fail(ctx, &plugin.Error{Plugin: p.Name, Hook: plugin.BeforeModel, Err: fmt.Errorf("%w: it emitted %d times before one model call", plugin.ErrOutcome, rebuilt[i])})
				return nil, agent.ErrEnded
			}
			goto again
		}
	}
	if x.ended { // in build
		return nil, agent.ErrEnded
	}
	return req, nil
}
