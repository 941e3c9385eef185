package sessiontest

import (
	"errors"
	"math"
	"sync"

	"github.com/plughook/plughook/session"
)

var incrementCases = []testCase{
	{"increment/adds",
		"stateIncrement adds to what is there, an absent key counts as 0, and stateDelta of the same event is applied after it.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:n": 40})
			t.put(key, add("a", "app:n", 2), add("b", "user:n", 0.5), add("c", "user:n", -2))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 42, "user:n": -1.5})
			t.put(key, &session.Event{ID: "d", Actions: session.Actions{
				StateIncrement: map[string]float64{"app:n": 1, "user:n": 1},
				StateDelta:     map[string]any{"app:n": 7, "user:n": nil}}})
			t.equal("state", t.get(key).State, map[string]any{"app:n": 7})
			t.put(key, delta("e", "user:n", 1), add("f", "user:n", 1), add("g", "user:n", 1))
			t.equal("state", t.get(key).State, map[string]any{"app:n": 7, "user:n": 3})
			t.put(key, rewind("h", 0))
			t.equal("state after a rewind, which does not undo app: and user: keys", t.get(key).State, map[string]any{"app:n": 7, "user:n": 3})
		}},
	{"increment/not a number",
		"To add to what is not a number, or to add what leaves none, is ErrInvalid; nothing is appended.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"app:text": "1", "app:list": []any{1}, "user:true": true, "app:huge": 1.5e308})
			for _, k := range []string{"app:text", "app:list", "user:true"} {
				t.refused(key, session.ErrInvalid, "bad", add("bad", k, 1))
				t.refused(key, session.ErrInvalid, "bad", add("good", "app:n", 1), add("bad", k, 1))
			}
			t.refused(key, session.ErrInvalid, "bad", delta("good", "app:n", "now a text"), add("bad", "app:n", 1))
			t.refused(key, session.ErrInvalid, "bad", add("bad", "app:huge", 1.5e308)) // no float64 holds the sum
			t.refused(key, session.ErrInvalid, "bad", add("bad", "app:n", math.Inf(1)))
			_, err := t.Append(t.Context(), session.At{Key: key}, add("bad", "app:n", math.NaN()))
			t.is(err, session.ErrInvalid)
			t.refused(key, session.ErrInvalid, "bad", add("bad", "n", 1))
		}},
	{"increment/concurrent",
		"Increments from many sessions at once all count.",
		func(t *tester) {
			const sessions, each = 6, 15
			var wg sync.WaitGroup
			errs := make([]error, sessions)
			for i := range sessions {
				key := t.create("")
				if i%2 == 1 {
					key = t.createKey(t.key("bob", ""), nil)
				}
				wg.Go(func() {
					for range each {
						s, err := t.Get(t.Context(), key)
						if err == nil {
							_, err = t.Append(t.Context(), session.At{Key: key, After: s.Position}, &session.Event{Actions: session.Actions{
								StateIncrement: map[string]float64{"app:n": 1, "user:n": 2}}})
						}
						errs[i] = errors.Join(errs[i], err)
					}
				})
			}
			wg.Wait()
			t.must(errors.Join(errs...))
			n := sessions * each
			t.equal("ann's state", t.get(t.create("")).State, map[string]any{"app:n": n, "user:n": n})
			t.equal("bob's state", t.get(t.createKey(t.key("bob", ""), nil)).State, map[string]any{"app:n": n, "user:n": n})
		}},
}
