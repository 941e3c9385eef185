package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// tasks are what a Runner waits for when it is closed: runs, observers and background work.
type tasks struct {
	ctx    context.Context // cancelled when Close has waited long enough
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	names  map[string]int
	idle   chan struct{} // closed when closed is set and names is empty
}

func (t *tasks) init() {
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.names, t.idle = map[string]int{}, make(chan struct{})
}

// begin notes that something begins; done that it has ended. It reports false once the Runner closes.
func (t *tasks) begin(name string) (done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	return t.add(name), true
}

// more is begin for what belongs to something that has begun: it may begin while the Runner closes.
func (t *tasks) more(name string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(name)
}

func (t *tasks) add(name string) func() {
	t.names[name]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.names[name]--; t.names[name] == 0 {
			delete(t.names, name)
		}
		if t.closed && len(t.names) == 0 {
			close(t.idle)
		}
	})
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

func (t *tasks) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		if t.closed = true; len(t.names) == 0 {
			close(t.idle)
		}
	}
	t.mu.Unlock()
	defer t.cancel()
	select {
	case <-t.idle:
		return nil
	case <-ctx.Done():
	}
	t.cancel()
	select {
	case <-t.idle:
		return fmt.Errorf("runner: close: %w: the work that was left was cancelled", context.Cause(ctx))
	case <-time.After(time.Second):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	errs := []error{fmt.Errorf("runner: close: %w", context.Cause(ctx))}
	for name := range t.names {
		errs = append(errs, fmt.Errorf("still working: %s", name))
	}
	return errors.Join(errs...)
}
