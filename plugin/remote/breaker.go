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

// breaker keeps calls from a hook that only fails. It is closed at first and lets every call pass. Open,
// it lets none pass until a pause is over, and then one at a time, to see: the first that succeeds closes
// it, one that fails makes the pause twice as long.
type breaker struct {
	plugin string
	hook   plugin.Hook

	mu sync.Mutex
	tally
}

type tally struct {
	last    [breakerWindow]bool // whether they failed
	n       int                 // calls since it was closed
	failed  int                 // how many of last
	row     int                 // failures since the last success
	pause   time.Duration       // 0 while it is closed
	until   time.Time           // the pause's end
	probing bool
	cause   error // the failure that opened it, or kept it open
}

// enter says whether a call may pass, and whether it is the one that tells if the hook works again.
func (b *breaker) enter() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return false, nil
	}
	if wait := time.Until(b.until); wait > 0 || b.probing {
		return false, fmt.Errorf("%w: plugin %s: %s: it is tried again %s; the last failure: %w", ErrBreaker, b.plugin, b.hook, in(wait), b.cause)
	}
	b.probing = true
	return true, nil
}

func in(wait time.Duration) string {
	if wait <= 0 {
		return "right now"
	}
	return "in " + wait.Round(time.Millisecond).String()
}

// pass is what a call that may pass has come to.
type pass int

const (
	succeeded pass = iota
	failed
	unknown // the caller has left, or the process ended: that says nothing of the hook
)

// leave notes what a call that had entered has come to, and returns "open" or "closed" if that is what
// the breaker has become by it.
func (b *breaker) leave(probe bool, how pass, err error) (became string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 0 {
		if !probe {
			return "" // it entered before
		}
		b.probing = false
		switch how {
		case succeeded:
			b.tally = tally{}
			return "closed"
		case failed:
			b.cause, b.pause = err, min(2*b.pause, longestPause)
			b.until = time.Now().Add(b.pause)
		}
		return ""
	}
	if how == unknown {
		return ""
	}
	if at := &b.last[b.n%breakerWindow]; *at != (how == failed) {
		*at = how == failed
		if *at {
			b.failed++
		} else {
			b.failed--
		}
	}
	b.n++
	if b.row++; how == succeeded {
		b.row = 0
	}
	if b.row < breakerRow && (b.n < breakerWindow || b.failed*2 < breakerWindow) {
		return ""
	}
	if how == succeeded {
		return "" // half of the last have failed, and yet it works
	}
	b.cause, b.pause = err, firstPause
	b.until = time.Now().Add(b.pause)
	return "open"
}
