// Package signals knows what Ctrl-C and SIGTERM end: the program, or one turn of a chat.
//
// Commands do not call package os/signal themselves; what ends with a signal asks for a context here.
package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// The causes of contexts that signals cancel.
var (
	ErrInterrupted = errors.New("interrupted") // the program is to end
	ErrStopped     = errors.New("stopped")     // the turn is to end
)

// Signals are those that the process gets. The zero Signals are not watched for.
type Signals struct {
	mu   sync.Mutex
	turn context.CancelCauseFunc // of the turn that Ctrl-C stops; nil if Ctrl-C is to end the program
}

// Watch returns a context that the first Ctrl-C or SIGTERM cancels with ErrInterrupted, so that a
// turn ends in order. The second ends the process at once. SIGPIPE is ignored: writing to a closed
// pipe is an error. The returned function ends the watch.
func (s *Signals) Watch(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE)
	come := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(come, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		defer signal.Stop(come)
		for {
			select {
			case sig := <-come:
				if sig != os.Interrupt || !s.stopTurn() {
					// Stop first: whoever sees the cancelled context may send the second signal.
					signal.Stop(come)
					cancel(ErrInterrupted)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// During returns a context for a turn, which Ctrl-C cancels with ErrStopped in place of the
// program. A second Ctrl-C is the program's again. The returned function ends the turn.
func (s *Signals) During(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turn = nil
		cancel(nil)
	}
}

// stopTurn stops the turn that there is, and reports whether there was one.
func (s *Signals) stopTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turn
	s.turn = nil
	if turn == nil {
		return false
	}
	turn(ErrStopped)
	return true
}
