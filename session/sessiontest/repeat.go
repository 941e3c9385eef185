package sessiontest

import (
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

var repeatCases = []testCase{
	{"repeat/same content",
		"An event whose ID is in the log is not appended again: it gets the position it has there, also after the log moved on, at whatever position and with whatever fence.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, say("a"), say("b"))
			t.put(key, says(3)...)
			for _, at := range []session.At{{Key: key, After: 5}, {Key: key}, {Key: key, After: 77}, {Key: key, After: 2, Fence: 9}} {
				b := say("b")
				last, err := t.Append(t.Context(), at, b)
				t.must(err)
				if last != 5 || b.Seq != 2 || b.Timestamp.IsZero() {
					t.Fatalf("Append returned %d and the event has position %d, time %v; want 5, 2 and the time it has in the log", last, b.Seq, b.Timestamp)
				}
			}
			turn, err := t.Lease(t.soon(), key)
			t.must(err)
			defer turn.Release()
			_, err = t.Append(t.Context(), session.At{Key: key}, say("a"))
			t.must(err)
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:b", "3:m1", "4:m2", "5:m3"})
		}},
	{"repeat/time",
		"A repeated event counts as the same without the time that Append gave it, and with it.",
		func(t *tester) {
			key := t.create("s")
			first := say("a")
			t.put(key, first)
			again := say("a")
			t.put(key, again)
			if !again.Timestamp.Equal(first.Timestamp) {
				t.Fatalf("repeated event has time %v, the first %v", again.Timestamp, first.Timestamp)
			}
			t.put(key, again)
			t.put(key, first, t.log(key)[0])
			other := say("a")
			other.Timestamp = first.Timestamp.Add(time.Hour)
			t.refused(key, session.ErrIDReused, "a", other)
		}},
	{"repeat/partly there",
		"Of a batch that is partly in the log only the rest is appended, and for it position and fence matter.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, say("a"), say("b"))
			_, err := t.Append(t.Context(), session.At{Key: key, After: 0}, say("a"), say("b"), say("c"))
			t.isPosition(err, session.ErrConflict, key, 0, 2)
			_, err = t.Append(t.Context(), session.At{Key: key, After: 2, Fence: 4}, say("a"), say("c"))
			t.is(err, session.ErrFenced)
			batch := []*session.Event{say("c"), say("a"), say("d"), say("b")}
			t.equal("last position", t.put(key, batch...), 4)
			t.equal("positions in the caller's events", seqs(batch), []int64{3, 1, 4, 2})
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:b", "3:c", "4:d"})
		}},
	{"repeat/within a batch",
		"An event that stands twice in one batch is appended once.",
		func(t *tester) {
			key := t.create("s")
			e := add("n", "app:n", 1)
			batch := []*session.Event{say("a"), e, say("a"), e, add("n", "app:n", 1)}
			t.equal("last position", t.put(key, batch...), 2)
			t.equal("positions in the caller's events", seqs(batch), []int64{1, 2, 1, 2, 2})
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:n"})
			t.equal("state", t.get(key).State, map[string]any{"app:n": 1})
		}},
	{"repeat/other content",
		"An event whose ID is in the log, or in the batch, with other content is ErrIDReused, and nothing is appended.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, say("a"), say("b"))
			other := session.Message("something else")
			other.ID = "b"
			for _, batch := range [][]*session.Event{{other}, {say("c"), other}, {other, say("c")}, {say("a"), other}, {rewind("b", 0)}} {
				t.refused(key, session.ErrIDReused, "b", batch...)
			}
			twice := session.Message("something else")
			twice.ID = "c"
			t.refused(key, session.ErrIDReused, "c", say("c"), twice)
			_, err := t.Append(t.Context(), session.At{Key: key, After: 77, Fence: 7}, other)
			t.is(err, session.ErrIDReused)
		}},
	{"repeat/effects",
		"A repeated event has no effect again: not on state, numbers, compactions or rewinds.",
		func(t *tester) {
			key := t.create("s")
			events := []*session.Event{say("a"), add("n", "user:n", 5), delta("k", "k", 1), delta("l", "k", 2), compact("c", 2, 0), rewind("r", 3)}
			for _, e := range events {
				t.put(key, e.Clone())
			}
			t.put(key, delta("m", "k", 3))
			want, live := t.get(key), t.ids(t.live(key))
			for range 2 {
				for _, e := range events {
					t.put(key, e.Clone())
				}
				t.put(key, clones(events)...)
			}
			t.equal("the session", t.get(key), want)
			t.equal("live view", t.ids(t.live(key)), live)
		}},
	{"repeat/another session",
		"IDs are a session's own: an event with the same ID, or read from there, goes into another session.",
		func(t *tester) {
			one, two := t.create("s"), t.create("t")
			t.put(one, says(3)...)
			e := t.log(one)[2]
			t.put(two, e)
			t.equal("position in the other session", e.Seq, 1)
			t.equal("log of the other session", t.ids(t.log(two)), []string{"1:m3"})
			other := session.Message("other content")
			other.ID = "m1"
			t.put(two, other)
		}},
	{"repeat/after a failure",
		"An append that failed leaves nothing behind: the same events can be appended afterwards.",
		func(t *tester) {
			key := t.create("s")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			batch := []*session.Event{say("a"), add("b", "app:n", 1)}
			_, err := t.Append(ctx, session.At{Key: key}, batch...)
			t.is(err, context.Canceled)
			_, err = t.Append(t.Context(), session.At{Key: key, After: 1}, batch...)
			t.is(err, session.ErrConflict)
			t.put(key, batch...)
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:b"})
			t.equal("state", t.get(key).State, map[string]any{"app:n": 1})
		}},
}
