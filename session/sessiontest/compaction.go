package sessiontest

import (
	"github.com/plughook/plughook/session"
)

var compactionCases = []testCase{
	{"compaction/live view",
		"After a compaction the live view is its event, what it keeps, and what came after its Through; its position is the frontier.",
		func(t *tester) {
			key := t.talk()
			t.put(key, compact("c", 7, 0, 2, 5))
			t.isLive(key, 11, 2, 5, 8, 9, 10)
			t.equal("frontier", t.get(key).Frontier, 11)
			t.equal("text of the log's first event", t.log(key)[0].Text(), "m1")
			t.put(key, say("n"))
			t.isLive(key, 11, 2, 5, 8, 9, 10, 12)
			t.put(key, compact("d", 8, 11, 5))
			t.isLive(key, 13, 5, 9, 10, 12)
			t.put(key, compact("e", 12, 13, 9))
			t.isLive(key, 14, 9)
			t.put(key, answer("o", "two"), compact("f", 15, 14))
			t.isLive(key, 16)
		}},
	{"compaction/late",
		"A compaction whose author knew the last compaction or rewind may come late: events appended since do not disturb it.",
		func(t *tester) {
			key := t.talk()
			t.put(key, says(20)[15:]...)
			t.put(key, compact("c", 3, 0))
			t.isLive(key, 16, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
		}},
	{"compaction/refused",
		"A compaction that would break the live view is ErrInvalid: see store.CheckCompaction.",
		func(t *tester) {
			key := t.talk()
			t.put(key, say("void"), rewind("r", 10))
			t.put(key, compact("c", 3, 12, 2)) // live: 13 2 4 5 6 7 8 9 10
			withCall := compact("bad", 8, 13)
			withCall.Content = call("x", "three").Content
			withResponse := compact("bad", 8, 13)
			withResponse.Content = answer("x", "two").Content
			both := compact("bad", 8, 13)
			both.Actions.Rewind = &session.Rewind{To: 1}
			for what, e := range map[string]*session.Event{
				"through is not before it":         compact("bad", 14, 13, 9),
				"through is far after it":          compact("bad", 1<<40, 13),
				"through is negative":              compact("bad", -1, 13),
				"frontier is an older one":         compact("bad", 8, 12),
				"frontier is 0":                    compact("bad", 8, 0),
				"frontier is not there yet":        compact("bad", 8, 14),
				"keep is not ascending":            compact("bad", 8, 13, 5, 2),
				"keep has one twice":               compact("bad", 8, 13, 5, 5),
				"keep goes beyond through":         compact("bad", 8, 13, 9),
				"keep was compacted":               compact("bad", 8, 13, 1),
				"keep was voided":                  compact("bad", 12, 13, 9, 11),
				"keep is a rewind":                 compact("bad", 12, 13, 9, 12),
				"keep is a compaction":             compact("bad", 13, 13, 9, 13),
				"keep is 0":                        compact("bad", 8, 13, 0),
				"it covers nothing new":            compact("bad", 3, 13, 2),
				"it keeps all":                     compact("bad", 8, 13, 2, 4, 5, 6, 7, 8),
				"it covers less than the last":     compact("bad", 2, 13),
				"it covers a call, no response":    compact("bad", 5, 13),
				"it keeps a call, no response":     compact("bad", 8, 13, 4),
				"it covers a call, keeps response": compact("bad", 8, 13, 6),
				"it covers an open call":           compact("bad", 10, 13),
				"it carries a call":                withCall,
				"it carries a response":            withResponse,
				"it is a rewind too":               both,
			} {
				t.Logf("a compaction is refused: %s", what)
				t.refused(key, session.ErrInvalid, "bad", e)
				if what != "through is not before it" {
					t.refused(key, session.ErrInvalid, "bad", say("with another"), e)
				}
			}
			t.put(key, compact("good", 8, 13))
			t.isLive(key, 14, 9, 10)
		}},
	{"compaction/of what a call waits for",
		"While a call is open, a compaction keeps what says that it is answered later, the question to a human about it and the verdict, and what the agent that is to answer it has said.",
		func(t *tester) {
			key := t.create("s")
			later := &session.Event{ID: "later", Author: "agent", LongRunningToolIDs: []string{"one"}}
			asked := &session.Event{ID: "asked", Author: "agent", Actions: session.Decision(false, "two").Actions}
			verdict := session.Decision(true, "two")
			verdict.ID = "verdict"
			below := say("below")
			below.Author, below.Branch = "f", "f@one"
			t.put(key, say("m"), calls("c", "one", "two"), later, asked, verdict, below, say("n"))
			for what, keep := range map[string][]int64{
				"it covers the calls":                    {3, 4, 5, 6},
				"it covers that one is answered later":   {2, 4, 5, 6},
				"it covers the question":                 {2, 3, 5, 6},
				"it covers the verdict":                  {2, 3, 4, 6},
				"it covers the conversation of a callee": {2, 3, 4, 5},
			} {
				t.Logf("a compaction is refused: %s", what)
				t.refused(key, session.ErrInvalid, "bad", compact("bad", 7, 0, keep...))
			}
			t.put(key, compact("d", 7, 0, 2, 3, 4, 5, 6))
			t.isLive(key, 8, 2, 3, 4, 5, 6)
			t.put(key, answers("r", "two"))
			t.refused(key, session.ErrInvalid, "bad", compact("bad", 9, 8, 2, 4, 5, 6, 9)) // the other call is still open
			t.put(key, answers("s", "one"), compact("e", 10, 8))
			t.isLive(key, 11)
		}},
	{"compaction/stale",
		"A compaction is refused when another compaction or a rewind came after what its author knew, so a late summary is never wrong.",
		func(t *tester) {
			key := t.talk()
			t.put(key, rewind("r", 8))
			t.refused(key, session.ErrInvalid, "bad", compact("bad", 7, 0))
			t.put(key, compact("c", 3, 11))
			t.refused(key, session.ErrInvalid, "bad", compact("bad", 7, 11))
			t.put(key, rewind("s", 2))
			t.refused(key, session.ErrInvalid, "bad", compact("bad", 2, 12))
			t.put(key, compact("d", 2, 13))
			t.isLive(key, 14)
		}},
	{"compaction/of a batch",
		"In a batch each compaction and rewind is checked, and counts, after the events before it.",
		func(t *tester) {
			key := t.create("s")
			t.put(key, say("a"), say("b"), compact("c", 2, 0), say("d"), compact("e", 4, 3))
			t.isLive(key, 5)
			t.put(key, say("f"), rewind("g", 4), rewind("h", 1), say("i"), rewind("j", 2), compact("k", 2, 10, 1))
			t.isLive(key, 11, 1)
			t.put(key, call("l", "1"), answer("m", "1"), compact("n", 13, 11))
			t.isLive(key, 14)
			t.refused(key, session.ErrInvalid, "bad", say("o"), compact("p", 15, 14), compact("bad", 15, 14))
			t.refused(key, session.ErrInvalid, "bad", say("o"), rewind("p", 3), compact("bad", 15, 14))
			t.refused(key, session.ErrInvalid, "bad", rewind("p", 3), rewind("bad", 16), say("o"))
			t.refused(key, session.ErrInvalid, "bad", call("o", "2"), compact("bad", 15, 14), answer("q", "2"))
			t.folds(key)
		}},
	{"compaction/inert",
		"A compaction without Through, such as another kit's over a range of time, is an ordinary event.",
		func(t *tester) {
			key := t.talk()
			t.put(key, compact("c", 0, 77, 99))
			t.isLive(key, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			t.equal("frontier", t.get(key).Frontier, 0)
			t.put(key, compact("d", 3, 0, 2), compact("e", 11, 12, 9, 11))
			t.isLive(key, 13, 9, 11)
		}},
	{"compaction/state",
		"A compaction changes no state but by its own delta: what it covers still counts.",
		func(t *tester) {
			key := t.create("s")
			c := compact("c", 2, 0)
			c.Actions.StateDelta = map[string]any{"k": 3, "user:u": 1}
			t.put(key, delta("a", "k", 1), delta("b", "l", 2), c)
			t.isLive(key, 3)
			t.equal("state", t.get(key).State, map[string]any{"k": 3, "l": 2, "user:u": 1})
		}},
}
