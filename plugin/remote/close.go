package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Close waits for the calls that are running, as long as ctx allows, then stops every process,
// and returns once nothing of them is left. From the beginning on, new calls fail with ErrClosed.
// When ctx is done, what is running is killed, for which there are 10 seconds more.
//
// The error says what did not end well: calls that had not ended, a process that is still there,
// or one whose exit status says that it has failed, such as in its own Close. A process that had
// to be killed, or ended only by SIGTERM, is a warning in the log and no error.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() { h.close(ctx) })
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closeErr
}

func (h *Host) close(ctx context.Context) {
	// Refuse new calls and restarts.
	h.mu.Lock()
	h.setState(Closed)
	h.stopRestart()
	h.calls.Close()
	h.mu.Unlock()
	defer h.kill()
	defer context.AfterFunc(ctx, h.kill)()

	// Wait for the calls.
	if err := h.calls.Wait(ctx); err != nil {
		left := 0
		for _, n := range h.calls.Running() {
			left += n
		}
		h.addCloseError(fmt.Errorf("%w: %d calls had not ended", err, left))
	}

	// End everything else, and wait for that.
	h.cancel()
	done := make(chan struct{})
	go func() {
		h.all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(stopLimit):
		h.addCloseError(fmt.Errorf("a process did not stop within %v", stopLimit))
	}
}

// addCloseError adds an error to what Close returns.
func (h *Host) addCloseError(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeErr = errors.Join(h.closeErr, fmt.Errorf("remote: plugin %s: close: %w", h.name, err))
}
