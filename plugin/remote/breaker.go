package remote

import (
	"fmt"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
)

const (
	breakerRow    = 5  // failures in a row that open a breaker
	breakerWindow = 20 // the last calls, of which half may not fail
	firstPause    = time.Second
	longestPause  = 30 * time.Second
)

// breaker keeps calls from a hook that only fails. Closed, as it is at first, it lets every call
// pass. Open, it lets none pass until a pause is over, and then one call at a time, a probe. A
// probe that succeeds closes the breaker, one that fails makes the pause twice as long.
type breaker struct {
	plugin string
	hook   plugin.Hook

	mu sync.Mutex
	breakerState
}

// breakerState is what a breaker forgets when it is closed.
type breakerState struct {
	last    [breakerWindow]bool // of the last calls, whether they failed
	n       int                 // calls since it was closed
	failed  int                 // how many of last failed
	row     int                 // failures since the last success
	pause   time.Duration       // 0 while it is closed
	until   time.Time           // when the pause is over
	probing bool                // a probe is running
	cause   error               // the failure that opened it, or kept it open
}

// allow says whether a call may pass, and whether it is a probe. record has to follow.
func (b *breaker) allow() (isProbe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return false, nil
	}
	wait := time.Until(b.until)
	if wait <= 0 && !b.probing {
		b.probing = true
		return true, nil
	}
	next := "after the call that tries it now"
	if wait > 0 {
		next = "in " + wait.Round(time.Millisecond).String()
	}
	return false, fmt.Errorf("%w: plugin %s: %s is tried again %s; its last failure: %w", ErrBreaker, b.plugin, b.hook, next, b.cause)
}

// callResult is how a call has ended.
type callResult int

const (
	succeeded callResult = iota
	failed
	unknown // the caller has left, or the process ended: that says nothing of the hook
)

// breakerChange is what a call changes about a breaker.
type breakerChange int

const (
	breakerUnchanged breakerChange = iota
	breakerOpened
	breakerClosed
)

// record notes how a call has ended that was allowed.
func (b *breaker) record(isProbe bool, result callResult, err error) breakerChange {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 0 {
		if !isProbe {
			return breakerUnchanged // it was allowed before the breaker opened
		}
		return b.recordProbe(result, err)
	}
	if result == unknown {
		return breakerUnchanged
	}

	// Note it among the last calls.
	slot := &b.last[b.n%breakerWindow]
	if *slot {
		b.failed--
	}
	*slot = result == failed
	b.n++
	if result == succeeded {
		b.row = 0
		return breakerUnchanged // it works, even if half of the last calls have failed
	}
	b.failed++
	b.row++

	// Open the breaker after too many failures.
	tooMany := b.n >= breakerWindow && b.failed*2 >= breakerWindow
	if b.row < breakerRow && !tooMany {
		return breakerUnchanged
	}
	b.cause = err
	b.pause = firstPause
	b.until = time.Now().Add(b.pause)
	return breakerOpened
}

// recordProbe notes how a probe has ended. b.mu is held.
func (b *breaker) recordProbe(result callResult, err error) breakerChange {
	b.probing = false
	switch result {
	case succeeded:
		b.breakerState = breakerState{}
		return breakerClosed
	case failed:
		b.cause = err
		b.pause = min(2*b.pause, longestPause)
		b.until = time.Now().Add(b.pause)
	}
	return breakerUnchanged
}
