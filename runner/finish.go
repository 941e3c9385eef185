package runner

import (
	"context"
	"errors"

	"github.com/plughook/plughook/plugin"
)

// finish calls AfterRun and returns the invocation's error. It runs while a panic of the caller's loop
// body goes by, and then yields nothing.
func (x *run) finish(ctx context.Context) error {
	if !x.ended {
		x.ended = true // a panic, or runtime.Goexit, in the caller's loop body
	}
	errs := []error{x.end.Err}
	defer func() {
		if err := errors.Join(errs...); err != nil && (x.left || x.body) {
			x.opt.Log.Warn("the failure of a run did not reach its caller, who has left", "session", x.key, "invocation", x.id, "error", err)
		}
	}()
	x.afterRun(ctx, 0, &errs)
	return errors.Join(errs...)
}

// afterRun calls the AfterRun hooks from number i on, each even if the caller's loop body panics on what
// one before it emitted.
func (x *run) afterRun(ctx context.Context, i int, errs *[]error) {
	if i == len(x.opt.Plugins) {
		x.background(ctx)
		return
	}
	defer x.afterRun(ctx, i+1, errs)
	p := x.opt.Plugins[i]
	switch {
	case p.AfterRun == nil || p.Background:
		return
	case p.Observer:
		x.observe(ctx, i, plugin.AfterRun, hookArgs{end: x.end})
		return
	}
	ctx, cancel := x.work.detach(ctx, x.opt.AfterRunTimeout) // of its own: one that hangs takes nobody's time but its own
	defer cancel()
	if x.stale { // an append failed: what is in the log now?
		if err := x.load(ctx); err != nil {
			x.opt.Log.Warn("session not read again before AfterRun", "session", x.key, "invocation", x.id, "error", err)
		}
	}
	out, err := x.call(ctx, i, plugin.AfterRun, hookArgs{end: x.end})
	if err == nil && len(out.Emit) > 0 {
		_, err = x.putAll(ctx, i, plugin.AfterRun, out, "", "")
	}
	if err != nil {
		*errs = append(*errs, err)
	}
}

// background starts the AfterRun hooks that are called in the background.
func (x *run) background(ctx context.Context) {
	for i, p := range x.opt.Plugins {
		if p.AfterRun == nil || !p.Background {
			continue
		}
		inv, end := x.invocation(), x.end
		done := x.work.more("background work of plugin " + p.Name)
		go func() {
			defer done()
			ctx, cancel := x.work.detach(ctx, x.opt.BackgroundTimeout)
			defer cancel()
			y := newRun(x.Runner, x.key, nil, x.cfg, nil)
			y.id, y.inputID, y.input, y.now, y.end, y.born = x.id, x.inputID, x.input, inv, end, x.born
			if err := y.late(ctx, i); err != nil {
				x.opt.Log.Warn("background work was lost", "plugin", p.Name, "session", x.key, "invocation", x.id, "error", err)
			}
		}()
	}
}

// late calls one AfterRun hook and appends what it emits, in a turn of its own.
func (x *run) late(ctx context.Context, i int) error {
	out, err := x.call(ctx, i, plugin.AfterRun, hookArgs{end: x.end})
	if err != nil || len(out.Emit) == 0 {
		return err
	}
	if x.turn, err = x.opt.Sessions.Lease(ctx, x.key); err != nil {
		return err
	}
	defer x.turn.Release()
	if err := x.load(ctx); err != nil {
		return err
	}
	x.ended = true
	_, err = x.putAll(ctx, i, plugin.AfterRun, out, "", "")
	return err
}
