package remote

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
)

var errBoom = errors.New("boom")

// pass1 lets a call pass, if it may.
func passOne(b *breaker, how callResult) (became breakerChange, err error) {
	probe, err := b.allow()
	if err != nil {
		return breakerUnchanged, err
	}
	return b.record(probe, how, errBoom), nil
}

func TestBreakerOpens(t *testing.T) {
	for name, calls := range map[string]struct {
		how  string // s succeeded, f failed, u unknown
		open bool
	}{
		"four failures in a row":             {"ffff", false},
		"five failures in a row":             {"fffff", true},
		"a success between":                  {"ffffsffff", false},
		"what says nothing between":          {"ffuuff" + "uf", true},
		"only what says nothing":             {"uuuuuuuuuuuuuuuuuuuuuuuuu", false},
		"half of nineteen":                   {"fsfsfsfsfsfsfsfsfsf", false},
		"half of twenty":                     {"sfsfsfsfsfsfsfsfsfsf", true},
		"less than half of the last twenty":  {"sffsffsffsffs" + "sssssss" + "sssssssfsfsfsfsfs", false},
		"half of twenty after a good while":  {"ssssssssssssssssssssssssss" + "sfsfsfsfsfsfsfsfsfsf", true},
		"successes do not open what is half": {"sfsfsfsfsfsfsfsfsf" + "s", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &breaker{plugin: "guard", hook: plugin.OnEvent}
			became := breakerUnchanged
			for _, c := range calls.how {
				require.Empty(t, became, "it opens with the last call")
				var err error
				became, err = passOne(b,
					map[rune]callResult{'s': succeeded, 'f': failed, 'u': unknown}[c])
				require.NoError(t, err)
			}
			_, err := b.allow()
			if !calls.open {
				require.NoError(t, err)
				return
			}
			require.Equal(t, breakerOpened, became)
			require.ErrorIs(t, err, ErrBreaker)
			require.ErrorIs(t, err, errBoom)
			require.ErrorContains(t, err, "plugin guard: OnEvent")
		})
	}
}

func open5(t *testing.T, b *breaker) {
	for range breakerRow {
		_, err := passOne(b, failed)
		require.NoError(t, err)
	}
}

func TestBreakerTriesOneCallAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &breaker{}
		open5(t, b)
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			time.Sleep(pause*time.Second - time.Nanosecond)
			_, err := b.allow()
			require.ErrorIs(t, err, ErrBreaker, "before %v", pause)
			time.Sleep(time.Nanosecond)
			probe, err := b.allow()
			require.NoError(t, err, "after %v", pause)
			require.True(t, probe)
			_, err = b.allow()
			require.ErrorIs(t, err, ErrBreaker, "one at a time")
			require.Empty(t, b.record(false, succeeded, nil),
				"what entered before it opened says nothing")
			require.Empty(t, b.record(probe, failed, errBoom))
		}
		time.Sleep(longestPause)
		became, err := passOne(b, unknown)
		require.NoError(t, err)
		require.Empty(t, became)
		became, err = passOne(b, succeeded)
		require.NoError(t, err, "a try that says nothing is made again at once")
		require.Equal(t, breakerClosed, became)
		open5(t, b)
		time.Sleep(firstPause)
		_, err = b.allow()
		require.NoError(t, err, "the pause is short again")
	})
}

// However calls come and end: no more than one passes while it is open, and a hook that works
// again is called again.
func TestBreakerNeverSticks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rapid.SyncTest(r, func(r *rapid.T) {
			b := &breaker{}
			var probes []bool
			for range rapid.IntRange(1, 200).Draw(r, "steps") {
				switch rapid.IntRange(0, 2).Draw(r, "step") {
				case 0:
					open := b.pause > 0
					probe, err := b.allow()
					if err == nil {
						require.Equal(r, open, probe)
						probes = append(probes, probe)
					}
				case 1:
					if len(probes) > 0 {
						i := rapid.IntRange(0, len(probes)-1).Draw(r, "which")
						b.record(probes[i], callResult(rapid.IntRange(0, 2).Draw(r, "how")),
							errBoom)
						probes = append(probes[:i], probes[i+1:]...)
					}
				case 2:
					time.Sleep(
						time.Duration(rapid.IntRange(0, 40).Draw(r, "seconds")) * time.Second)
				}
				n := 0
				for _, probe := range probes {
					if probe {
						n++
					}
				}
				require.LessOrEqual(r, n, 1)
			}
			for _, probe := range probes {
				b.record(probe, unknown, nil)
			}
			time.Sleep(longestPause)
			_, err := passOne(b, succeeded)
			require.NoError(r, err)
			for range 3 {
				_, err := passOne(b, succeeded)
				require.NoError(r, err)
			}
		})
	})
}
