package sessiontest

import (
	"encoding/json"

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
