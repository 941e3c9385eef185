package sessiontest

import (
	"slices"

	"github.com/plughook/plughook/session"
)

var fenceCases = []testCase{
	{"fence/grows",
		"A turn's fence is positive and greater than that of every turn on the session before.",
		func(t *tester) {
			key := t.create("s")
			var fences []int64
			for range 5 {
				turn := t.turn(key)
				fences = append(fences, turn.Fence)
				turn.Release()
			}
			if fences[0] < 1 || !slices.IsSorted(fences) || len(slices.Compact(slices.Clone(fences))) != 5 {
				t.Fatalf("fences are %v", fences)
			}
		}},
	{"fence/held",
		"While somebody holds a turn, an append without its fence is ErrFenced, says which fences, and appends nothing; that goes before ErrConflict.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, says(2)...)
			old := t.turn(key)
			old.Release()
			turn := t.turn(key)
			for _, fence := range []int64{0, old.Fence, turn.Fence + 1, -1} {
				for _, after := range []int64{2, 0} {
					_, err := t.Append(t.Context(), session.At{Key: key, After: after, Fence: fence}, say("x"))
					t.isPosition(err, session.ErrFenced, key, fence, turn.Fence)
				}
			}
			_, err := t.Append(t.Context(), session.At{Key: key, After: 0, Fence: turn.Fence}, say("x"))
			t.isPosition(err, session.ErrConflict, key, 0, 2)
			_, err = t.Append(t.Context(), session.At{Key: key, After: 2, Fence: turn.Fence}, say("a"))
			t.must(err)
			t.equal("log", t.ids(t.log(key)), []string{"1:m1", "2:m2", "3:a"})
		}},
	{"fence/released",
		"After its release a turn's fence is good for nothing; an append without a fence is welcome again.",
		func(t *tester) {
			key := t.create("s")
			turn := t.turn(key)
			turn.Release()
			_, err := t.Append(t.Context(), session.At{Key: key, Fence: turn.Fence}, say("x"))
			t.is(err, session.ErrFenced)
			t.put(key, say("a"))
			_, err = t.Append(t.Context(), session.At{Key: key, After: 1, Fence: turn.Fence + 1}, say("x"))
			t.is(err, session.ErrFenced)
			t.equal("log", t.ids(t.log(key)), []string{"1:a"})
		}},
	{"fence/create again",
		"The fence of a deleted session's turn is good for nothing in a session that is created again under its key.",
		func(t *tester) {
			key := t.create("s")
			old := t.turn(key)
			t.must(t.Delete(t.Context(), key))
			t.createKey(key, nil)
			_, err := t.Append(t.Context(), session.At{Key: key, Fence: old.Fence}, say("x"))
			t.is(err, session.ErrFenced)
			old.Release()
			turn := t.turn(key)
			_, err = t.Append(t.Context(), session.At{Key: key, Fence: old.Fence}, say("x"))
			t.is(err, session.ErrFenced)
			old.Release()
			_, err = t.Append(t.Context(), session.At{Key: key, Fence: turn.Fence}, say("a"))
			t.must(err)
			t.equal("log", t.ids(t.log(key)), []string{"1:a"})
		}},
}
