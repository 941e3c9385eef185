package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// work is what a Runner waits for when it is closed.
type work struct {
	ctx    context.Context // cancelled when Close has waited long enough
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	names  map[string]int
	idle   chan struct{} // closed when closed is set and names is empty
}

func (w *work) init() {
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.names, w.idle = map[string]int{}, make(chan struct{})
}

// begin notes that something begins; done that it has ended. It reports false once the Runner closes.
func (w *work) begin(name string) (done func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, false
	}
	return w.add(name), true
}

// more is begin for what belongs to something that has begun: it may begin while the Runner closes.
func (w *work) more(name string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.add(name)
}

func (w *work) add(name string) func() {
	w.names[name]++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.names[name]--; w.names[name] == 0 {
			delete(w.names, name)
		}
		if w.closed && len(w.names) == 0 {
			close(w.idle)
		}
	})
}

// detach returns a context with ctx's values that is done after d, or when the Runner cancels its work.
func (w *work) detach(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	stop := context.AfterFunc(w.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (w *work) close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		if w.closed = true; len(w.names) == 0 {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	defer w.cancel()
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
	}
	w.cancel()
	select {
	case <-w.idle:
		return fmt.Errorf("runner: close: %w: the work that was left was cancelled", context.Cause(ctx))
	case <-time.After(time.Second):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := []error{fmt.Errorf("runner: close: %w", context.Cause(ctx))}
	for name := range w.names {
		errs = append(errs, fmt.Errorf("still working: %s", name))
	}
	return errors.Join(errs...)
}
