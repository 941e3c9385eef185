package sessiontest

import (
	"github.com/plughook/plughook/session"
)

var rewindCases = []testCase{
	{"rewind/live view and state",
		"A rewind voids what came after its position: events, and the changes of the session's own keys; not app: and user: keys.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"k": 0, "gone": "back"})
			t.put(key, delta("a", "k", 1), delta("b", "k", 2), delta("c", "l", 1), delta("d", "gone", nil), delta("e", "app:a", 1), add("f", "user:u", 1))
			t.put(key, rewind("g", 1))
			t.isLive(key, 1)
			t.equal("state", t.get(key).State, map[string]any{"k": 1, "gone": "back", "app:a": 1, "user:u": 1})
			t.equal("frontier", t.get(key).Frontier, 7)
			t.put(key, delta("h", "l", 2))
			t.isLive(key, 1, 8)
			t.equal("state", t.get(key).State, map[string]any{"k": 1, "l": 2, "gone": "back", "app:a": 1, "user:u": 1})
			t.equal("log", len(t.log(key)), 8)
		}},
	{"rewind/to 0",
		"A rewind to 0 leaves an empty live view and the state that the session was created with.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"k": map[string]any{"n": 1}, "user:u": 1})
			t.put(key, delta("a", "k", nil), delta("b", "x", 1), rewind("c", 0))
			t.isLive(key)
			t.equal("state", t.get(key).State, map[string]any{"k": map[string]any{"n": 1}, "user:u": 1})
			t.put(key, delta("d", "k", 2), rewind("e", 0), rewind("f", 0))
			t.isLive(key)
			t.equal("state", t.get(key).State, map[string]any{"k": map[string]any{"n": 1}, "user:u": 1})
			empty := t.create("empty")
			t.put(empty, rewind("r", 0))
			t.isLive(empty)
		}},
	{"rewind/of a rewind",
		"A rewind to a position before another rewind voids that one too: what it had voided counts again.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, delta("a", "k", 1), delta("b", "k", 2), delta("c", "k", 3))
			t.put(key, rewind("d", 1))
			t.equal("state", t.get(key).State, map[string]any{"k": 1})
			t.put(key, delta("e", "k", 5))
			t.put(key, rewind("f", 3)) // voids the rewind at 4
			t.isLive(key, 1, 2, 3)
			t.equal("state", t.get(key).State, map[string]any{"k": 3})
			t.put(key, rewind("g", 5)) // revives 4 and 5
			t.isLive(key, 1, 5)
			t.equal("state", t.get(key).State, map[string]any{"k": 5})
			t.put(key, rewind("h", 4))
			t.isLive(key, 1)
			t.put(key, rewind("i", 7))
			t.isLive(key, 1, 5)
			t.put(key, rewind("j", 9), rewind("k", 10)) // void nothing
			t.isLive(key, 1, 5)
		}},
	{"rewind/across a compaction",
		"A rewind past a compaction revives the events it stood for; to a position after it, it keeps it.",
		func(t *tester) {
			key := t.talk()
			t.put(key, compact("c", 7, 0, 2))
			t.put(key, say("a"), say("b"))
			t.put(key, rewind("d", 12))
			t.isLive(key, 11, 2, 8, 9, 10, 12)
			t.put(key, rewind("e", 11))
			t.isLive(key, 11, 2, 8, 9, 10)
			t.put(key, rewind("f", 10))
			t.isLive(key, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
			t.put(key, rewind("g", 5))
			t.isLive(key, 1, 2, 3, 4, 5)
			t.put(key, compact("h", 3, 17))
			t.put(key, rewind("i", 13))
			t.isLive(key, 11, 2, 8, 9, 10, 12, 13)
			t.put(key, compact("j", 8, 19, 2))
			t.isLive(key, 20, 2, 9, 10, 12, 13)
		}},
	{"rewind/refused",
		"A rewind that does not point backward, or carries anything else, is ErrInvalid: see store.CheckRewind.",
		func(t *tester) {
			key := t.talk()
			with := func(change func(*session.Event)) *session.Event {
				e := rewind("bad", 3)
				change(e)
				return e
			}
			for what, e := range map[string]*session.Event{
				"to itself":       rewind("bad", 11),
				"forward":         rewind("bad", 12),
				"negative":        rewind("bad", -1),
				"content":         with(func(e *session.Event) { e.Content = say("x").Content }),
				"state":           with(func(e *session.Event) { e.Actions.StateDelta = map[string]any{"k": 1} }),
				"increment":       with(func(e *session.Event) { e.Actions.StateIncrement = map[string]float64{"app:k": 1} }),
				"artifact":        with(func(e *session.Event) { e.Actions.ArtifactDelta = map[string]int64{"f": 1} }),
				"transfer":        with(func(e *session.Event) { e.Actions.TransferToAgent = "x" }),
				"error":           with(func(e *session.Event) { e.ErrorCode = "X" }),
				"compaction":      with(func(e *session.Event) { e.Actions.Compaction = &session.Compaction{Through: 2} }),
				"long running id": with(func(e *session.Event) { e.LongRunningToolIDs = []string{"x"} }),
			} {
				t.Logf("a rewind is refused: %s", what)
				t.refused(key, session.ErrInvalid, "bad", e)
			}
			t.put(key, with(func(e *session.Event) {
				e.InvocationID, e.Author, e.Branch, e.CustomMetadata = "i", "plugin/rewind", "a.b", map[string]any{"why": "asked"}
			}))
			t.isLive(key, 1, 2, 3)
		}},
}
