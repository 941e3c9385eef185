package workflow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How long the next attempt waits after so many failed ones.
func TestDelays(t *testing.T) {
	for name, c := range map[string]struct {
		retry Retry
		want  []time.Duration
	}{
		"none":               {Retry{}, []time.Duration{0, 0, 0}},
		"twice as long":      {Retry{Delay: time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		"a factor and a cap": {Retry{Delay: time.Second, Factor: 3, Max: 5 * time.Second}, []time.Duration{time.Second, 3 * time.Second, 5 * time.Second}},
		"always the same":    {Retry{Delay: time.Second, Factor: 1}, []time.Duration{time.Second, time.Second, time.Second}},
		"at most a minute":   {Retry{Delay: 50 * time.Second}, []time.Duration{50 * time.Second, time.Minute, time.Minute}},
	} {
		for i, want := range c.want {
			require.Equal(t, want, c.retry.delay(i+1), "%s, after %d", name, i+1)
		}
	}
	shortest, longest := time.Hour, time.Duration(0)
	for range 1000 {
		d := Retry{Delay: time.Second, Jitter: 0.2}.delay(1)
		shortest = min(shortest, d)
		longest = max(longest, d)
		require.GreaterOrEqual(t, Retry{Delay: time.Second, Jitter: 5}.delay(1), time.Duration(0))
	}
	require.GreaterOrEqual(t, shortest, 800*time.Millisecond)
	require.Less(t, shortest, 850*time.Millisecond)
	require.LessOrEqual(t, longest, 1200*time.Millisecond)
	require.Greater(t, longest, 1150*time.Millisecond)
}
