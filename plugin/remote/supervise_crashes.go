package remote

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	maxCrashes = 5 // within
	crashSpan  = 10 * time.Minute
	stable     = time.Minute // a process that was up for so long has started well
	maxPause   = 30 * time.Second
)

// crashes counts the ends of processes.
type crashes struct {
	times []time.Time // within crashSpan
	row   int         // since one was up for long
	last  error
}

// note notes one, and returns how long to wait before the next start, and whether there shall be none.
func (c *crashes) note(err error) (pause time.Duration, tooMany bool) {
	now := time.Now()
	c.times = append(slices.DeleteFunc(c.times, func(t time.Time) bool { return now.Sub(t) >= crashSpan }), now)
	c.last = err
	pause = backoff(c.row)
	c.row++
	return pause, len(c.times) >= maxCrashes
}

// backoff returns the pause before a start, after so many in a row that did not end well: about 100 ms,
// then twice as long each time.
func backoff(row int) time.Duration {
	if row == 0 {
		return 0
	}
	d := min(100*time.Millisecond<<min(row-1, 16), maxPause)
	return d/2 + rand.N(d/2)
}
