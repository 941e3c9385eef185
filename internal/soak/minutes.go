//go:build unix

package soak

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// Minutes is the environment variable that says for how many minutes All attacks a store.
const Minutes = "PLUGHOOK_SOAK_MINUTES"

// All runs tests of a store again and again, those that call t.Parallel at once, until the minutes are over
// that the environment variable Minutes says. It is skipped without one.
func All(t *testing.T, attacks map[string]func(*testing.T)) {
	minutes, err := strconv.ParseFloat(os.Getenv(Minutes), 64)
	if err != nil || minutes <= 0 {
		t.Skipf("set %s to the minutes that this is to take; each of its attacks is a test by itself, too", Minutes)
	}
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	rounds := 0
	for ; time.Now().Before(end) && !t.Failed(); rounds++ {
		t.Run(fmt.Sprint("round ", rounds+1), func(t *testing.T) {
			for name, attack := range attacks {
				t.Run(name, attack)
			}
		})
	}
	t.Logf("%d attacks, %d rounds", len(attacks), rounds)
}
