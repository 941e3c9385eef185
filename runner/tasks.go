package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/internal/inflight"
)

// tasks are what a Runner waits for when it is closed: runs, observers and background work.
type tasks struct {
	inflight.Counter
	ctx    context.Context // cancelled when Close has waited long enough
	cancel context.CancelFunc
}

func (t *tasks) init() {
	t.ctx, t.cancel = context.WithCancel(context.Background())
}

// detach returns a context with ctx's values that outlives ctx: it is done when the Runner cancels its
// work.
func (t *tasks) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// detachFor is detach with a context that is done after d, too.
func (t *tasks) detachFor(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// close waits until nothing is running. When ctx is done, it cancels what is left, waits one second more,
// and returns an error that names what never came back.
func (t *tasks) close(ctx context.Context) error {
	t.Close()
	defer t.cancel()
	late := t.Wait(ctx)
	if late == nil {
		return nil
	}
	t.cancel()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if t.Wait(last) == nil {
		return fmt.Errorf("runner: close: %w: the work that was left was cancelled", late)
	}
	errs := []error{fmt.Errorf("runner: close: %w", late)}
	for name := range t.Running() {
		errs = append(errs, fmt.Errorf("still working: %s", name))
	}
	return errors.Join(errs...)
}
