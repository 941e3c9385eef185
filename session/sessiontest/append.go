package sessiontest

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/plughook/plughook/session"
)

var appendCases = []testCase{{
	Name: "append/sets what is missing",
	Rule: "Append sets Seq, and ID and Timestamp where they are empty, in the caller's event, and nothing " +
		"else there.",
	On: func(t *tester, key session.Key) {
		at := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
		bare := session.Message("hello")
		full := say("full")
		full.Timestamp = at
		full.Seq = 99
		bare.Actions.StateDelta = map[string]any{"temp:t": 1, "k": 2}
		mine := clones([]*session.Event{bare, full})
		t.put(key, bare, full)
		if id, err := uuid.Parse(bare.ID); err != nil || id.Version() != 7 {
			t.Fatalf("ID is %q, want a UUIDv7", bare.ID)
		}
		if bare.Seq != 1 || full.Seq != 2 || full.ID != "full" || !full.Timestamp.Equal(at) || bare.Timestamp.IsZero() {
			t.Fatalf("after Append the events are %s, %s", brief(bare), brief(full))
		}
		log := t.log(key)
		if log[0].ID != bare.ID || !log[0].Timestamp.Equal(bare.Timestamp) || log[1].ID != "full" || !log[1].Timestamp.Equal(at) {
			t.Fatalf("the log has %s, the caller %s", brief(log), brief([]*session.Event{bare, full}))
		}
		mine[0].ID = bare.ID
		mine[0].Timestamp = bare.Timestamp
		mine[0].Seq = 1
		mine[1].Seq = 2
		if got := []*session.Event{bare, full}; !reflect.DeepEqual(got, mine) {
			t.Fatalf("Append changed more than that:\n   got %s\n  want %s", brief(got), brief(mine))
		}
	},
}, {
	Name: "append/nothing",
	Rule: "To append nothing, or partial events only, succeeds at any position and with any fence, returns " +
		"the last position and changes nothing.",
	On: func(t *tester, key session.Key) {
		t.put(key, says(2)...)
		part := say("part")
		part.Partial = true
		for _, events := range [][]*session.Event{nil, {part}, {part, part}} {
			for _, at := range []session.AppendTarget{
				{Key: key}, {Key: key, After: 2}, {Key: key, After: 77},
				{Key: key, After: 1, Fence: 5},
			} {
				last, err := t.Append(t.Context(), at, events...)
				t.Must(err)
				t.equal("what Append returns", last, 2)
			}
		}
		t.FailIf(part.Seq != 0, "a partial event got position %d", part.Seq)
		t.hasLog(key, "1:m1", "2:m2")
	},
}, {
	Name: "append/all or none",
	Rule: "Append appends all events or none: a bad one anywhere in the batch, and neither log nor state " +
		"nor the caller's values change.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"app:text": "x"})
		t.put(key, says(3)...)
		bad := []*session.Event{
			delta("bad", "k", 1i), delta("bad", "", 1), delta("bad", "a\x00b", 1),
			delta("bad", "user:\xff", 1), add("bad", "app:\xff", 1),
			delta("bad", strings.Repeat("k", 513), 1), add("bad", "k", 1), add("bad", "temp:t", 1),
			add("bad", "app:text", 1), rewind("bad", 77), compact("bad", 99, 0), compact("bad", 1, 2),
			{ID: "bad", CustomMetadata: map[string]any{"c": []any{1i}}},
			{ID: "bad", Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		}
		for _, b := range bad {
			good := session.Message("good, without id and time")
			good.Actions.StateDelta = map[string]any{"k": 1, "app:a": 1, "user:u": 1}
			for _, batch := range [][]*session.Event{
				{b}, {b, good}, {good, b}, {good, b, say("later")},
				{add("inc", "app:n", 1), b},
			} {
				t.refused(key, session.ErrInvalid, "bad", batch...)
			}
		}
		t.refused(key, session.ErrInvalid, "", say("good"), nil)
		t.refused(key, session.ErrInvalid, strings.Repeat("i", 513), say(strings.Repeat("i", 513)))
		t.refused(key, session.ErrInvalid, "a\x00b", say("a\x00b"))
		t.refused(key, session.ErrInvalid, "\xff", say("\xff"))
		t.equal("last position", t.put(key, say("good")), 4)
	},
}, {
	Name: "append/conflict",
	Rule: "An append that follows another position than the last is ErrConflict, says which it wanted and " +
		"which there is, and appends nothing.",
	On: func(t *tester, key session.Key) {
		for _, last := range []int64{0, 2} {
			for _, after := range []int64{-1, 0, 1, 2, 3, 1 << 40} {
				if after == last {
					continue
				}
				e := session.Message("late")
				t.isPosition(t.append(key, after, 0, e), session.ErrConflict, key, after, last)
				t.FailIf(e.Seq != 0 || e.ID != "" || !e.Timestamp.IsZero(),
					"a refused append changed the caller's event: %s", brief(e))
			}
			if last == 0 {
				t.put(key, says(2)...)
			}
		}
		t.hasLog(key, "1:m1", "2:m2")
	},
}}

