package sessiontest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/plughook/plughook/session"
)

var createCases = []testCase{
	{"create/with ID",
		"Create makes a session under the key it is given, at position 0, and Get returns the same.",
		func(t *tester) {
			s, err := t.Create(t.Context(), t.key("ann", "s"), map[string]any{"k": "v"})
			t.must(err)
			t.equal("key", s.Key, t.key("ann", "s"))
			if s.Position != 0 || s.Frontier != 0 {
				t.Fatalf("position %d, frontier %d; want 0, 0", s.Position, s.Frontier)
			}
			if s.Created.IsZero() || !s.Updated.Equal(s.Created) {
				t.Fatalf("created %v, updated %v; want one time", s.Created, s.Updated)
			}
			got := t.get(s.Key)
			if !got.Created.Equal(s.Created) || !got.Updated.Equal(s.Updated) {
				t.Fatalf("Get says created %v, updated %v; Create said %v, %v", got.Created, got.Updated, s.Created, s.Updated)
			}
			got.Created, got.Updated = s.Created, s.Updated
			t.equal("what Get returns", got, s)
		}},
	{"create/without ID",
		"An empty ID in the key becomes a UUIDv7, another one each time.",
		func(t *tester) {
			one, two := t.create(""), t.create("")
			for _, k := range []session.Key{one, two} {
				if id, err := uuid.Parse(k.ID); err != nil || id.Version() != 7 {
					t.Fatalf("ID %q is not a UUIDv7", k.ID)
				}
			}
			if one == two {
				t.Fatalf("two sessions are both %s", one)
			}
			t.get(one)
		}},
	{"create/exists",
		"Create of a session that is there is ErrExists and changes nothing, neither its state nor that of its app and user.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"k": 1, "app:a": 1, "user:u": 1})
			t.put(key, say("a"))
			_, err := t.Create(t.Context(), key, map[string]any{"k": 2, "app:a": 2, "user:u": 2, "new": true})
			t.isKeyError(err, session.ErrExists, key)
			t.equal("state", t.get(key).State, map[string]any{"k": 1, "app:a": 1, "user:u": 1})
			t.equal("log", t.ids(t.log(key)), []string{"1:a"})
		}},
	{"create/state",
		"Creation state sets the session's own keys, its app's and its user's; temp: keys and nil values are ignored; Initial keeps what it was.",
		func(t *tester) {
			state := map[string]any{"k": "v", "app:a": true, "user:u": 1.5, "temp:t": "x", "none": nil, "typed": (*int)(nil),
				"nested": map[string]any{"list": []any{1, "two", nil, map[string]any{}}}, "long": json.Number("9007199254740993")}
			key := t.createKey(t.key("ann", "s"), state)
			want := map[string]any{"k": "v", "app:a": true, "user:u": 1.5,
				"nested": map[string]any{"list": []any{1, "two", nil, map[string]any{}}}, "long": json.Number("9007199254740993")}
			t.equal("state", t.get(key).State, want)
			t.equal("initial state", t.get(key).Initial, want)
			if len(state) != 8 {
				t.Fatalf("Create changed the caller's state: %v", state)
			}
			same := t.createKey(t.key("ann", "same user"), nil)
			t.equal("state of a session of the same user", t.get(same).State, map[string]any{"app:a": true, "user:u": 1.5})
			t.equal("its initial state", t.get(same).Initial, nil)
			other := t.createKey(t.key("bob", "other user"), map[string]any{"app:a": false})
			t.equal("state of a session of another user", t.get(other).State, map[string]any{"app:a": false})
			want["app:a"] = false
			t.equal("state after another session was created with an app: key", t.get(key).State, want)
			want["app:a"] = true
			t.put(key, delta("a", "k", "w"))
			t.equal("initial state after an append", t.get(key).Initial, want)
		}},
	{"create/bad state",
		"Creation state that is no JSON, or has a key without a name, is ErrInvalid, and there is no session.",
		func(t *tester) {
			for _, state := range []map[string]any{{"f": func() {}}, {"": 1}, {"app:a": 1, "k": make(chan int)}} {
				_, err := t.Create(t.Context(), t.key("ann", "s"), state)
				t.is(err, session.ErrInvalid)
				_, err = t.Get(t.Context(), t.key("ann", "s"))
				t.is(err, session.ErrNotFound)
			}
			t.equal("state of the app", t.get(t.create("t")).State, nil)
		}},
}

var listCases = []testCase{
	{"list/selection and order",
		"List yields the sessions of the app's user, or of all its users, in the order of their creation.",
		func(t *tester) {
			var all, anns []string
			for i := range 30 {
				user := []string{"ann", "bob", "ann "}[i%3]
				key := t.key(user, fmt.Sprintf("%d", (i*7)%30)) // neither ascending nor descending
				t.createKey(key, nil)
				all = append(all, key.String())
				if user == "ann" {
					anns = append(anns, key.String())
				}
			}
			t.createKey(session.Key{App: t.app + "x", User: "ann", ID: "other app"}, nil)
			first, err := session.Key{}, error(nil)
			for s, e := range t.List(t.Context(), t.app, "bob") {
				first, err = s.Key, e
				break
			}
			t.must(err)
			t.put(first, say("an append does not change the order"))
			t.equal("all users' sessions", t.list(t.app, ""), all)
			t.equal("ann's sessions", t.list(t.app, "ann"), anns)
			t.equal("nobody's sessions", t.list(t.app, "nobody"), nil)
			t.equal("sessions of no app", t.list(t.app+" none", ""), nil)
			t.equal("ann's sessions of an app without a name", t.list("", "ann"), nil)
		}},
	{"list/every app",
		"List yields the sessions of every app if app and user are empty.",
		func(t *tester) {
			one, two := t.create("s"), t.createKey(session.Key{App: t.app + "x", User: "bob", ID: "s"}, nil)
			list := t.list("", "")
			i, j := slices.Index(list, one.String()), slices.Index(list, two.String())
			if i < 0 || j < i {
				t.Fatalf("two sessions, made in this order, are at %d and %d of the list of all", i, j)
			}
		}},
	{"list/what it tells",
		"List tells all of a session but its state.",
		func(t *tester) {
			key := t.createKey(t.key("ann", "s"), map[string]any{"k": 1, "user:u": 2})
			t.put(key, says(3)...)
			t.put(key, rewind("r", 1))
			for s, err := range t.List(t.Context(), t.app, "ann") {
				t.must(err)
				if s.State != nil {
					t.Fatalf("List yields state %v", s.State)
				}
				want := t.get(key)
				want.State = nil
				t.equal("what List yields", s, want)
			}
		}},
	{"list/left early",
		"The caller may leave a list early, and use the store while it is open.",
		func(t *tester) {
			for i := range 5 {
				t.put(t.create(fmt.Sprint(i)), say("a"))
			}
			n := 0
			for s, err := range t.List(t.soon(), t.app, "") {
				t.must(err)
				t.must(t.Delete(t.soon(), s.Key))
				if n++; n == 3 {
					break
				}
			}
			t.equal("what is left", len(t.list(t.app, "")), 2)
		}},
}

// list returns the keys that List yields.
func (t *tester) list(app, user string) []string {
	t.Helper()
	var list []string
	for s, err := range t.List(t.Context(), app, user) {
		t.must(err)
		list = append(list, s.Key.String())
	}
	return list
}

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
