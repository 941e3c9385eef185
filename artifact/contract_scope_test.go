package artifact_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

var scopeCases = []testCase{{
	Name: "scope/session",
	Rule: "An artifact belongs to its session: neither another session, nor another user's session of the " +
		"same ID, nor another app's has it.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.save(key, "a", "mine", 0)
		for _, other := range []session.Key{
			t.Key("ann", "t"), t.Key("bob", "s"), {App: t.App + "2", User: "ann", ID: "s"},
		} {
			t.none(other, "a")
			t.list(other)
			t.save(other, "a", other.String(), 0)
			t.Must(t.Delete(t.Context(), other, "a"))
		}
		t.text(key, "a", 0, "mine")
	},
}, {
	Name: "scope/user",
	Rule: `An artifact whose name begins with "user:" belongs to the user: all sessions of the user in the app share it and its versions, other users and apps do not.`,
	Run: func(t *tester) {
		one := t.Key("ann", "s")
		two := t.Key("ann", "t")
		t.save(one, "user:a", "first", 0)
		t.save(two, "user:a", "second", 1)
		for _, key := range []session.Key{one, two, t.Key("ann", "new")} {
			t.text(key, "user:a", 0, "first")
			t.text(key, "user:a", 1, "second")
			t.versions(key, "user:a", 2)
			t.list(key, "user:a")
		}
		for _, other := range []session.Key{
			t.Key("bob", "s"), {App: t.App + "2", User: "ann", ID: "s"},
		} {
			t.none(other, "user:a")
			t.list(other)
		}
		t.Must(t.Delete(t.Context(), two, "user:a"))
		t.none(one, "user:a")
	},
}, {
	Name: "scope/two",
	Rule: `"a" and "user:a" are two artifacts, with their own versions.`,
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.save(key, "a", "session's", 0)
		t.save(key, "user:a", "user's", 0)
		t.save(key, "user:user:a", "user's too", 0)
		t.save(key, "a", "session's again", 1)
		t.text(key, "a", 0, "session's")
		t.text(key, "user:a", 0, "user's")
		t.text(key, "user:user:a", 0, "user's too")
		t.list(key, "a", "user:a", "user:user:a")
		t.Must(t.Delete(t.Context(), key, "a"))
		t.list(key, "user:a", "user:user:a")
	},
}, {
	Name: "scope/list",
	Rule: "List has the names of the session's and the user's artifacts, sorted byte by byte, each once, " +
		"whatever the number of versions; a session without any has none, and need not exist.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.list(key)
		names := []string{
			"z", "b/c.txt", "b", "B", "b.txt", "user:z", "user:a", "ä", "b c", "user",
			strings.Repeat("l", 512), "v/w",
		}
		for _, name := range names {
			t.save(key, name, name, 0)
			t.save(key, name, name, 1)
		}
		slices.Sort(names)
		t.list(key, names...)
		t.list(t.Key("ann", "other"), "user:a", "user:z")
	},
}, {
	Name: "scope/keys",
	Rule: "App, user and session may be any text that session.Key.Check takes, each up to 512 bytes; keys " +
		"that differ in anything have different artifacts.",
	Run: func(t *tester) {
		var keys []session.Key
		for _, s := range hostile {
			if (session.Key{App: t.App + s, User: s, ID: s}).Check(false) == nil {
				keys = append(keys, t.Key("ann", s), t.Key(s, "s"),
					session.Key{App: t.App + s, User: "ann", ID: "s"})
			}
		}
		for _, k := range [][2]string{
			{"a/b", "c"}, {"a", "b/c"}, {"a/user", "c"}, {"a", "user/c"},
			{"a/sessions/c", "d"}, {"a", "sessions/c"},
		} {
			keys = append(keys, t.Key(k[0], k[1]))
		}
		for i, key := range keys {
			t.save(key, "a", fmt.Sprint(i), 0)
		}
		for i, key := range keys {
			t.text(key, "a", 0, fmt.Sprint(i))
			t.versions(key, "a", 1)
			t.list(key, "a")
		}
	},
}, {
	Name: "scope/refused keys",
	Rule: "A key that session.Key.Check refuses, one without an ID too, is session.ErrInvalid for every " +
		"operation.",
	Run: func(t *tester) {
		for _, key := range []session.Key{
			{}, t.Key("", "s"), t.Key("ann", ""), t.Key("ann", "a\x00b"),
			t.Key("\xff", "s"), t.Key(strings.Repeat("u", 513), "s"),
		} {
			for _, name := range []string{"a", "user:a"} {
				for _, op := range t.all(t.Context(), key, name) {
					t.Is(op.do(), session.ErrInvalid, op.name)
				}
			}
			_, err := t.List(t.Context(), key)
			t.Is(err, session.ErrInvalid, "List")
		}
	},
}}

// hostile are texts that some stores have mistaken for something else.
var hostile = []string{
	".", "..", "...", "../..", "../../etc/passwd", "/", "//", "/etc/passwd", "a/", "/a", "a//b", "a/../b", "a/./b", `a\b`, `..\..\a`, `C:\a`, "C:a", "C:/a",
	"a", "A", "aa", "aA", "Aa", "AA", "%41", "%61", "a%2fb", "a%2Fb", "a/b", "a/B", "%", "%%", "%25", "~", "~a", "a~", "a~1", "-", "--help", "*", "?", "a?b", "a#b", "a:b", "a;b", "a|b", "<a>", `"a"`, "'a'", "$HOME", "`a`",
	" ", " a", "a ", "a  b", ".a", "a.", "a..", ".a.", "a.b.c", "0", "1", "-1", "00", "data", "about.json", "new-", "user", "users", "sessions", "user/a", "tmp", ".tmp", "a.tmp", "index.json",
	"con", "CON", "nul", "nul.txt", "com1", "com1.txt", "aux.", "lpt9", "prn.a.b", "conin$", "com¹",
	"ä", "a\u0308", "Ä", "ß", "ss", "ı", "i", "I", "İ", "ﬁ", "fi", "K", "k", "\u212a", "日本", "🙂", "\ufeffa", "a\u200bb", "e\u0301", "é",
	strings.Repeat(
		"a",
		255,
	), strings.Repeat("a", 256), strings.Repeat("a", 511) + "b", strings.Repeat("a", 512), strings.Repeat("A", 512), strings.Repeat("ä", 256), strings.Repeat("a/", 255) + "a", strings.Repeat("%", 100), strings.Repeat("%", 101),
	"", "\x00", "a\x00", "a\nb", "\x1b[31m", "\x7f", "\u0085", "\u202ea", "\xff", "a\xc3", "user:", "user:/a", "user:..", "user: ", "user:a/../b", "User:a", "app:a", strings.Repeat("a", 513), "user:" + strings.Repeat("a", 512), "user:" + strings.Repeat("a", 513),
}
