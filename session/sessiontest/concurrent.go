package sessiontest

import (
	"fmt"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

var concurrentCases = []testCase{{
	Name: "concurrent/appends",
	Rule: "Of appends that follow one position at most one succeeds; with a new try after each conflict " +
		"none is lost and positions stay dense.",
	Run: func(t *tester) {
		const writers = 6
		const each = 8
		key := t.create("s")
		t.AtOnce(writers, func(w int) error {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := contract.Persist(t.Soon(), t, key, say(id), delta(id+" state", fmt.Sprint("k", w), i)); err != nil {
					return err
				}
			}
			return nil
		})
		log := t.log(key)
		t.equal("length of the log", len(log), 2*writers*each)
		next := make([]int, writers)
		for i := 0; i < len(log); i += 2 {
			var w, n int
			if _, err := fmt.Sscanf(log[i].ID, "%d-%d", &w, &n); err != nil || n != next[w] || log[i+1].ID != log[i].ID+" state" {
				t.Fatalf("the log has %v at %d", t.ids(log[i:i+2]), i+1)
			}
			next[w]++
		}
		t.folds(key)
	},
}, {
	Name: "concurrent/same event",
	Rule: "When many append one event at once it is appended once, and all get its position.",
	Run: func(t *tester) {
		const writers = 8
		key := t.create("s")
		got := make([]int64, writers)
		t.AtOnce(writers, func(w int) error {
			e := add("a", "app:n", 1)
			err := contract.Persist(t.Soon(), t, key, e)
			got[w] = e.Seq
			return err
		})
		t.equal("positions", got, []int64{1, 1, 1, 1, 1, 1, 1, 1})
		t.hasLog(key, "1:a")
		t.hasState(key, map[string]any{"app:n": 1})
	},
}, {
	Name: "concurrent/create and delete",
	Rule: "Of Creates of one session at once one succeeds, the others are ErrExists; of Deletes one, the " +
		"others are ErrNotFound.",
	Run: func(t *tester) {
		const callers = 8
		key := t.Key("ann", "s")
		for range 3 {
			create := func() error {
				_, err := t.Create(t.Context(), key, map[string]any{"app:a": 1})
				return err
			}
			remove := func() error { return t.Delete(t.Context(), key) }
			for _, c := range []struct {
				what string
				do   func() error
				loss error
			}{
				{what: "Create", do: create, loss: session.ErrExists},
				{what: "Delete", do: remove, loss: session.ErrNotFound},
			} {
				won := 0
				for _, err := range contract.AtOnce(callers, func(int) error { return c.do() }) {
					if err == nil {
						won++
					} else {
						t.Is(err, c.loss)
					}
				}
				t.equal(c.what+"s that succeeded", won, 1)
			}
		}
	},
}, {
	Name: "concurrent/reads",
	Rule: "What Get and Read return while others append is the log at one moment: no half batch, and state " +
		"that fits.",
	On: func(t *tester, key session.Key) {
		done := started(func() (err error) {
			for i := 0; i < 60 && err == nil; i += 2 {
				_, err = t.Append(t.Context(), session.AppendTarget{Key: key, After: int64(i)},
					delta(fmt.Sprint("a", i), "a", i), delta(fmt.Sprint("b", i), "b", i))
			}
			return err
		})
		for open := true; open; {
			select {
			case err := <-done:
				t.Must(err)
				open = false
			default:
			}
			s := t.get(key)
			t.FailIf(fmt.Sprint(s.State["a"]) != fmt.Sprint(s.State["b"]) || s.Position%2 != 0,
				"state is %v at position %d", s.State, s.Position)
			for _, sel := range []session.Selection{{}, {Live: true}} {
				log := t.read(key, sel)
				t.FailIf(len(log)%2 != 0 || int64(len(log)) < s.Position,
					"Read yields %d events after Get said position %d", len(log), s.Position)
			}
		}
	},
}}
