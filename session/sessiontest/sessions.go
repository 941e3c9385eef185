package sessiontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/plughook/plughook/session"
)

var createCases = []testCase{{
	Name: "create/with ID",
	Rule: "Create makes a session under the key it is given, at position 0, and Get returns the same.",
	Run: func(t *tester) {
		s, err := t.Create(t.Context(), t.Key("ann", "s"), map[string]any{"k": "v"})
		t.Must(err)
		t.equal("key", s.Key, t.Key("ann", "s"))
		t.FailIf(s.Position != 0 || s.Frontier != 0,
			"position %d, frontier %d; want 0, 0", s.Position, s.Frontier)
		t.FailIf(s.Created.IsZero() || !s.Updated.Equal(s.Created),
			"created %v, updated %v; want one time", s.Created, s.Updated)
		got := t.get(s.Key)
		if !got.Created.Equal(s.Created) || !got.Updated.Equal(s.Updated) {
			t.Fatalf("Get says created %v, updated %v; Create said %v, %v", got.Created,
				got.Updated, s.Created, s.Updated)
		}
		got.Created = s.Created
		got.Updated = s.Updated
		t.equal("what Get returns", got, s)
	},
}, {
	Name: "create/times of an older session",
	Rule: "SetTimes sets a session's Created and Updated; a zero time leaves what is there, and a time " +
		"beyond the years 1700 to 2200 is ErrInvalid.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"))
		created := time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)
		updated := time.Date(2025, 3, 30, 4, 5, 6, 0, time.FixedZone("", 7200))
		t.Must(t.SetTimes(t.Context(), key, created, updated))
		times := func(c, u time.Time) {
			s := t.get(key)
			t.FailIf(!s.Created.Equal(c) || !s.Updated.Equal(u),
				"created %v, updated %v; want %v, %v", s.Created, s.Updated, c, u)
		}
		times(created, updated)
		later := updated.AddDate(1, 0, 0)
		t.Must(t.SetTimes(t.Context(), key, time.Time{}, later))
		times(created, later)
		t.Is(t.SetTimes(t.Context(), key, created.AddDate(1000, 0, 0), later), session.ErrInvalid)
		times(created, later)
	},
}, {
	Name: "create/without ID",
	Rule: "An empty ID in the key becomes a UUIDv7, another one each time.",
	Run: func(t *tester) {
		one := t.create("")
		two := t.create("")
		for _, k := range []session.Key{one, two} {
			if id, err := uuid.Parse(k.ID); err != nil || id.Version() != 7 {
				t.Fatalf("ID %q is not a UUIDv7", k.ID)
			}
		}
		t.FailIf(one == two, "two sessions are both %s", one)
		t.get(one)
	},
}, {
	Name: "create/state",
	Rule: "Creation state sets the session's own keys, its app's and its user's; temp: keys and nil values " +
		"are ignored; Initial keeps what it was.",
	Run: func(t *tester) {
		want := map[string]any{
			"k":      "v",
			"app:a":  true,
			"user:u": 1.5,
			"nested": map[string]any{"list": []any{1, "two", nil, map[string]any{}}},
			"long":   json.Number("9007199254740993"),
		}
		state := maps.Clone(want)
		state["temp:t"] = "x"
		state["none"] = nil
		state["typed"] = (*int)(nil)
		key := t.createKey(t.Key("ann", "s"), state)
		t.hasState(key, want)
		t.equal("initial state", t.get(key).Initial, want)
		t.FailIf(len(state) != 8, "Create changed the caller's state: %v", state)
		same := t.createKey(t.Key("ann", "same user"), nil)
		t.hasState(same, map[string]any{"app:a": true, "user:u": 1.5})
		t.equal("its initial state", t.get(same).Initial, nil)
		other := t.createKey(t.Key("bob", "other user"), map[string]any{"app:a": false})
		t.hasState(other, map[string]any{"app:a": false})
		want["app:a"] = false
		t.hasState(key, want)
		want["app:a"] = true
		t.put(key, delta("a", "k", "w"))
		t.equal("initial state after an append", t.get(key).Initial, want)
	},
}, {
	Name: "create/bad state",
	Rule: "Creation state that is no JSON, or has a key without a name, is ErrInvalid, and there is no " +
		"session.",
	Run: func(t *tester) {
		for _, state := range []map[string]any{
			{"f": func() {}}, {"": 1}, {"app:a": 1, "k": make(chan int)},
		} {
			_, err := t.Create(t.Context(), t.Key("ann", "s"), state)
			t.Is(err, session.ErrInvalid)
			_, err = t.Get(t.Context(), t.Key("ann", "s"))
			t.Is(err, session.ErrNotFound)
		}
		t.hasState(t.create("t"), nil)
	},
}}

