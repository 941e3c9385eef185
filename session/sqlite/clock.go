package sqlite

import (
	"context"
	"math/rand/v2"
	"time"
)

// lease is what a session's row says about its last turn. Its clocks decide only how long others wait
// for a holder that went away: who may append is decided by the fence.
type lease struct {
	fence int64
	until int64 // on clock; 0: nobody has the turn
	wall  int64
	clock string
}

// held reports whether somebody has the turn and is, as far as the clock tells, alive.
func (l *lease) held(ttl time.Duration) bool {
	left := l.until - ticks()
	if l.clock != clockID() || l.clock == "" {
		left = l.wall - wall()
	}
	// What is left of more than a whole lease was written before the clock was set back.
	return l.until != 0 && left > 0 && left <= int64(ttl)
}

func wall() int64 { return time.Now().UnixNano() }

// pause waits for a random time between the two, or until the context is done.
func pause(ctx context.Context, from, to time.Duration) error {
	t := time.NewTimer(from + rand.N(to-from))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
