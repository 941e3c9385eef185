package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
)

// call calls one hook. A panic, an answer that the hook cannot give and a change in place are errors, and
// each error is a *plugin.Error. print is the fingerprint of the event in args, 0 if that is the hook's own.
func (x *run) call(ctx context.Context, i int, args plugin.Args, print lent.Fingerprint) (plugin.Outcome, error) {
	p := x.opt.Plugins[i]
	hook := args.Hook
	told := telemetry.On()
	traced := told || x.opt.Trace != nil || x.opt.Log.Enabled(ctx, slog.LevelDebug)
	var start time.Time
	if traced {
		start = time.Now()
	}

	// The hook answers.
	out, err := x.guarded(ctx, p, args, print)
	if err == nil {
		err = out.Check(hook)
	}
	if err != nil {
		out = plugin.Outcome{}
		err = &plugin.Error{Plugin: p.Name, Hook: hook, Err: err}
	}
	if panic := cmp.Or(err, out.Panic()); panic != nil {
		event := ""
		if args.Event != nil {
			event = args.Event.ID
		}
		panicked.Log(x.opt.Log, "plugin panicked", panic, "plugin", p.Name, "hook", hook, "session", x.key,
			"invocation", x.id, "event", event)
	}

	// Whoever traces is told.
	if traced {
		c := HookCall{
			Plugin:     p.Name,
			Hook:       hook,
			Key:        x.key,
			Invocation: x.id,
			Event:      args.Event,
			Outcome:    out,
			Err:        err,
			Duration:   time.Since(start),
		}
		x.report(ctx, c)
		if told {
			c.tell(ctx, start)
		}
	}

	// What failed open is logged, and noted on the events that follow.
	if out.Unchecked != "" {
		x.opt.Log.Warn("plugin failed open", "plugin", p.Name, "hook", hook, "session", x.key, "invocation", x.id, "error", out.Unchecked)
	}
	if hook == plugin.BeforeRun || hook == plugin.BeforeModel {
		x.noteUnchecked(p.Name, hook, out.Unchecked)
	}
	return out, err
}

// guarded calls one hook, and finds out whether it panicked or changed what it was lent.
func (x *run) guarded(
	ctx context.Context, p *plugin.Plugin, args plugin.Args, print lent.Fingerprint,
) (out plugin.Outcome, err error) {
	inv := x.invocation()
	returned := false
	defer func() {
		if x.snapshot.Restore() && err == nil {
			err = fmt.Errorf("%w: the invocation", plugin.ErrInPlace)
		}
		if returned {
			return
		}
		out = plugin.Outcome{}
		err = plugin.Recovered(recover())
		if err == nil { // runtime.Goexit: this goroutine ends
			x.fail(ctx, &plugin.Error{Plugin: p.Name, Hook: args.Hook, Err: fmt.Errorf("%w: runtime.Goexit", plugin.ErrPanic)})
		}
	}()
	if args.Hook == plugin.OnEvent { // often: a few times for each event
		out, err = p.OnEvent(ctx, inv, args.Event)
	} else {
		out, err = p.Call(ctx, inv, args)
	}
	returned = true
	if err == nil && print.Changed(args.Event) {
		err = plugin.ErrInPlace
	}
	return out, err
}

// noteUnchecked notes that what follows was not checked by a hook that failed open, or that it is again.
func (x *run) noteUnchecked(name string, hook plugin.Hook, unchecked string) {
	note := plugin.Note{Plugin: name, Hook: hook}
	if unchecked == "" {
		delete(x.unchecked, note)
		return
	}
	if x.unchecked == nil {
		x.unchecked = map[plugin.Note]bool{}
	}
	x.unchecked[note] = true
}

// ask calls a hook that is not OnEvent, and appends what it emits. The emissions get the branch and the
// agent. The store refuses an append that would take a shared state value beyond its bound, because another
// session has changed it meanwhile. Then BeforeRun is called again. For BeforeModel the request has to be
// built anew first: errRefused says so. AfterRun is called once.
func (x *run) ask(ctx context.Context, i int, args plugin.Args, branch, agent string) (plugin.Outcome, *batch, error) {
	p := x.opt.Plugins[i]
	for offers := 1; ; offers++ {
		if p.SharedState {
			if err := x.readShared(ctx); err != nil {
				x.fail(ctx, err)
				return plugin.Outcome{}, nil, err
			}
		}
		out, err := x.call(ctx, i, args, 0)
		if err != nil {
			x.fail(ctx, err)
			return out, nil, err
		}
		if out.IsZero() {
			return out, nil, nil
		}
		b, err := x.emit(ctx, i, args.Hook, out, branch, agent)
		if x.offerAgain(b, offers) {
			switch args.Hook {
			case plugin.BeforeRun:
				continue
			case plugin.BeforeModel:
				return out, b, errRefused
			}
		}
		return out, b, x.settle(ctx, b, err)
	}
}

