package sessiontest

import (
	"fmt"
	"slices"

	"github.com/plughook/plughook/session"
)

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