var listCases = []testCase{{
	Name: "list/selection and order",
	Rule: "List yields the sessions of the app's user, or of all its users, in the order of their creation.",
	Run: func(t *tester) {
		var all, anns []string
		for i := range 30 {
			user := []string{"ann", "bob", "ann "}[i%3]
			key := t.Key(user, fmt.Sprintf("%d", (i*7)%30)) // neither ascending nor descending
			t.createKey(key, nil)
			all = append(all, key.String())
			if user == "ann" {
				anns = append(anns, key.String())
			}
		}
		t.createKey(session.Key{App: t.App + "x", User: "ann", ID: "other app"}, nil)
		var first session.Key
		for s, err := range t.List(t.Context(), t.App, "bob") {
			t.Must(err)
			first = s.Key
			break
		}
		t.put(first, say("an append does not change the order"))
		t.equal("all users' sessions", t.list(t.App, ""), all)
		t.equal("ann's sessions", t.list(t.App, "ann"), anns)
		t.equal("nobody's sessions", t.list(t.App, "nobody"), nil)
		t.equal("sessions of no app", t.list(t.App+" none", ""), nil)
		t.equal("ann's sessions of an app without a name", t.list("", "ann"), nil)
	},
}, {
	Name: "list/every app",
	Rule: "List yields the sessions of every app if app and user are empty.",
	Run: func(t *tester) {
		one := t.create("s")
		two := t.createKey(session.Key{App: t.App + "x", User: "bob", ID: "s"}, nil)
		list := t.list("", "")
		i := slices.Index(list, one.String())
		j := slices.Index(list, two.String())
		t.FailIf(i < 0 || j < i,
			"two sessions, made in this order, are at %d and %d of the list of all", i, j)
	},
}, {
	Name: "list/what it tells",
	Rule: "List tells all of a session but its state.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"k": 1, "user:u": 2})
		t.put(key, says(3)...)
		t.put(key, rewind("r", 1))
		for s, err := range t.List(t.Context(), t.App, "ann") {
			t.Must(err)
			t.FailIf(s.State != nil, "List yields state %v", s.State)
			want := t.get(key)
			want.State = nil
			t.equal("what List yields", s, want)
		}
	},
}, {
	Name: "list/left early",
	Rule: "The caller may leave a list early, and use the store while it is open.",
	Run: func(t *tester) {
		for i := range 5 {
			t.put(t.create(fmt.Sprint(i)), say("a"))
		}
		n := 0
		for s, err := range t.List(t.Soon(), t.App, "") {
			t.Must(err)
			t.Must(t.Delete(t.Soon(), s.Key))
			if n++; n == 3 {
				break
			}
		}
		t.equal("what is left", len(t.list(t.App, "")), 2)
	},
}}

// list returns the keys that List yields.
func (t *tester) list(app, user string) []string {
	t.Helper()
	var list []string
	for s, err := range t.List(t.Context(), app, user) {
		t.Must(err)
		list = append(list, s.Key.String())
	}
	return list
}

var numberCases = []testCase{{
	Name: "create/number",
	Rule: "A session has a number above 0, which Create, Get and List tell alike, in every process. No " +
		"other session has or gets it, not even one that is made under its key.",
	Run: func(t *tester) {
		seen := map[int64]bool{}
		for range 3 {
			for _, id := range []string{"one", "two"} {
				key := t.Key("ann", id)
				made, err := t.Create(t.Context(), key, nil)
				t.Must(err)
				t.FailIf(made.Number <= 0 || seen[made.Number],
					"a new session has the number %d, others had %v", made.Number, seen)
				seen[made.Number] = true
				t.put(key, say("a"))
				for _, svc := range []session.Service{t, t.other} {
					s, err := svc.Get(t.Context(), key)
					t.Must(err)
					t.equal("number by Get", s.Number, made.Number)
					for s, err := range svc.List(t.Context(), t.App, "ann") {
						t.Must(err)
						if s.Key == key {
							t.equal("number by List", s.Number, made.Number)
						}
					}
				}
			}
			t.Must(t.Delete(t.Context(), t.Key("ann", "two"))) // the last one that was made
			t.Must(t.other.Delete(t.Context(), t.Key("ann", "one")))
		}
	},
}}

var deleteCases = []testCase{{
	Name: "delete/gone",
	Rule: "After Delete there is no session, and deleting again is ErrNotFound; the state of its app and " +
		"user stays.",
	On: func(t *tester, key session.Key) {
		other := t.create("t")
		t.put(key, delta("a", "user:u", 1), delta("b", "app:a", 2), delta("c", "k", 3))
		t.put(other, say("a"))
		t.Must(t.Delete(t.Context(), key))
		for _, err := range t.reaching(t.Soon(), key) {
			t.isKeyError(err, session.ErrNotFound, key)
		}
		t.equal("the user's sessions", t.list(t.App, "ann"), []string{other.String()})
		t.hasState(other, map[string]any{"user:u": 1, "app:a": 2})
		t.hasLog(other, "1:a")
	},
}, {
	Name: "delete/create again",
	Rule: "A session that is created again under a deleted one's key is empty: no events, ids, state, " +
		"compactions or rewinds come back.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"k": 0})
		t.put(key, delta("a", "k", 1), delta("b", "k", 2), say("c"), delta("d", "l", 3))
		t.put(key, compact("e", 2, 0))
		t.put(key, rewind("f", 3), delta("g", "k", 4))
		t.Must(t.Delete(t.Context(), key))
		t.createKey(key, map[string]any{"new": true})
		s := t.get(key)
		t.equal("position and frontier", []int64{s.Position, s.Frontier}, []int64{0, 0})
		t.equal("state", s.State, map[string]any{"new": true})
		t.hasLog(key)
		t.equal("live view", t.ids(t.live(key)), nil)
		t.put(key, delta("b", "x", 1), delta("a", "y", 2)) // the ids are free again
		t.hasLog(key, "1:b", "2:a")
		t.put(key, rewind("c", 0)) // what this revives is not the old session's
		t.hasState(key, map[string]any{"new": true})
		t.equal("live view after a rewind", t.ids(t.live(key)), nil)
		t.put(key, rewind("d", 2))
		t.equal("live view after another", t.ids(t.live(key)), []string{"1:b", "2:a"})
		t.hasState(key, map[string]any{"new": true, "x": 1, "y": 2})
	},
}}
