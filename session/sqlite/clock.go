package sqlite

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/sqlstore"
)

// lastLease is what a session's row says about its last lease. Its times decide only how long others wait
// for a holder whose process has died. The fence decides who may append.
type lastLease struct {
	fence int64
	until int64  // when it ends unless it is renewed, in ticks of clock; 0: it was given back
	wall  int64  // the same by the wall clock, for processes that cannot read clock
	clock string // names the clock and the holder's process; see leaseClock

	holder string // as Lease was told
}

// leaseClock returns what is written into a lease beside its times: the name of the clock, and in the next line that
// of this process.
func leaseClock() string { return clockID() + "\n" + sqlstore.Process() }

// held reports whether somebody holds the lease and is, as far as the clock tells, alive. A holder whose process has
// ended holds nothing.
func (l *lastLease) held(ttl time.Duration) bool {
	if l.until == 0 {
		return false
	}
	clock, process, _ := strings.Cut(l.clock, "\n")
	left := l.until - ticks()
	if clock != clockID() || clock == "" {
		left = l.wall - wall()
	}
	// Nobody writes more than ttl into a lease. If more than twice that is left, it was written before the
	// clock was set back, and its holder may have died since. Twice, so that a clock which is set back by a
	// moment takes no lease from a holder who is alive: a holder renews its lease three times in ttl.
	return left > 0 && left <= 2*int64(ttl) && !sqlstore.ProcessEnded(process)
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
