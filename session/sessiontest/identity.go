package sessiontest

import (
	"errors"
	"strings"

	"github.com/plughook/plughook/session"
)

var identityCases = []testCase{
	{"identity/same ID under two users",
		"A session is app, user and ID together: no operation reaches another user's session of the same ID.",
		func(t *tester) {
			ann, bob := t.key("ann", "s"), t.key("bob", "s")
			t.createKey(ann, map[string]any{"k": "ann's"})
			for _, op := range t.reaching(bob) {
				err := op.do()
				t.Logf("%s: %v", op.name, err)
				t.isKeyError(err, session.ErrNotFound, bob)
			}
			t.createKey(bob, map[string]any{"k": "bob's"})
			t.put(ann, say("a"))
			t.put(bob, say("a"), say("b"))
			t.equal("ann's log", t.ids(t.log(ann)), []string{"1:a"})
			t.equal("bob's log", t.ids(t.log(bob)), []string{"1:a", "2:b"})
			t.equal("ann's state", t.get(ann).State, map[string]any{"k": "ann's"})
			t.must(t.Delete(t.Context(), bob))
			t.equal("ann's log after bob's was deleted", t.ids(t.log(ann)), []string{"1:a"})
		}},
	{"identity/same user and ID under two apps",
		"A session is app, user and ID together: apps share neither sessions nor state.",
		func(t *tester) {
			one, two := t.key("ann", "s"), t.key("ann", "s")
			two.App += " two"
			t.createKey(one, map[string]any{"app:a": 1, "user:u": 1, "k": 1})
			t.createKey(two, nil)
			t.put(one, say("a"))
			t.equal("state of the other app", t.get(two).State, nil)
			t.equal("log of the other app", t.ids(t.log(two)), nil)
		}},
	{"identity/odd names",
		"App, user and ID may hold any characters but control characters, and names that begin, end or read alike are different sessions.",
		func(t *tester) {
			names := []string{"a", "a/b", "b", "a/", "/a", "%", "a%", "_", "a_", `"`, "'", "''", "a'; --", `\`, `a\`, "ä", "a\u0308",
				"日本", "🦊", " ", "a ", " a", "A", "a:b", "app:a", "user:a", "*", "?", "null", "0", "00", "1e1", "-",
				strings.Repeat("x", 512), strings.Repeat("x", 511)}
			var keys []session.Key
			for _, n := range names {
				keys = append(keys, t.key(n, "s"), t.key("u", n), session.Key{App: t.app + n, User: "u", ID: "s"})
			}
			keys = append(keys, t.key("a/b", "c"), t.key("a", "b/c"), session.Key{App: t.app + "/a", User: "b", ID: "c"})
			for _, k := range keys {
				if len(k.App) > 512 {
					continue
				}
				t.createKey(k, map[string]any{"key": k.String(), "user:k": k.User})
				t.put(k, session.Message("event of "+k.String()))
			}
			for _, k := range keys {
				if len(k.App) > 512 {
					continue
				}
				t.equal("state of "+k.String(), t.get(k).State, map[string]any{"key": k.String(), "user:k": k.User})
				log := t.log(k)
				if len(log) != 1 || log[0].Text() != "event of "+k.String() {
					t.Fatalf("log of %s is %s", k, brief(log))
				}
				var listed []string
				for s, err := range t.List(t.Context(), k.App, k.User) {
					t.must(err)
					if s.App != k.App || s.User != k.User {
						t.Fatalf("List of %q, %q yields %q", k.App, k.User, s.Key)
					}
					listed = append(listed, s.ID)
				}
				if !strings.Contains("\n"+strings.Join(listed, "\n")+"\n", "\n"+k.ID+"\n") {
					t.Fatalf("List of %q, %q yields %q, without %q", k.App, k.User, listed, k.ID)
				}
			}
		}},
	{"identity/refused names",
		"Create refuses a key without app or user, and one with control characters, invalid UTF-8 or more than 512 bytes in a part.",
		func(t *tester) {
			for _, k := range []session.Key{
				{User: "ann", ID: "s"}, {App: t.app, ID: "s"},
				t.key("a\x00b", "s"), t.key("a", "s\n"), t.key("\x7f", "s"), t.key("a\xff", "s"), {App: "a\t", User: "b", ID: "s"},
				t.key("a", strings.Repeat("x", 513)), t.key(strings.Repeat("x", 513), "s"),
			} {
				_, err := t.Create(t.Context(), k, nil)
				t.Logf("%q: %v", k, err)
				t.is(err, session.ErrInvalid)
			}
		}},
}

type operation struct {
	name string
	do   func() error
}

// reaching returns an operation of each kind on a session.
func (t *tester) reaching(key session.Key) []operation {
	return []operation{
		{"Get", func() error { _, err := t.Get(t.soon(), key); return err }},
		{"Delete", func() error { return t.Delete(t.soon(), key) }},
		{"Append", func() error { _, err := t.Append(t.soon(), session.At{Key: key}, say("x")); return err }},
		{"Append of nothing", func() error { _, err := t.Append(t.soon(), session.At{Key: key}); return err }},
		{"Read", func() error { return t.firstError(t.Read(t.soon(), key, session.Selection{})) }},
		{"Read of the live view", func() error { return t.firstError(t.Read(t.soon(), key, session.Selection{Live: true})) }},
		{"Turn", func() error {
			turn, err := t.Lease(t.soon(), key)
			if err == nil {
				turn.Release()
			}
			return err
		}},
	}
}

// firstError returns the error that ends a sequence, which must be its last.
func (t *tester) firstError(seq func(func(*session.Event, error) bool)) error {
	t.Helper()
	var first error
	for e, err := range seq {
		if first != nil {
			t.Fatalf("Read went on after its error %v with %v, %v", first, e, err)
		}
		first = err
	}
	return first
}

// isKeyError expects an error that is target and says which session it is about.
func (t *tester) isKeyError(err, target error, key session.Key) {
	t.Helper()
	t.is(err, target)
	var ke *session.KeyError
	if !errors.As(err, &ke) || ke.Key != key {
		t.Fatalf("error is %v (%T)\n  want a *session.KeyError with key %s", err, err, key)
	}
}
