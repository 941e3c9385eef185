package artifact_test

import (
	"fmt"
	"math"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
)

var versionCases = []testCase{{
	Name: "version/dense",
	Rule: "Versions of an artifact are numbered from 0 without a gap, each artifact for itself, and every " +
		"one stays as it was saved.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for v := range int64(12) { // more than one digit: they are numbers, not texts
			t.save(key, "a.txt", fmt.Sprint("a", v), v)
			t.save(key, "b.txt", fmt.Sprint("b", v), v)
		}
		t.versions(key, "a.txt", 12)
		t.versions(key, "b.txt", 12)
		for v := range int64(12) {
			t.text(key, "a.txt", v, fmt.Sprint("a", v))
			t.text(key, "b.txt", v, fmt.Sprint("b", v))
		}
	},
}, {
	Name: "version/latest",
	Rule: "Latest is the version that was saved last, whatever kind of data the ones before it are.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.save(key, "a", "first", 0)
		t.text(key, "a", artifact.Latest, "first")
		_, err := t.Save(t.Context(), key, "a",
			genai.NewPartFromBytes([]byte("second"), "text/plain"))
		t.Must(err)
		got, err := t.Load(t.Context(), key, "a", artifact.Latest)
		t.Must(err)
		t.same("the latest", got, genai.NewPartFromBytes([]byte("second"), "text/plain"))
		for v := int64(2); v < 11; v++ {
			t.save(key, "a", fmt.Sprint(v), v)
			t.text(key, "a", artifact.Latest, fmt.Sprint(v))
		}
	},
}, {
	Name: "version/unknown",
	Rule: "A version that was never saved is ErrNotFound, and so is every version of an artifact that is " +
		"not there.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		t.save(key, "a", "a", 0)
		for _, v := range []int64{1, -2, math.MaxInt64, math.MinInt64} {
			_, err := t.Load(t.Context(), key, "a", v)
			t.Is(err, artifact.ErrNotFound, fmt.Sprint("Load of version ", v))
		}
		t.none(key, "b")
		t.none(t.Key("ann", "no such session"), "a")
	},
}}
