package sessiontest

import (
	"github.com/plughook/plughook/session"
)

var deleteCases = []testCase{
	{"delete/gone",
		"After Delete there is no session, and deleting again is ErrNotFound; the state of its app and user stays.",
		func(t *tester) {
			key, other := t.create("s"), t.create("t")
			t.put(key, delta("a", "user:u", 1), delta("b", "app:a", 2), delta("c", "k", 3))
			t.put(other, say("a"))
			t.must(t.Delete(t.Context(), key))
			for _, op := range t.reaching(key) {
				err := op.do()
				t.Logf("%s: %v", op.name, err)
				t.isKeyError(err, session.ErrNotFound, key)
			}
			t.equal("the user's sessions", t.list(t.app, "ann"), []string{other.String()})
			t.equal("the other session's state", t.get(other).State, map[string]any{"user:u": 1, "app:a": 2})
			t.equal("the other session's log", t.ids(t.log(other)), []string{"1:a"})
		}},
	{"delete/create again",
		"A session that is created again under a deleted one's key is empty: no events, ids, state, compactions or rewinds come back.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"k": 0})
			t.put(key, delta("a", "k", 1), delta("b", "k", 2), say("c"), delta("d", "l", 3))
			t.put(key, compact("e", 2, 0))
			t.put(key, rewind("f", 3), delta("g", "k", 4))
			t.must(t.Delete(t.Context(), key))
			t.createKey(key, map[string]any{"new": true})
			s := t.get(key)
			t.equal("position and frontier", []int64{s.Position, s.Frontier}, []int64{0, 0})
			t.equal("state", s.State, map[string]any{"new": true})
			t.equal("log", t.ids(t.log(key)), nil)
			t.equal("live view", t.ids(t.live(key)), nil)
			t.put(key, delta("b", "x", 1), delta("a", "y", 2)) // the ids are free again
			t.equal("log", t.ids(t.log(key)), []string{"1:b", "2:a"})
			t.put(key, rewind("c", 0)) // what this revives is not the old session's
			t.equal("state after a rewind", t.get(key).State, map[string]any{"new": true})
			t.equal("live view after a rewind", t.ids(t.live(key)), nil)
			t.put(key, rewind("d", 2))
			t.equal("live view after another", t.ids(t.live(key)), []string{"1:b", "2:a"})
			t.equal("state after another", t.get(key).State, map[string]any{"new": true, "x": 1, "y": 2})
		}},
}
