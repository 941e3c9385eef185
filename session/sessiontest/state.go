package sessiontest

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

var stateCases = []testCase{{
	Name: "state/deletion",
	Rule: "A nil value deletes a key, a typed nil too; to delete what is not there is fine.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"a": 1, "b": 2, "c": 3, "app:d": 4, "e": 5})
		t.put(key, deltas("x", map[string]any{
			"a":         nil,
			"b":         (*string)(nil),
			"c":         map[string]any(nil),
			"app:d":     nil,
			"none":      nil,
			"user:none": nil,
			"f":         []any{nil},
		}))
		got := t.get(key).State
		delete(got, "c") // a nil map is {}, null, or gone, as the encoding has it
		t.equal("state", got, map[string]any{"e": 5, "f": []any{nil}})
		t.put(key, delta("y", "a", false), delta("z", "b", ""))
		got = t.get(key).State
		delete(got, "c")
		t.equal("state", got, map[string]any{"e": 5, "f": []any{nil}, "a": false, "b": ""})
	},
}, {
	Name: "state/values",
	Rule: "A value comes back as it went in, as JSON: nested, long text, and integers beyond 2^53 to the " +
		"digit.",
	Run: func(t *tester) {
		values := map[string]any{
			"nested":     map[string]any{"a": []any{1, "b", nil, true, map[string]any{"c": map[string]any{}}}},
			"empty":      map[string]any{},
			"list":       []any{},
			"int64":      int64(9007199254740993),
			"min":        int64(math.MinInt64),
			"uint64":     uint64(math.MaxUint64),
			"number":     json.Number("123456789012345678901234567890"),
			"in a list":  []any{int64(9007199254740993), map[string]any{"n": json.Number("-9007199254740995")}},
			"float":      0.1,
			"small":      5e-324,
			"large":      1.7976931348623157e308,
			"text":       strings.Repeat("long ", 50_000),
			"zero":       0,
			"false":      false,
			"blank":      "",
			"odd":        "\x00 \" \\ \u2028 🦊 </script>",
			"null text":  "null",
			"user:int64": int64(9007199254740993),
			"app:nested": map[string]any{"n": uint64(math.MaxUint64)},
		}
		key := t.createKey(t.Key("ann", "one"), values)
		t.hasState(key, values)
		t.equal("initial state", t.get(key).Initial, values)
		key = t.create("two")
		t.put(key, deltas("a", values))
		t.hasState(key, values)
		t.equal("delta in the log", t.log(key)[0].Actions.StateDelta, values)
		t.put(key, deltas("b", t.get(key).State))
		t.hasState(key, values)
	},
}, {
	Name: "state/keys",
	Rule: "Keys may hold any characters; such as read alike are different keys.",
	Run: func(t *tester) {
		values := map[string]any{}
		for i, k := range []string{"a", "A", " ", "a ", "%", "_", `"`, "'", `\`, "a.b", "a/b", "ä", "a\u0308", "🦊", "$", "{}", "null", "\n", "app", "user", "tmp:x",
			"App:x", "temp", "app:", "user:", "app: ", "app:user:x", "user:app:x", "app:temp:x", strings.Repeat("k", 512)} {
			values[k] = i
		}
		key := t.create("s")
		t.put(key, deltas("a", values))
		t.hasState(key, values)
		gone := map[string]any{}
		for k := range values {
			gone[k] = nil
		}
		t.put(key, deltas("b", gone))
		t.hasState(key, nil)
	},
}, {
	Name: "state/temp",
	Rule: `"temp:" keys are never stored: not in the log, not in the state; the rest of their event is.`,
	On: func(t *tester, key session.Key) {
		e := deltas("a", map[string]any{"temp:secret": "t0p", "k": 1})
		only := delta("b", "temp:secret", "t0p")
		var read session.Event
		t.Must(json.Unmarshal([]byte(`{"id":"c","actions":{"stateDelta":{"temp:secret":"t0p","l":12345678901234567890},"x":{"y":1}}}`),
			&read))
		t.put(key, e, only, &read)
		t.equal("the caller's delta", e.Actions.StateDelta, map[string]any{"temp:secret": "t0p", "k": 1})
		t.hasState(key, map[string]any{"k": 1, "l": json.Number("12345678901234567890")})
		if log := brief(t.log(key)); strings.Contains(log, "temp:") || strings.Contains(log, "t0p") {
			t.Fatalf("the log holds a temp: key: %s", log)
		}
		t.hasLog(key, "1:a", "2:b", "3:c")
		t.put(key, delta("a", "k", 1)) // without its temp: keys the event is the same
	},
}}

var incrementCases = []testCase{{
	Name: "increment/adds",
	Rule: "stateIncrement adds to what is there, an absent key counts as 0, and stateDelta of the same " +
		"event is applied after it.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"app:n": 40})
		t.put(key, add("a", "app:n", 2), add("b", "user:n", 0.5), add("c", "user:n", -2))
		t.hasState(key, map[string]any{"app:n": 42, "user:n": -1.5})
		t.put(key, &session.Event{ID: "d", Actions: session.Actions{
			StateIncrement: map[string]float64{"app:n": 1, "user:n": 1},
			StateDelta:     map[string]any{"app:n": 7, "user:n": nil}}})
		t.hasState(key, map[string]any{"app:n": 7})
		t.put(key, delta("e", "user:n", 1), add("f", "user:n", 1), add("g", "user:n", 1))
		t.hasState(key, map[string]any{"app:n": 7, "user:n": 3})
		t.put(key, rewind("h", 0))
		t.hasState(key, map[string]any{"app:n": 7, "user:n": 3})
	},
}, {
	Name: "increment/not a number",
	Rule: "To add to what is not a number, or to add what leaves none, is ErrInvalid; nothing is appended.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"),
			map[string]any{"app:text": "1", "app:list": []any{1}, "user:true": true, "app:huge": 1.5e308})
		for _, k := range []string{"app:text", "app:list", "user:true"} {
			t.refused(key, session.ErrInvalid, "bad", add("bad", k, 1))
			t.refused(key, session.ErrInvalid, "bad", add("good", "app:n", 1), add("bad", k, 1))
		}
		t.refused(key, session.ErrInvalid, "bad", delta("good", "app:n", "now a text"),
			add("bad", "app:n", 1))
		t.refused(key, session.ErrInvalid, "bad", add("bad", "app:huge", 1.5e308)) // no float64 holds the sum
		t.refused(key, session.ErrInvalid, "bad", add("bad", "app:n", math.Inf(1)))
		t.Is(t.append(key, 0, 0, add("bad", "app:n", math.NaN())), session.ErrInvalid)
		t.refused(key, session.ErrInvalid, "bad", add("bad", "n", 1))
	},
}, {
	Name: "increment/concurrent",
	Rule: "Increments from many sessions at once all count.",
	Run: func(t *tester) {
		const sessions = 6
		const each = 15
		keys := t.createSome(sessions, "ann", "bob")
		t.AtOnce(sessions, func(i int) error {
			for range each {
				e := &session.Event{}
				e.Actions.StateIncrement = map[string]float64{"app:n": 1, "user:n": 2}
				if err := contract.Persist(t.Soon(), t, keys[i], e); err != nil {
					return err
				}
			}
			return nil
		})
		n := sessions * each
		t.hasState(t.create(""), map[string]any{"app:n": n, "user:n": n})
		t.hasState(t.createKey(t.Key("bob", ""), nil), map[string]any{"app:n": n, "user:n": n})
	},
}}

var boundCases = []testCase{{
	Name: "bound/refuses beyond it",
	Rule: "An append with an increment that would pass its bound is ErrBound, names that event, and is " +
		"refused as a whole: its other events, keys and compactions too.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"app:n": 4, "user:n": 4, "k": 1})
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
		several.Actions.StateIncrement["user:n"] = 3
		several.Actions.StateBound["user:n"] = 6
		several.Actions.StateIncrement["app:free"] = 1
		t.refused(key, session.ErrBound, "bad", several)
		// The same event with a smaller increment is welcome: nothing of it was kept.
		t.put(key, bounded("bad", "app:n", 2, 6))
		t.hasState(key, map[string]any{"app:n": 6, "user:n": 4, "k": 1})
	},
}, {
	Name: "bound/a condition of its kind",
	Rule: "ErrBound is no ErrInvalid and no ErrConflict; a wrong position or fence is told first, because " +
		"whoever reads again may find room.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"app:n": 4})
		err := t.append(key, 0, 0, bounded("a", "app:n", 1, 4))
		t.Is(err, session.ErrBound)
		for _, other := range []error{
			session.ErrInvalid, session.ErrConflict, session.ErrFenced, session.ErrIDReused,
		} {
			t.FailIf(errors.Is(err, other), "error %v is %v too", err, other)
		}
		t.isPosition(t.append(key, 1, 0, bounded("a", "app:n", 1, 4)), session.ErrConflict, key, 1, 0)
		t.Is(t.append(key, 0, 7, bounded("a", "app:n", 1, 4)), session.ErrFenced)
	},
}, {
	Name: "bound/without its increment",
	Rule: "A bound of a key that the event does not add to is ErrInvalid, and so is one that is not a " +
		"number.",
	On: func(t *tester, key session.Key) {
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
		t.Is(t.append(key, 0, 0, bounded("bad", "app:n", 1, math.NaN())), session.ErrInvalid)
		t.hasLog(key)
	},
}, {
	Name: "bound/not stored",
	Rule: "A bound is a condition of its append, not a part of the event: reading the event shows none, " +
		"and a repeated append succeeds, though the value is at its bound by then.",
	On: func(t *tester, key session.Key) {
		first := bounded("a", "app:n", 3, 3)
		t.put(key, first)
		t.equal("the caller's bound", first.Actions.StateBound, map[string]float64{"app:n": 3})
		t.refused(key, session.ErrBound, "full", bounded("full", "app:n", 1, 3))
		for _, sel := range []session.Selection{{}, {Live: true}, {Last: 1}} {
			stored := t.read(key, sel)[0]
			t.equal("the stored event's increment", stored.Actions.StateIncrement,
				map[string]float64{"app:n": 3})
			t.FailIf(len(stored.Actions.StateBound) > 0 || len(stored.Actions.Extra) > 0,
				"the log has a bound: %s", brief(stored))
		}
		// However the repetition spells its condition, it is the event that is in the log.
		for _, again := range []*session.Event{
			bounded("a", "app:n", 3, 3), bounded("a", "app:n", 3, 1), add("a", "app:n", 3), t.log(key)[0],
		} {
			t.put(key, again)
			t.equal("the repeated event's position", again.Seq, 1)
		}
		t.refused(key, session.ErrBound, "b", bounded("a", "app:n", 3, 3), bounded("b", "app:n", 1, 3))
		t.put(key, bounded("a", "app:n", 3, 3), bounded("b", "app:n", 1, 4))
		t.hasLog(key, "1:a", "2:b")
		t.hasState(key, map[string]any{"app:n": 4})
	},
}, {
	Name: "bound/many sessions",
	Rule: "When many sessions add to one key at once, exactly as many succeed as the bound allows, and " +
		"none passes it.",
	Run: func(t *tester) {
		const sessions = 8
		const each = 6
		const bound = 20
		for _, k := range []string{"user:n", "app:n"} {
			users := []string{"ann", "bob"}
			if k == "user:n" {
				users = users[:1]
			}
			keys := t.createSome(sessions, users...)
			var added atomic.Int64
			t.AtOnce(sessions, func(i int) error {
				for range each {
					err := contract.Persist(t.Soon(), t, keys[i], say(""), bounded("", k, 1, bound))
					if err == nil {
						added.Add(1)
					} else if !errors.Is(err, session.ErrBound) {
						return err
					}
				}
				return nil
			})
			t.equal("appends that succeeded", added.Load(), bound)
			t.equal("value of "+k, t.get(t.create("")).State[k], bound)
		}
		events := int64(0)
		for s, err := range t.List(t.Context(), t.App, "") {
			t.Must(err)
			events += s.Position
		}
		t.equal("events in the logs, two for each append", events, 2*2*bound)
	},
}}

// createSome makes n sessions, the users' in turn.
func (t *tester) createSome(n int, users ...string) []session.Key {
	t.Helper()
	var keys []session.Key
	for i := range n {
		keys = append(keys, t.createKey(t.Key(users[i%len(users)], ""), nil))
	}
	return keys
}

// bounded returns an event that adds to one state key, unless that would pass a bound.
func bounded(id, key string, by, bound float64) *session.Event {
	e := add(id, key, by)
	e.Actions.StateBound = map[string]float64{key: bound}
	return e
}
