package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plughook/plughook/internal/inflight"
	"github.com/plughook/plughook/session"
)

// aroundEach returns a copy of p in which every hook is called through around, on a copy of the request and, if
// copies says so, of the event and the invocation. Changes to the request are kept only if around returns no
// error.
func aroundEach(p *Plugin, copies bool, around func(context.Context, Hook, func(context.Context) (Outcome, error)) (Outcome, error)) *Plugin {
	return p.Wrap(func(ctx context.Context, inv *session.Invocation, args Args, call HookFunc) (Outcome, error) {
		request := args.Request
		if request != nil {
			args.Request = request.Clone()
		}
		if copies && args.Event != nil {
			args.Event = args.Event.Clone()
		}
		if copies && inv != nil {
			own := *inv
			inv = &own
		}
		out, err := around(ctx, args.Hook, func(ctx context.Context) (Outcome, error) { return call(ctx, inv, args) })
		if request != nil && err == nil && out.Unchecked == "" {
			*request = *args.Request
		}
		return out, err
	})
}

// recovering calls a hook, and turns its panic into an error.
func recovering(ctx context.Context, call func(context.Context) (Outcome, error)) (out Outcome, err error) {
	defer func() {
		if e := Recovered(recover()); e != nil {
			out = Outcome{}
			err = e
		}
	}()
	return call(ctx)
}

// FailOpen returns p with its failures turned into warnings: where a hook returns an error or
// panics, the run goes on, and what p has not checked is marked so (Outcome.Unchecked). Around
// Timeout it covers timeouts too: FailOpen(Timeout(p, d)). It does not cover what a hook has
// answered and the runner or the store then refuses, such as a compaction that does not fit the
// log or an ID that is taken: that fails the run, for what p wanted is known and cannot be done.
func FailOpen(p *Plugin) *Plugin {
	return aroundEach(p, false, func(ctx context.Context, hook Hook, call func(context.Context) (Outcome, error)) (Outcome, error) {
		out, err := recovering(ctx, call)
		if err == nil {
			err = out.Check(hook)
		}
		if err != nil && ctx.Err() == nil {
			unchecked := Outcome{Unchecked: err.Error()}
			if errors.Is(err, ErrPanic) {
				unchecked.panic = err
			}
			return unchecked, nil
		}
		return out, err
	})
}

// Timeout returns p with these hooks bounded by d, all of them if none is named: a hook gets a
// context that is done then, and one that does not return by then fails with ErrTimeout while it
// works on, on copies. Close waits for such hooks as long as its context allows, and names those
// that never came back.
func Timeout(p *Plugin, d time.Duration, hooks ...Hook) *Plugin {
	var running inflight.Counter // hooks, also those that nobody waits for any more
	w := aroundEach(p, true, func(ctx context.Context, hook Hook, call func(context.Context) (Outcome, error)) (Outcome, error) {
		if len(hooks) > 0 && !slices.Contains(hooks, hook) {
			return call(ctx)
		}
		if err := context.Cause(ctx); err != nil {
			return Outcome{}, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, d, ErrTimeout)
		defer cancel()
		type answer struct {
			out Outcome
			err error
		}
		done := make(chan answer, 1)
		running.BeginPart(string(hook))
		go func() {
			defer running.End(string(hook))
			a := answer{err: fmt.Errorf("%w: runtime.Goexit", ErrPanic)}
			defer func() { done <- a }()
			a.out, a.err = recovering(ctx, call)
		}()
		select {
		case a := <-done:
			return a.out, a.err
		case <-ctx.Done():
		}
		select {
		case a := <-done: // it was in time after all, or reports the end of its context itself
			if a.err == nil || !errors.Is(a.err, ctx.Err()) {
				return a.out, a.err
			}
		default:
		}
		if err := context.Cause(ctx); err != ErrTimeout {
			return Outcome{}, err
		}
		return Outcome{}, fmt.Errorf("%w: %v", ErrTimeout, d)
	})
	w.Close = func(ctx context.Context) error {
		var err error
		if running.Wait(ctx) != nil {
			err = neverReturned(p.Name, running.Running())
		}
		if p.Close != nil {
			err = errors.Join(err, p.Close(ctx))
		}
		return err
	}
	return w
}

// neverReturned returns an error for each hook of a plugin that is still running.
func neverReturned(name string, running map[string]int) error {
	var errs []error
	for _, k := range Hooks {
		n := running[string(k.Name)]
		if n == 0 {
			continue
		}
		errs = append(errs, &Error{
			Plugin: name,
			Hook:   k.Name,
			Err:    fmt.Errorf("%w: %d calls never came back", ErrTimeout, n),
		})
	}
	return errors.Join(errs...)
}
