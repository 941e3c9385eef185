package artifact_test

import (
	"strings"

	"github.com/plughook/plughook/artifact"
)

var nameCases = []testCase{{
	Name: "name/taken",
	Rule: "Whatever CheckName takes is a name, byte by byte: names that differ in case, in composition of " +
		"letters, or in what they look like are different artifacts.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		n := 0
		for _, name := range hostile {
			if artifact.CheckName(name) == nil {
				t.save(key, name, name, 0)
				n++
			}
		}
		for _, name := range hostile {
			if artifact.CheckName(name) == nil {
				t.text(key, name, artifact.Latest, name)
				t.versions(key, name, 1)
			}
		}
		names, err := t.List(t.Context(), key)
		t.Must(err)
		t.equal("how many names List has", len(names), n)
	},
}, {
	Name: "name/refused",
	Rule: "Every operation refuses what CheckName refuses, with an ErrName, and nothing is saved.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for _, name := range hostile {
			if artifact.CheckName(name) == nil {
				continue
			}
			for _, op := range t.all(t.Context(), key, name) {
				t.Is(op.do(), artifact.ErrName, op.name+" of "+strings.ToValidUTF8(name, "?"))
			}
		}
		t.list(key)
	},
}, {
	Name: "name/folders",
	Rule: "A name with slashes is a name like any other: \"a\" and \"a/b\" can both be there, and deleting " +
		"one leaves the other.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for _, name := range []string{"a/b/c", "a", "a/b", "user:a/b", "user:a"} {
			t.save(key, name, name, 0)
		}
		t.Must(t.Delete(t.Context(), key, "a/b"))
		t.Must(t.Delete(t.Context(), key, "user:a"))
		t.list(key, "a", "a/b/c", "user:a/b")
		t.text(key, "a/b/c", 0, "a/b/c")
	},
}}

var deleteCases = []testCase{{
	Name: "delete/all",
	Rule: "Delete removes an artifact with all its versions, and nothing else.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for v := range int64(3) {
			t.save(key, "a", "a", v)
			t.save(key, "b", "b", v)
		}
		t.Must(t.Delete(t.Context(), key, "a"))
		t.none(key, "a")
		t.list(key, "b")
		t.versions(key, "b", 3)
		t.text(key, "b", 0, "b")
	},
}, {
	Name: "delete/again",
	Rule: "What is saved after Delete begins with version 0 again, and nothing of before comes back.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for range 3 {
			t.save(key, "a", "first", 0)
			t.save(key, "a", "second", 1)
			t.Must(t.Delete(t.Context(), key, "a"))
		}
		t.save(key, "a", "third", 0)
		t.versions(key, "a", 1)
		t.text(key, "a", artifact.Latest, "third")
	},
}, {
	Name: "delete/nothing",
	Rule: "It is no error to delete what is not there.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.Must(t.Delete(t.Context(), key, "a"))
		t.Must(t.Delete(t.Context(), key, "user:a"))
		t.save(key, "a", "a", 0)
		t.Must(t.Delete(t.Context(), key, "a"))
		t.Must(t.Delete(t.Context(), key, "a"))
		t.list(key)
	},
}}
