package runner

import (
	"context"
	"errors"
	"log/slog"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// finish ends the run: it appends what was shown of an answer that broke off, and a note if the run was
// cancelled. Then it calls AfterRun. It returns the run's error. It also runs while the caller's loop body is
// panicking; then it yields nothing.
func (x *run) finish(ctx context.Context) error {
	if !x.ended {
		x.ended = true // a panic, or runtime.Goexit, in the caller's loop body
	}
	var errs []error
	if x.outside == nil || !x.outside.over { // else an agent outside has told it
		errs = append(errs, x.end.Err)
	}
	if err := x.checkSnapshot(); err != nil {
		errs = append(errs, err)
	}
	defer func() {
		if err := errors.Join(errs...); err != nil && (x.left || x.inLoopBody) {
			x.opt.Log.Warn("the failure of a run did not reach its caller, who has left", "session", x.key, "invocation", x.id, "error", err)
		}
	}()
	detached, cancel := x.tasks.detach(ctx)
	defer cancel()
	x.lastWords(ctx, detached, &errs)
	if x.then != nil && x.view != nil && !x.stale {
		x.then(x.invocation(), errors.Join(errs...))
	}
	return errors.Join(errs...)
}

// lastWords keeps what was shown of an answer that broke off, and notes that the run was cancelled. Then it
// calls AfterRun, even if the caller's loop body panics on what was kept.
func (x *run) lastWords(ctx, detached context.Context, errs *[]error) {
	defer func() {
		if x.outside == nil || x.outside.over {
			x.afterRun(detached, 0, errs)
		}
	}()
	for _, last := range []func(context.Context) error{x.keepShown, x.noteCancelled, x.noteStopped} {
		if err := last(ctx); err != nil {
			*errs = append(*errs, err)
		}
	}
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
	args := plugin.Args{Hook: plugin.AfterRun, End: x.end}
	switch {
	case p.AfterRun == nil || p.Background:
		return
	case p.Observer:
		x.observers.add(&x.tasks, x.observation(ctx, i, args))
		return
	}

	// Each hook has a time of its own: one that hangs takes nobody's time but its own.
	ctx, cancel := context.WithTimeout(ctx, x.opt.AfterRunTimeout)
	defer cancel()

	// After a failed append the view is not known to be the log.
	if x.stale {
		if err := x.load(ctx); err != nil {
			x.opt.Log.Warn("session not read again before AfterRun", "session", x.key, "invocation", x.id, "error", err)
		}
	}
	if _, _, err := x.ask(ctx, i, args, "", ""); err != nil {
		*errs = append(*errs, err)
	}
}

// background starts the AfterRun hooks that are called in the background.
func (x *run) background(ctx context.Context) {
	for i, p := range x.opt.Plugins {
		if p.AfterRun == nil || !p.Background {
			continue
		}
		y := newRun(x.Runner, x.key, nil, x.cfg, nil)
		y.id = x.id
		y.inputID = x.inputID
		y.input = x.input
		inv := *x.invocation()
		inv.Folded = nil // the next run may change what is kept
		y.snapshot.Lend(&inv)
		y.end = x.end
		y.number = x.number
		task := "background work of plugin " + p.Name
		x.tasks.BeginPart(task)
		go func() {
			defer x.tasks.End(task)
			ctx, cancel := x.tasks.detachFor(ctx, x.opt.BackgroundTimeout)
			defer cancel()
			err := y.appendBackground(ctx, i)
			if err == nil {
				return
			}

			// A compaction of a view that is no longer the live one is made anew at the next run: nothing is
			// wrong.
			level := slog.LevelWarn
			what := "background work was lost"
			if errors.Is(err, session.ErrConflict) || errors.Is(err, session.ErrIDReused) {
				level = slog.LevelDebug
				what = "background work came too late"
			}
			x.opt.Log.Log(ctx, level, what, "plugin", p.Name, "session", x.key, "invocation", x.id, "error", err)
		}()
	}
}

// appendBackground calls one AfterRun hook outside of any lease, and appends what it emits under a lease
// of its own.
func (x *run) appendBackground(ctx context.Context, i int) error {
	if x.opt.Plugins[i].SharedState {
		if err := x.readShared(ctx); err != nil {
			return err
		}
	}
	out, err := x.call(ctx, i, plugin.Args{Hook: plugin.AfterRun, End: x.end}, 0)
	if err != nil || len(out.Emit) == 0 {
		return err
	}
	x.lease, err = x.waitForLease(ctx, "background work of "+x.opt.Plugins[i].Name)
	if err != nil {
		return err
	}
	defer x.lease.Release()
	if err := x.load(ctx); err != nil {
		return err
	}
	x.ended = true // the run is over: neither a stop nor an error ends it again
	b, err := x.emit(ctx, i, plugin.AfterRun, out, "", "")
	return x.settle(ctx, b, err)
}
