package inbound

import (
	"context"
	"errors"
	"sync"
)

// Large answers are read one or two at a time, whatever the number of servers and sessions: decoded,
// an answer takes several times its size.
const (
	largeBytes  = 1 << 20
	largeValues = 50_000
	largeCalls  = 2
)

// slots has an element for each call that holds a large answer.
var slots = make(chan struct{}, largeCalls)

type holdKey struct{}

// A hold is a call that may hold a large answer.
type hold struct {
	mu    sync.Mutex
	taken bool // it has a slot
	over  bool // the call has ended
}

// Hold returns a context for one call of a server, and a function that the caller calls when it has
// decoded the answer. In between, the answers that the call gets count as one. A large one waits
// until few others are held in this process, as long as the context lasts.
func Hold(ctx context.Context) (context.Context, func()) {
	h := &hold{}
	return context.WithValue(ctx, holdKey{}, h), h.release
}

// take waits for a slot, unless the call has one.
func (h *hold) take(ctx context.Context) error {
	if taken, err := h.state(); taken || err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken || h.over { // meanwhile
		<-slots
	}
	if h.over {
		return errOver
	}
	h.taken = true
	return nil
}

var errOver = errors.New("the call of the server has ended")

func (h *hold) state() (taken bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false, errOver
	}
	return h.taken, nil
}

// release gives the slot back. It may be called again.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken && !h.over {
		<-slots
	}
	h.over = true
}