// isPosition expects a *session.PositionError with these values.
func (t *tester) isPosition(err, target error, key session.Key, want, have int64) {
	t.Helper()
	t.Is(err, target)
	var pe *session.PositionError
	t.FailIf(!errors.As(err, &pe) || pe.Key != key || pe.Want != want || pe.Have != have,
		"error is %#v\n  want a *session.PositionError for %s with want %d and have %d", err, key, want, have)
}

var repeatCases = []testCase{{
	Name: "repeat/same content",
	Rule: "An event whose ID is in the log is not appended again: it gets the position it has there, also " +
		"after the log moved on, at whatever position and with whatever fence.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"), say("b"))
		t.put(key, says(3)...)
		for _, at := range []session.AppendTarget{
			{Key: key, After: 5}, {Key: key}, {Key: key, After: 77},
			{Key: key, After: 2, Fence: 9},
		} {
			b := say("b")
			last, err := t.Append(t.Context(), at, b)
			t.Must(err)
			if last != 5 || b.Seq != 2 || b.Timestamp.IsZero() {
				t.Fatalf("Append returned %d and the event has position %d, time %v; want 5, 2 and the time it has in the log",
					last, b.Seq, b.Timestamp)
			}
		}
		lease, err := t.Lease(t.Soon(), key, "")
		t.Must(err)
		defer lease.Release()
		t.Must(t.append(key, 0, 0, say("a")))
		t.hasLog(key, "1:a", "2:b", "3:m1", "4:m2", "5:m3")
	},
}, {
	Name: "repeat/time",
	Rule: "A repeated event counts as the same without the time that Append gave it, and with it.",
	On: func(t *tester, key session.Key) {
		first := say("a")
		t.put(key, first)
		again := say("a")
		t.put(key, again)
		t.FailIf(!again.Timestamp.Equal(first.Timestamp),
			"repeated event has time %v, the first %v", again.Timestamp, first.Timestamp)
		t.put(key, again)
		t.put(key, first, t.log(key)[0])
		other := say("a")
		other.Timestamp = first.Timestamp.Add(time.Hour)
		t.refused(key, session.ErrIDReused, "a", other)
	},
}, {
	Name: "repeat/partly there",
	Rule: "Of a batch that is partly in the log only the rest is appended, and for it position and fence " +
		"matter.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"), say("b"))
		t.isPosition(t.append(key, 0, 0, say("a"), say("b"), say("c")), session.ErrConflict, key, 0, 2)
		t.Is(t.append(key, 2, 4, say("a"), say("c")), session.ErrFenced)
		batch := []*session.Event{say("c"), say("a"), say("d"), say("b")}
		t.equal("last position", t.put(key, batch...), 4)
		t.equal("positions in the caller's events", seqs(batch), []int64{3, 1, 4, 2})
		t.hasLog(key, "1:a", "2:b", "3:c", "4:d")
	},
}, {
	Name: "repeat/other content",
	Rule: "An event whose ID is in the log, or in the batch, with other content is ErrIDReused, and " +
		"nothing is appended.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"), say("b"))
		other := session.Message("something else")
		other.ID = "b"
		for _, batch := range [][]*session.Event{
			{other}, {say("c"), other}, {other, say("c")}, {say("a"), other},
			{rewind("b", 0)},
		} {
			t.refused(key, session.ErrIDReused, "b", batch...)
		}
		twice := session.Message("something else")
		twice.ID = "c"
		t.refused(key, session.ErrIDReused, "c", say("c"), twice)
		t.Is(t.append(key, 77, 7, other), session.ErrIDReused)
	},
}, {
	Name: "repeat/another session",
	Rule: "IDs are a session's own: an event with the same ID, or read from there, goes into another " +
		"session.",
	Run: func(t *tester) {
		one := t.create("s")
		two := t.create("t")
		t.put(one, says(3)...)
		e := t.log(one)[2]
		t.put(two, e)
		t.equal("position in the other session", e.Seq, 1)
		t.hasLog(two, "1:m3")
		other := session.Message("other content")
		other.ID = "m1"
		t.put(two, other)
	},
}}
