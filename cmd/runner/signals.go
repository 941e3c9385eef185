package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var (
	errInterrupted = errors.New("interrupted")
	errStopped     = errors.New("stopped")
)

// signals knows what Ctrl-C and SIGTERM are to end. The zero signals are not watched for.
type signals struct {
	mu   sync.Mutex
	turn context.CancelCauseFunc // of the turn that Ctrl-C stops, nil if it is to end the program
}

// watch returns a context that the first Ctrl-C or SIGTERM cancels with errInterrupted, so that a turn ends
// in order; the second ends the process at once. A closed pipe is left to the writes to it.
func (s *signals) watch(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE)
	come, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(come, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		defer signal.Stop(come)
		for {
			select {
			case sig := <-come:
				if sig != os.Interrupt || !s.stopTurn() {
					signal.Stop(come) // first: what is told to end may send the second
					cancel(errInterrupted)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// during returns a context for a turn, which Ctrl-C cancels with errStopped in place of the program; a
// second one is the program's again.
func (s *signals) during(ctx context.Context) (context.Context, func()) {
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
func (s *signals) stopTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turn
	if s.turn = nil; turn == nil {
		return false
	}
	turn(errStopped)
	return true
}
