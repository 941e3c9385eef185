package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// identityCases are about which session a key names.
var identityCases = []testCase{{
	Name: "identity/same ID under two users",
	Rule: "A session is app, user and ID together: no operation reaches another user's session of the same " +
		"ID.",
	Run: func(t *tester) {
		ann := t.Key("ann", "s")
		bob := t.Key("bob", "s")
		t.createKey(ann, map[string]any{"k": "ann's"})
		for _, err := range t.reaching(t.Soon(), bob) {
			t.isKeyError(err, session.ErrNotFound, bob)
		}
		t.createKey(bob, map[string]any{"k": "bob's"})
		t.put(ann, say("a"))
		t.put(bob, say("a"), say("b"))
		t.hasLog(ann, "1:a")
		t.hasLog(bob, "1:a", "2:b")
		t.hasState(ann, map[string]any{"k": "ann's"})
		t.Must(t.Delete(t.Context(), bob))
		t.hasLog(ann, "1:a")
	},
}, {
	Name: "identity/same user and ID under two apps",
	Rule: "A session is app, user and ID together: apps share neither sessions nor state.",
	Run: func(t *tester) {
		one := t.Key("ann", "s")
		two := one
		two.App += " two"
		t.createKey(one, map[string]any{"app:a": 1, "user:u": 1, "k": 1})
		t.createKey(two, nil)
		t.put(one, say("a"))
		t.hasState(two, nil)
		t.equal("log of the other app", t.ids(t.log(two)), nil)
	},
}, {
	Name: "identity/odd names",
	Rule: "App, user and ID may hold any characters but control characters, and names that begin, end or " +
		"read alike are different sessions.",
	Run: func(t *tester) {
		names := []string{"a", "a/b", "b", "a/", "/a", "%", "a%", "_", "a_", `"`, "'", "''", "a'; --", `\`, `a\`, "ä", "a\u0308",
			"日本", "🦊", " ", "a ", " a", "A", "a:b", "app:a", "user:a", "*", "?", "null", "0", "00", "1e1", "-",
			strings.Repeat("x", 512), strings.Repeat("x", 511)}
		var keys []session.Key
		for _, n := range names {
			keys = append(keys, t.Key(n, "s"), t.Key("u", n), session.Key{App: t.App + n, User: "u", ID: "s"})
		}
		keys = append(keys, t.Key("a/b", "c"), t.Key("a", "b/c"),
			session.Key{App: t.App + "/a", User: "b", ID: "c"})
		keys = slices.DeleteFunc(keys, func(k session.Key) bool { return len(k.App) > 512 })
		for _, k := range keys {
			t.createKey(k, map[string]any{"key": k.String(), "user:k": k.User})
			t.put(k, session.Message("event of "+k.String()))
		}
		for _, k := range keys {
			t.equal("state of "+k.String(), t.get(k).State,
				map[string]any{"key": k.String(), "user:k": k.User})
			log := t.log(k)
			t.FailIf(len(log) != 1 || log[0].Text() != "event of "+k.String(),
				"log of %s is %s", k, brief(log))
			var listed []string
			for s, err := range t.List(t.Context(), k.App, k.User) {
				t.Must(err)
				t.FailIf(s.App != k.App || s.User != k.User, "List of %q, %q yields %q", k.App, k.User, s.Key)
				listed = append(listed, s.ID)
			}
			t.FailIf(!strings.Contains("\n"+strings.Join(listed, "\n")+"\n", "\n"+k.ID+"\n"),
				"List of %q, %q yields %q, without %q", k.App, k.User, listed, k.ID)
		}
	},
}, {
	Name: "identity/refused names",
	Rule: "Create refuses a key without app or user, and one with control characters, invalid UTF-8 or " +
		"more than 512 bytes in a part.",
	Run: func(t *tester) {
		for _, k := range []session.Key{
			{User: "ann", ID: "s"}, {App: t.App, ID: "s"},
			t.Key("a\x00b", "s"), t.Key("a", "s\n"), t.Key("\x7f", "s"), t.Key("a\xff", "s"),
			{App: "a\t", User: "b", ID: "s"},
			t.Key("a", strings.Repeat("x", 513)), t.Key(strings.Repeat("x", 513), "s"),
		} {
			_, err := t.Create(t.Context(), k, nil)
			t.Logf("%q: %v", k, err)
			t.Is(err, session.ErrInvalid)
		}
	},
}}

// reaching tries an operation of each kind on a session, and returns what came of each as an error: that it
// succeeded is one, too.
func (t *tester) reaching(ctx context.Context, key session.Key) []error {
	var errs []error
	tried := func(name string, err error) {
		if err == nil {
			err = errors.New("no error")
		}
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	for _, events := range [][]*session.Event{nil, {delta("x", "app:x", 1)}} {
		_, err := t.Append(ctx, session.AppendTarget{Key: key}, events...)
		tried(fmt.Sprintf("Append of %d events", len(events)), err)
	}
	for _, sel := range []session.Selection{{}, {Live: true}, {Last: 1}} {
		tried(fmt.Sprintf("Read of %+v", sel), firstError(t, t.Read(ctx, key, sel)))
	}
	_, err := t.Get(ctx, key)
	tried("Get", err)
	tried("SetTimes", t.SetTimes(ctx, key, time.Time{}, time.Time{}))
	tried("Lease", <-t.waits(ctx, key))
	tried("Cancel", t.Cancel(ctx, key, ""))
	tried("Watch", watchOnce(ctx, t, key))
	tried("Follow", firstError(t, session.Follow(ctx, t, key, 0)))
	tried("Delete", t.Delete(ctx, key))
	return errs
}

// firstError returns the error that ends a sequence, which must be its last.
func firstError[T any](t *tester, seq iter.Seq2[T, error]) error {
	t.Helper()
	var first error
	for item, err := range seq {
		t.FailIf(first != nil, "a sequence went on after its error %v with %v, %v", first, item, err)
		first = err
	}
	return first
}

// isKeyError expects an error that is target and says which session it is about.
func (t *tester) isKeyError(err, target error, key session.Key) {
	t.Helper()
	t.Is(err, target)
	var ke *session.KeyError
	t.FailIf(!errors.As(err, &ke) || ke.Key != key,
		"error is %v (%T)\n  want a *session.KeyError with key %s", err, err, key)
}
