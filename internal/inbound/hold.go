package inbound

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Large answers are decoded one or two at a time, whatever the number of servers and sessions:
// decoded, an answer takes several times its size. An answer that is still read counts for nothing,
// however much of it is there. Its server may never end it, and would keep all others waiting.
const (
	largeBytes  = 1 << 20
	largeValues = 50_000
	largeCalls  = 2
)

// decodeTime is how long a call may be the one that decodes. What is done with an answer afterwards may take long, such
// as showing it to somebody who reads slowly, or reading the rest of a stream. Tests set it.
var decodeTime = 3 * time.Second

// slots has an element for each call that decodes a large answer.
var slots = make(chan struct{}, largeCalls)

type holdKey struct{}

// A hold is a call that may get a large answer.
type hold struct {
	mu    sync.Mutex
	taken *time.Timer // ends the time for which it has a slot; nil if it has none
	over  bool        // the call has ended
}

// Hold returns a context for one call of a server, and a function that the caller calls when it has
// decoded the answer. In between, the answers that the call gets count as one. When all of a large
// answer, or of a large event in a stream, is there, it waits until few others are decoded in this
// process, as long as the context lasts.
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
	if h.taken != nil || h.over { // meanwhile
		<-slots
	}
	if h.over {
		return errOver
	}
	if h.taken == nil {
		h.taken = time.AfterFunc(decodeTime, h.giveBack)
	}
	return nil
}

var errOver = errors.New("the call of the server has ended")

func (h *hold) state() (taken bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false, errOver
	}
	return h.taken != nil, nil
}

// giveBack gives the slot back, if the call has one.
func (h *hold) giveBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken != nil {
		h.taken.Stop()
		h.taken = nil
		<-slots
	}
}

// release ends the call. It may be called again.
func (h *hold) release() {
	h.giveBack()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}
