package sqlite

import (
	"context"
	"math/rand/v2"
	"time"
)

// lastLease is what a session's row says about its last lease. Its times decide only how long others wait
// for a holder whose process has died. The fence decides who may append.
type lastLease struct {
	fence int64
	until int64  // when it ends unless it is renewed, in ticks of clock; 0: it was given back
	wall  int64  // the same by the wall clock, for processes that cannot read clock
	clock string // names the clock; see clockID

	holder string // as Lease was told
}

// held reports whether somebody holds the lease and is, as far as the clock tells, alive.
func (l *lastLease) held(ttl time.Duration) bool {
	left := l.until - ticks()
	if l.clock != clockID() || l.clock == "" {
		left = l.wall - wall()
	}
	// Nobody writes more than ttl into a lease. If more than twice that is left, it was written before the
	// clock was set back, and its holder may have died since. Twice, so that a clock which is set back by a
	// moment takes no lease from a holder who is alive: a holder renews its lease three times in ttl.
	return l.until != 0 && left > 0 && left <= 2*int64(ttl)
}

// wall returns nanoseconds on the wall clock.
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
