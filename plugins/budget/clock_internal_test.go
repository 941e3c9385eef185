package budget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// When a window ends, over days on which the clock is put forward or back.
func TestNextTimeOfDay(t *testing.T) {
	for _, c := range []struct{ until, now, want string }{
		{"00:00 UTC", "2026-05-01T12:00:00Z", "2026-05-02T00:00:00Z"},
		{"00:00 UTC", "2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z"},
		{"00:00 UTC", "2026-05-01T23:59:59.999Z", "2026-05-02T00:00:00Z"},
		{"12:30 UTC", "2026-12-31T13:00:00Z", "2027-01-01T12:30:00Z"},
		{"00:00 Europe/Berlin", "2026-05-01T12:00:00Z", "2026-05-01T22:00:00Z"}, // summer time
		{"00:00 Europe/Berlin", "2026-01-01T12:00:00Z", "2026-01-01T23:00:00Z"}, // winter time
		{"00:00 Asia/Kolkata", "2026-01-01T12:00:00Z", "2026-01-01T18:30:00Z"},

		// Berlin, 29 March 2026: from 02:00 to 03:00. The day has 23 hours.
		{"00:00 Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"02:30 Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"}, // the moment of the jump
		{"02:00 Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"03:00 Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"02:30 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		// Berlin, 25 October 2026: from 03:00 to 02:00. The day has 25 hours.
		{"00:00 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"02:30 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z"}, // the first of two
		{"02:30 Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, // the second is none
		{"03:00 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T02:00:00Z"},
		{"02:00 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:00:00Z"},

		// New York, 8 March and 1 November 2026.
		{"02:15 America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"},
		{"01:30 America/New_York", "2026-11-01T04:00:00Z", "2026-11-01T05:30:00Z"},
		{"01:30 America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},

		// Beirut puts its clock forward at midnight, so that 29 March 2026 begins at 01:00, and
		// back at midnight, so that 24 October ends twice.
		{"00:00 Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z"},
		{"23:30 Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-24T20:30:00Z"},
		{"23:30 Asia/Beirut", "2026-10-24T20:30:00Z", "2026-10-25T21:30:00Z"},
		{"00:00 Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-24T22:00:00Z"},
		// Lord Howe's clock moves by half an hour: on 4 October 2026 from 02:00 to 02:30.
		{"02:10 Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
		// Samoa left out 30 December 2011.
		{"12:00 Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-30T10:00:00Z"},
		{"12:00 Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
	} {
		at, err := parseTimeOfDay(c.until)
		require.NoError(t, err)
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		require.Equal(t, c.want, at.next(now).UTC().Format(time.RFC3339), "%s after %s", c.until,
			c.now)
	}
}

// In any zone and year a window ends after now and at most two days later, whenever one looks it is
// the same end until then, and the local date changes from one end to the next: no day has two
// ends.
func TestWindowsFollowEachOther(t *testing.T) {
	zones := []string{
		"UTC",
		"Europe/Berlin",
		"America/New_York",
		"America/Sao_Paulo",
		"America/Havana",
		"Asia/Beirut",
		"Australia/Lord_Howe",
		"Africa/Cairo",
		"Asia/Tehran",
		"Africa/Casablanca",
	}
	rapid.Check(t, func(rt *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(rt, "zone"))
		require.NoError(rt, err)
		at := &timeOfDay{
			hour:   rapid.IntRange(0, 23).Draw(rt, "hour"),
			minute: rapid.IntRange(0, 59).Draw(rt, "minute"),
			zone:   zone,
		}
		now := time.Unix(rapid.Int64Range(0, 2e9).Draw(rt, "now"), 0)
		for range 400 {
			end := at.next(now)
			length := end.Sub(now)
			require.Greater(rt, length, time.Duration(0))
			require.LessOrEqual(rt, length, 26*time.Hour)
			between := now.Add(
				time.Duration(rapid.Float64Range(0, 0.999999).Draw(rt, "part") * float64(length)))
			require.True(rt, at.next(between).Equal(end), "%v: %v, but from %v on %v", now, end,
				between, at.next(between))
			require.NotEqual(rt, end.In(zone).Format(time.DateOnly),
				at.next(end).In(zone).Format(time.DateOnly))
			now = end
		}
	})
}

func TestTimesThatAreNone(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"00:00", `"00:00" has no time zone`},
		{"24:00 UTC", `"24:00" is no time of day`},
		{"7:00 UTC", `"7:00" is no time of day`},
		{"midnight UTC", `"midnight" is no time of day`},
		{"00:00 Europe/Berln", `"Europe/Berln" is no time zone`},
		{"00:00 Local", `"Local" is no time zone`},
		{"00:00 ", `"" is no time zone`},
		{"00:00  UTC", `" UTC" is no time zone`},
	} {
		_, err := parseTimeOfDay(c.text)
		require.ErrorContains(t, err, c.want)
	}
}
