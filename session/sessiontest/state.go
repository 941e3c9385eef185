package sessiontest

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/plughook/plughook/session"
)

var stateCases = []testCase{
	{"state/scopes",
		`Keys are the session's own, but "app:" keys are shared by the app's sessions and "user:" keys by those of the app's user.`,
		func(t *tester) {
			one, two, other := t.create("one"), t.create("two"), t.createKey(t.key("bob", "one"), nil)
			t.put(one, &session.Event{ID: "a", Actions: session.Actions{StateDelta: map[string]any{"k": 1, "app:k": 2, "user:k": 3}}})
			t.equal("state", t.get(one).State, map[string]any{"k": 1, "app:k": 2, "user:k": 3})
			t.equal("state of the user's other session", t.get(two).State, map[string]any{"app:k": 2, "user:k": 3})
			t.equal("state of another user's session", t.get(other).State, map[string]any{"app:k": 2})
			t.put(other, delta("b", "app:k", nil), delta("c", "user:k", 4))
			t.equal("state", t.get(one).State, map[string]any{"k": 1, "user:k": 3})
			t.equal("state of another user's session", t.get(other).State, map[string]any{"user:k": 4})
		}},
	{"state/deletion",
		"A nil value deletes a key, a typed nil too; to delete what is not there is fine.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"a": 1, "b": 2, "c": 3, "app:d": 4, "e": 5})
			t.put(key, &session.Event{ID: "x", Actions: session.Actions{StateDelta: map[string]any{
				"a": nil, "b": (*string)(nil), "c": map[string]any(nil), "app:d": nil, "none": nil, "user:none": nil, "f": []any{nil}}}})
			got := t.get(key).State
			delete(got, "c") // a nil map is {}, null, or gone, as the encoding has it
			t.equal("state", got, map[string]any{"e": 5, "f": []any{nil}})
			t.put(key, delta("y", "a", false), delta("z", "b", ""))
			got = t.get(key).State
			delete(got, "c")
			t.equal("state", got, map[string]any{"e": 5, "f": []any{nil}, "a": false, "b": ""})
		}},
	{"state/values",
		"A value comes back as it went in, as JSON: nested, long text, and integers beyond 2^53 to the digit.",
		func(t *tester) {
			values := map[string]any{
				"nested": map[string]any{"a": []any{1, "b", nil, true, map[string]any{"c": map[string]any{}}}}, "empty": map[string]any{}, "list": []any{},
				"int64": int64(9007199254740993), "min": int64(math.MinInt64), "uint64": uint64(math.MaxUint64), "number": json.Number("123456789012345678901234567890"),
				"in a list": []any{int64(9007199254740993), map[string]any{"n": json.Number("-9007199254740995")}},
				"float":     0.1, "small": 5e-324, "large": 1.7976931348623157e308, "text": strings.Repeat("long ", 50_000), "zero": 0, "false": false, "blank": "",
				"odd": "\x00 \" \\ \u2028 🦊 </script>", "null text": "null",
				"user:int64": int64(9007199254740993), "app:nested": map[string]any{"n": uint64(math.MaxUint64)},
			}
			key := t.createKey(t.key("ann", "one"), values)
			t.equal("creation state", t.get(key).State, values)
			t.equal("initial state", t.get(key).Initial, values)
			key = t.create("two")
			t.put(key, &session.Event{ID: "a", Actions: session.Actions{StateDelta: values}})
			t.equal("state", t.get(key).State, values)
			t.equal("delta in the log", t.log(key)[0].Actions.StateDelta, values)
			t.put(key, &session.Event{ID: "b", Actions: session.Actions{StateDelta: t.get(key).State}})
			t.equal("state after it was set to what was read", t.get(key).State, values)
		}},
	{"state/keys",
		"Keys may hold any characters; such as read alike are different keys.",
		func(t *tester) {
			values := map[string]any{}
			for i, k := range []string{"a", "A", " ", "a ", "%", "_", `"`, "'", `\`, "a.b", "a/b", "ä", "a\u0308", "🦊", "$", "{}", "null", "\n", "app", "user", "tmp:x",
				"App:x", "temp", "app:", "user:", "app: ", "app:user:x", "user:app:x", "app:temp:x", strings.Repeat("k", 512)} {
				values[k] = i
			}
			key := t.create("s")
			t.put(key, &session.Event{ID: "a", Actions: session.Actions{StateDelta: values}})
			t.equal("state", t.get(key).State, values)
			gone := map[string]any{}
			for k := range values {
				gone[k] = nil
			}
			t.put(key, &session.Event{ID: "b", Actions: session.Actions{StateDelta: gone}})
			t.equal("state after all were deleted", t.get(key).State, nil)
		}},
	{"state/temp",
		`"temp:" keys are never stored: not in the log, not in the state; the rest of their event is.`,
		func(t *tester) {
			key := t.create("s")
			e := &session.Event{ID: "a", Actions: session.Actions{StateDelta: map[string]any{"temp:secret": "t0p", "k": 1}}}
			only := delta("b", "temp:secret", "t0p")
			var read session.Event
			t.must(json.Unmarshal([]byte(`{"id":"c","actions":{"stateDelta":{"temp:secret":"t0p","l":12345678901234567890},"x":{"y":1}}}`), &read))
			t.put(key, e, only, &read)
			t.equal("the caller's delta", e.Actions.StateDelta, map[string]any{"temp:secret": "t0p", "k": 1})
			t.equal("state", t.get(key).State, map[string]any{"k": 1, "l": json.Number("12345678901234567890")})
			if log := brief(t.log(key)); strings.Contains(log, "temp:") || strings.Contains(log, "t0p") {
				t.Fatalf("the log holds a temp: key: %s", log)
			}
			t.equal("log", t.ids(t.log(key)), []string{"1:a", "2:b", "3:c"})
			t.put(key, delta("a", "k", 1)) // without its temp: keys the event is the same
		}},
	{"state/batch",
		"The deltas of a batch count in the order of its events.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, delta("a", "k", 1), delta("b", "k", 2), delta("c", "l", 1), delta("d", "l", nil), delta("e", "app:a", 1), delta("f", "app:a", 2))
			t.equal("state", t.get(key).State, map[string]any{"k": 2, "app:a": 2})
		}},
}
