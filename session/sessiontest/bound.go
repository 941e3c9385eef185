package sessiontest

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/plughook/plughook/session"
)

var boundCases = []testCase{
	{
		name: "bound/allows up to it",
		rule: "An increment may lead to its bound exactly: an absent key counts as 0, what was set counts as set, and the events of an append count one after the other.",
		run: func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:set": 40})
			t.put(key, bounded("a", "app:n", 5, 5))
			t.put(key, bounded("b", "app:set", 2, 42))
			t.put(key, bounded("c", "user:n", 0.5, 1), bounded("d", "user:n", 0.5, 1))
			t.put(key, delta("e", "app:m", 9), bounded("f", "app:m", 1, 10))
			t.put(key, bounded("g", "app:below", -2, -3), bounded("h", "app:below", 1, -1))
			t.equal("state", t.get(key).State,
				map[string]any{"app:n": 5, "app:set": 42, "user:n": 1, "app:m": 10, "app:below": -1})
		},
	},
	{
		name: "bound/refuses beyond it",
		rule: "An append with an increment that would pass its bound is ErrBound, names that event, and is refused as a whole: its other events, keys and compactions too.",
		run: func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:n": 4, "user:n": 4, "k": 1})
			t.put(key, says(3)...)
			for _, k := range []string{"app:n", "user:n", "app:new"} {
				bad := bounded("bad", k, 7, 6)
				more := delta("more", "k", 2)
				more.Actions.StateIncrement = map[string]float64{"app:other": 1, "user:other": 1}
				t.refused(key, session.ErrBound, "bad", bad)
				t.refused(key, session.ErrBound, "bad", more, bad)
				t.refused(key, session.ErrBound, "bad", bad, more)
				t.refused(key, session.ErrBound, "bad", more, compact("c", 2, 0), bad, rewind("r", 1))
			}
			// Each alone would fit; the second one passes the bound.
			t.refused(key, session.ErrBound, "bad", bounded("good", "app:n", 2, 6), bounded("bad", "app:n", 2, 6))
			t.refused(key, session.ErrBound, "bad", delta("good", "app:n", 6), bounded("bad", "app:n", 1, 6))
			// A little too much is too much, and so is anything where the value is beyond the bound already.
			t.refused(key, session.ErrBound, "bad", bounded("bad", "app:new", math.Nextafter(6, 7), 6))
			t.refused(key, session.ErrBound, "bad", bounded("bad", "app:n", 0.25, 3))
			// Of several keys one is enough.
			several := bounded("bad", "app:n", 1, 6)
			several.Actions.StateIncrement["user:n"], several.Actions.StateBound["user:n"] = 3, 6
			several.Actions.StateIncrement["app:free"] = 1
			t.refused(key, session.ErrBound, "bad", several)
			// The same event with a smaller increment is welcome: nothing of it was kept.
			t.put(key, bounded("bad", "app:n", 2, 6))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 6, "user:n": 4, "k": 1})
		},
	},
	{
		name: "bound/a condition of its kind",
		rule: "ErrBound is no ErrInvalid and no ErrConflict; a wrong position or fence is told first, because whoever reads again may find room.",
		run: func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:n": 4})
			_, err := t.Append(t.Context(), session.At{Key: key}, bounded("a", "app:n", 1, 4))
			t.is(err, session.ErrBound)
			for _, other := range []error{session.ErrInvalid, session.ErrConflict, session.ErrFenced, session.ErrIDReused} {
				if errors.Is(err, other) {
					t.Fatalf("error %v is %v too", err, other)
				}
			}
			_, err = t.Append(t.Context(), session.At{Key: key, After: 1}, bounded("a", "app:n", 1, 4))
			t.isPosition(err, session.ErrConflict, key, 1, 0)
			_, err = t.Append(t.Context(), session.At{Key: key, Fence: 7}, bounded("a", "app:n", 1, 4))
			t.is(err, session.ErrFenced)
		},
	},
	{
		name: "bound/not of a subtraction",
		rule: "An addition of 0 or less is never refused, wherever the value is.",
		run: func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:n": 10, "user:n": 10})
			t.put(key, bounded("a", "app:n", -1, 5), bounded("b", "user:n", 0, 5), bounded("c", "app:new", -3, -5))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 9, "user:n": 10, "app:new": -3})
			t.put(key, bounded("d", "app:n", -5, 5), bounded("e", "app:n", 1, 5))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 5, "user:n": 10, "app:new": -3})
		},
	},
	{
		name: "bound/without its increment",
		rule: "A bound of a key that the event does not add to is ErrInvalid, and so is one that is not a number.",
		run: func(t *tester) {
			key := t.create("s")
			alone := say("bad")
			alone.Actions.StateBound = map[string]float64{"app:n": 5}
			set := delta("bad", "app:n", 1)
			set.Actions.StateBound = map[string]float64{"app:n": 5}
			other := bounded("bad", "app:n", 1, 5)
			other.Actions.StateBound["app:m"] = 5
			for _, bad := range []*session.Event{alone, set, other} {
				t.refused(key, session.ErrInvalid, "bad", bad)
				t.refused(key, session.ErrInvalid, "bad", bounded("good", "app:n", 1, 5), bad)
			}
			_, err := t.Append(t.Context(), session.At{Key: key}, bounded("bad", "app:n", 1, math.NaN()))
			t.is(err, session.ErrInvalid)
			t.equal("log", t.ids(t.log(key)), nil)
		},
	},
	{
		name: "bound/not stored",
		rule: "A bound is a condition of its append, not a part of the event: reading the event shows none, and a repeated append succeeds, though the value is at its bound by then.",
		run: func(t *tester) {
			key := t.create("s")
			first := bounded("a", "app:n", 3, 3)
			t.put(key, first)
			t.equal("the caller's bound", first.Actions.StateBound, map[string]float64{"app:n": 3})
			t.refused(key, session.ErrBound, "full", bounded("full", "app:n", 1, 3))
			for _, sel := range []session.Selection{{}, {Live: true}, {Last: 1}} {
				stored := t.read(key, sel)[0]
				t.equal("the stored event's increment", stored.Actions.StateIncrement, map[string]float64{"app:n": 3})
				if len(stored.Actions.StateBound) > 0 || len(stored.Actions.Extra) > 0 {
					t.Fatalf("the log has a bound: %s", brief(stored))
				}
			}
			// However the repetition spells its condition, it is the event that is in the log.
			for _, again := range []*session.Event{bounded("a", "app:n", 3, 3), bounded("a", "app:n", 3, 1), add("a", "app:n", 3), t.log(key)[0]} {
				t.put(key, again)
				t.equal("the repeated event's position", again.Seq, 1)
			}
			t.refused(key, session.ErrBound, "b", bounded("a", "app:n", 3, 3), bounded("b", "app:n", 1, 3))
			t.put(key, bounded("a", "app:n", 3, 3), bounded("b", "app:n", 1, 4))
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:b"})
			t.equal("state", t.get(key).State, map[string]any{"app:n": 4})
		},
	},
	{
		name: "bound/rewind",
		rule: "A rewind does not undo what was counted: what was spent stays spent.",
		run: func(t *tester) {
			key := t.create("s")
			t.put(key, bounded("a", "app:n", 2, 3), bounded("b", "user:n", 3, 3))
			t.put(key, rewind("c", 0))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 2, "user:n": 3})
			t.refused(key, session.ErrBound, "d", bounded("d", "app:n", 2, 3))
			t.refused(key, session.ErrBound, "d", bounded("d", "user:n", 1, 3))
			t.refused(key, session.ErrBound, "d", rewind("e", 0), bounded("d", "user:n", 1, 3))
			t.put(key, bounded("d", "app:n", 1, 3))
		},
	},
	{
		name: "bound/many sessions",
		rule: "When many sessions add to one key at once, exactly as many succeed as the bound allows, and none passes it.",
		run: func(t *tester) {
			const sessions, each, bound = 8, 6, 20
			for _, k := range []string{"user:n", "app:n"} {
				var wg sync.WaitGroup
				var added atomic.Int64
				errs := make([]error, sessions)
				for i := range sessions {
					key := t.create("")
					if k == "app:n" && i%2 == 1 {
						key = t.createKey(t.key("bob", ""), nil)
					}
					wg.Go(func() {
						for range each {
							s, err := t.Get(t.Context(), key)
							if err == nil {
								_, err = t.Append(t.Context(), session.At{Key: key, After: s.Position}, say(""), bounded("", k, 1, bound))
							}
							switch {
							case err == nil:
								added.Add(1)
							case !errors.Is(err, session.ErrBound):
								errs[i] = errors.Join(errs[i], err)
							}
						}
					})
				}
				wg.Wait()
				t.must(errors.Join(errs...))
				t.equal("appends that succeeded", added.Load(), bound)
				t.equal("value of "+k, t.get(t.create("")).State[k], bound)
			}
			events := int64(0)
			for s, err := range t.List(t.Context(), t.app, "") {
				t.must(err)
				events += s.Position
			}
			t.equal("events in the logs, two for each append", events, 2*2*bound)
		},
	},
}

// bounded returns an event that adds to one state key, unless that would pass a bound.
func bounded(id, key string, by, bound float64) *session.Event {
	e := add(id, key, by)
	e.Actions.StateBound = map[string]float64{key: bound}
	return e
}
