package sessiontest

import (
	"context"
	"fmt"
	"time"

	"github.com/plughook/plughook/session"
)

var readCases = []testCase{
	{"read/selections",
		"A Selection narrows the log, or the live view, to what is after a position, at or after a time, and of these to the last so many.",
		func(t *tester) {
			key := t.create("s")
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for i := range int64(10) {
				e := say(fmt.Sprint("m", i+1))
				e.Timestamp = start.Add(time.Duration(i) * time.Minute)
				switch i + 1 {
				case 8:
					e = compact("m8", 5, 0, 2, 4) // live: 8 2 4 6 7
					e.Timestamp = start.Add(7 * time.Minute)
				case 10:
					e.Timestamp = start.Add(time.Minute + time.Nanosecond) // a clock that went back
				}
				t.put(key, e)
			}
			at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
			for _, c := range []struct {
				sel  session.Selection
				want []int64
			}{
				{session.Selection{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{Last: 3}, []int64{8, 9, 10}},
				{session.Selection{Last: 10}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{Last: 99}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{After: 7}, []int64{8, 9, 10}},
				{session.Selection{After: 10}, nil},
				{session.Selection{After: 99}, nil},
				{session.Selection{After: 3, Last: 2}, []int64{9, 10}},
				{session.Selection{Since: at(6)}, []int64{7, 8, 9}},
				{session.Selection{Since: at(1)}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{Since: at(1).Add(1)}, []int64{3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{Since: at(1).Add(2)}, []int64{3, 4, 5, 6, 7, 8, 9}},
				{session.Selection{Since: at(1).In(time.FixedZone("east", 7*3600))}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}},
				{session.Selection{Since: at(99)}, nil},
				{session.Selection{Since: at(3), Last: 2}, []int64{8, 9}},
				{session.Selection{Since: at(3), After: 6}, []int64{7, 8, 9}},
				{session.Selection{Since: at(3), After: 6, Last: 1}, []int64{9}},
				{session.Selection{Live: true}, []int64{8, 2, 4, 6, 7, 9, 10}},
				{session.Selection{Live: true, Last: 3}, []int64{7, 9, 10}},
				{session.Selection{Live: true, Last: 6}, []int64{2, 4, 6, 7, 9, 10}},
				{session.Selection{Live: true, Last: 7}, []int64{8, 2, 4, 6, 7, 9, 10}},
				{session.Selection{Live: true, After: 3}, []int64{8, 4, 6, 7, 9, 10}},
				{session.Selection{Live: true, After: 8}, []int64{9, 10}},
				{session.Selection{Live: true, After: 6, Last: 3}, []int64{7, 9, 10}},
				{session.Selection{Live: true, Since: at(3)}, []int64{8, 4, 6, 7, 9}},
				{session.Selection{Live: true, Since: at(3), After: 4, Last: 3}, []int64{6, 7, 9}},
			} {
				t.equal(fmt.Sprintf("positions selected by %+v", c.sel), seqs(t.read(key, c.sel)), c.want)
			}
		}},
	{"read/since",
		"Since compares times to the nanosecond, over all years that a time has in JSON.",
		func(t *tester) {
			key := t.create("s")
			base := time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
			times := []time.Time{time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Unix(0, -1).UTC(), time.Unix(0, 0).UTC(), base.Add(-1), base, base.Add(1), base.Add(999),
				time.Date(2300, 1, 1, 0, 0, 0, 5, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)}
			for i, at := range times {
				e := say(fmt.Sprint("m", i+1))
				e.Timestamp = at
				t.put(key, e)
			}
			for i, at := range times {
				got := t.read(key, session.Selection{Since: at})
				if len(got) != len(times)-i || !got[0].Timestamp.Equal(at) {
					t.Fatalf("since %v there are %d events, the first of %v; want %d", at, len(got), got[0].Timestamp, len(times)-i)
				}
			}
		}},
	{"read/empty",
		"A session without events reads as nothing, whatever is selected.",
		func(t *tester) {
			key := t.create("s")
			for _, sel := range []session.Selection{{}, {Live: true}, {Last: 1}, {After: 1}, {Since: time.Now()}, {Live: true, Last: 3}} {
				t.equal(fmt.Sprintf("%+v", sel), seqs(t.read(key, sel)), nil)
			}
		}},
	{"read/left early",
		"The caller may leave a Read early, and use the store while it is open.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, says(300)...)
			for i := range 50 {
				n := 0
				for e, err := range t.Read(t.Context(), key, session.Selection{Live: i%2 == 0}) {
					t.must(err)
					if n++; n == 3 {
						t.equal("position", e.Seq, 3)
						break
					}
				}
			}
			for e, err := range t.Read(t.soon(), key, session.Selection{After: 299}) {
				t.must(err)
				s, err := t.Get(t.soon(), key)
				t.must(err)
				_, err = t.Append(t.soon(), session.At{Key: key, After: s.Position}, say("meanwhile"))
				t.must(err)
				t.equal("position", e.Seq, 300)
				break
			}
			t.equal("last position", t.get(key).Position, 301)
		}},
	{"read/twice",
		"What Read returns can be ranged over again.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, says(3)...)
			seq := t.Read(t.Context(), key, session.Selection{})
			for range 2 {
				var got []*session.Event
				for e, err := range seq {
					t.must(err)
					got = append(got, e)
				}
				t.equal("log", t.ids(got), []string{"1:m1", "2:m2", "3:m3"})
			}
		}},
	{"read/done context",
		"A Read whose context is done ends with its error, in the middle too.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, says(300)...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			var last error
			for _, err := range t.Read(ctx, key, session.Selection{}) {
				if last != nil {
					t.Fatalf("Read went on after its error %v", last)
				}
				if last = err; err == nil {
					n++
				}
				cancel()
			}
			t.is(last, context.Canceled)
			if n == 300 {
				t.Fatalf("Read yielded the whole log after its context was done")
			}
		}},
}
