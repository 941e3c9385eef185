package artifacttest

import (
	"strings"

	"github.com/plughook/plughook/artifact"
)

var nameCases = []testCase{
	{"name/taken",
		"Whatever CheckName takes is a name, byte by byte: names that differ in case, in composition of letters, or in what they look like are different artifacts.",
		func(t *tester) {
			key := t.key("ann", "s")
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
			t.must(err)
			t.equal("how many names List has", len(names), n)
		}},
	{"name/refused",
		"Every operation refuses what CheckName refuses, with an ErrName, and nothing is saved.",
		func(t *tester) {
			key := t.key("ann", "s")
			for _, name := range hostile {
				if artifact.CheckName(name) == nil {
					continue
				}
				for _, op := range t.all(t.Context(), key, name) {
					t.is(op.name+" of "+strings.ToValidUTF8(name, "?"), op.do(), artifact.ErrName)
				}
			}
			t.list(key)
		}},
	{"name/folders",
		"A name with slashes is a name like any other: \"a\" and \"a/b\" can both be there, and deleting one leaves the other.",
		func(t *tester) {
			key := t.key("ann", "s")
			for _, name := range []string{"a/b/c", "a", "a/b", "user:a/b", "user:a"} {
				t.save(key, name, name, 0)
			}
			t.must(t.Delete(t.Context(), key, "a/b"))
			t.must(t.Delete(t.Context(), key, "user:a"))
			t.list(key, "a", "a/b/c", "user:a/b")
			t.text(key, "a/b/c", 0, "a/b/c")
		}},
}

var deleteCases = []testCase{
	{"delete/all",
		"Delete removes an artifact with all its versions, and nothing else.",
		func(t *tester) {
			key := t.key("ann", "s")
			for v := range int64(3) {
				t.save(key, "a", "a", v)
				t.save(key, "b", "b", v)
			}
			t.must(t.Delete(t.Context(), key, "a"))
			t.none(key, "a")
			t.list(key, "b")
			t.versions(key, "b", 3)
			t.text(key, "b", 0, "b")
		}},
	{"delete/again",
		"What is saved after Delete begins with version 0 again, and nothing of before comes back.",
		func(t *tester) {
			key := t.key("ann", "s")
			for range 3 {
				t.save(key, "a", "first", 0)
				t.save(key, "a", "second", 1)
				t.must(t.Delete(t.Context(), key, "a"))
			}
			t.save(key, "a", "third", 0)
			t.versions(key, "a", 1)
			t.text(key, "a", artifact.Latest, "third")
		}},
	{"delete/nothing",
		"It is no error to delete what is not there.",
		func(t *tester) {
			key := t.key("ann", "s")
			t.must(t.Delete(t.Context(), key, "a"))
			t.must(t.Delete(t.Context(), key, "user:a"))
			t.save(key, "a", "a", 0)
			t.must(t.Delete(t.Context(), key, "a"))
			t.must(t.Delete(t.Context(), key, "a"))
			t.list(key)
		}},
}