// emit takes what a plugin emitted in another hook than OnEvent through offer and commit.
func (x *run) emit(ctx context.Context, i int, hook plugin.Hook, out plugin.Outcome, branch, agent string) (*batch, error) {
	p := x.opt.Plugins[i]
	b := &batch{author: session.PluginPrefix + p.Name, hook: hook}
	if out.Stop && hook != plugin.BeforeRun { // there the others are asked first
		b.stop = &plugin.End{Kind: plugin.EndStopped, Plugin: p.Name, Reason: out.Reason}
	}
	for _, m := range out.Emit {
		e, err := x.emission(m, i, hook, branch, agent, out.Reason)
		if err == nil {
			_, err = x.offer(ctx, b, e, i+1)
		}
		if err != nil {
			return b, err
		}
	}
	return b, x.commit(ctx, b)
}

// errRefused says that the store has refused what BeforeModel emitted, because a state value would pass its
// bound.
var errRefused = errors.New("a bound refused what the hook emitted")

// beforeRun asks every plugin, and stops the run afterwards if one of them wants that.
func (x *run) beforeRun(ctx context.Context) {
	args := plugin.Args{Hook: plugin.BeforeRun}
	var stop *plugin.End
	for i, p := range x.opt.Plugins {
		switch {
		case p.BeforeRun == nil:
			continue
		case p.Observer:
			x.observers.add(&x.tasks, x.observation(ctx, i, args))
			continue
		}
		out, _, err := x.ask(ctx, i, args, "", "")
		if (out.Stop || out.Withhold) && stop == nil {
			stop = &plugin.End{Plugin: p.Name, Reason: out.Reason}
		}
		if err != nil || x.ended {
			return
		}
	}
	if stop != nil {
		x.stop(stop.Plugin, stop.Reason)
	}
}

// rebuildLimit is how often one plugin may have a model request built anew.
const rebuildLimit = 8

// beforeModel is agent.Host.BeforeModel. ctx is the run's context, which hooks get; agentCtx is that of the
// agent that asks, which may have a time limit of its own.
func (x *run) beforeModel(ctx, agentCtx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error) {
	rebuilt := make([]int, len(x.opt.Plugins))
	refused := 0
again:
	// May there be a model call at all?
	if cause := context.Cause(ctx); cause != nil {
		x.fail(ctx, cause)
	}
	if x.ended {
		return nil, agent.ErrEnded
	}
	if cause := context.Cause(agentCtx); cause != nil {
		return nil, cause
	}

	// The request is built from the log as it is, and not from what somebody has made of its events. AfterRun
	// sees the log, too.
	err := x.checkSnapshot()
	if err == nil {
		err = x.loan.Check(x.view.Live())
	}
	if err != nil {
		x.stale = true
		x.views.Drop(x.key)
		x.fail(ctx, err)
		return nil, agent.ErrEnded
	}
	req, err := build(x.invocation())
	if err != nil {
		return nil, err
	}

	// Each plugin may change it, answer in the model's place, or change the log.
	shared := true // with the log
	for i, p := range x.opt.Plugins {
		switch {
		case p.BeforeModel == nil:
			continue
		case p.Observer:
			x.observers.add(&x.tasks, x.observation(ctx, i, plugin.Args{Hook: plugin.BeforeModel, Request: req.Clone()}))
			continue
		}
		if shared {
			req.Contents = ownContents(req.Contents)
			shared = false
		}
		out, b, err := x.ask(ctx, i, plugin.Args{Hook: plugin.BeforeModel, Request: req}, req.Branch, req.Agent)
		if errors.Is(err, errRefused) {
			// The hook may have changed the request. It is built anew, and everybody is asked once more.
			refused++
			if refused < offerLimit {
				goto again
			}
			x.fail(ctx, &plugin.Error{Plugin: p.Name, Hook: plugin.BeforeModel, Err: session.ErrBound})
		}
		switch {
		case err != nil || x.ended:
			return nil, agent.ErrEnded
		case out.Withhold && len(b.events) == 0:
			x.stop(p.Name, out.Reason)
			return nil, agent.ErrEnded
		case out.Withhold:
			return nil, nil
		case len(out.Emit) == 0:
			continue
		}
		rebuilt[i]++
		if rebuilt[i] > rebuildLimit {
			err := fmt.Errorf("%w: it emitted %d times before one model call", plugin.ErrOutcome, rebuilt[i])
			x.fail(ctx, &plugin.Error{Plugin: p.Name, Hook: plugin.BeforeModel, Err: err})
			return nil, agent.ErrEnded
		}
		goto again
	}
	if x.ended { // in build
		return nil, agent.ErrEnded
	}
	return req, nil
}

// ownContents returns contents with parts of their own, so that what a plugin assigns to their fields is in this request
// only. What parts point to is shared.
func ownContents(shared []*genai.Content) []*genai.Content {
	n := 0
	for _, c := range shared {
		if c != nil {
			n += len(c.Parts)
		}
	}
	list := make([]*genai.Content, len(shared))
	contents := make([]genai.Content, len(shared))
	parts := make([]genai.Part, n)
	pointers := make([]*genai.Part, n)
	for i, c := range shared {
		if c == nil {
			continue
		}
		n = len(c.Parts)
		contents[i] = genai.Content{Role: c.Role, Parts: pointers[:n:n]}
		list[i] = &contents[i]
		for j, p := range c.Parts {
			if p != nil {
				parts[j] = *p
				pointers[j] = &parts[j]
			}
		}
		parts, pointers = parts[n:], pointers[n:]
	}
	return list
}
