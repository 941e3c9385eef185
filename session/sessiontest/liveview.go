package sessiontest

import (
	"fmt"

	"github.com/plughook/plughook/session"
)

var compactionCases = []testCase{{
	Name: "compaction/live view",
	Rule: "After a compaction the live view is its event, what it keeps, and what came after its Through; " +
		"its position is the frontier.",
	Run: func(t *tester) {
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
		t.put(key, answers("o", "two"), compact("f", 15, 14))
		t.isLive(key, 16)
	},
}, {
	Name: "compaction/workflows",
	Rule: "A compaction covers no event of a workflow's run that has not ended, and not the run's input; " +
		"once the run has ended it may cover all. A run of another kit, which has no end, keeps nothing.",
	On: func(t *tester, key session.Key) {
		foreign := ofNode("foreign", "desk@1/sort@1", false)
		t.put(key, says(1)[0], foreign, say("go"), ofNode("sort", "desk@i/sort@1", true), ofNode("ask", "desk@i/ask@1", false), say("hello"))
		t.allRefused(key, map[string]*session.Event{
			"the input":             compact("bad", 6, 0, 4, 5),
			"a node that has ended": compact("bad", 6, 0, 3, 5),
			"a node at work":        compact("bad", 5, 0, 3, 4),
		})
		t.put(key, compact("c", 6, 0, 3, 4, 5))
		t.isLive(key, 7, 3, 4, 5)
		t.put(key, ofNode("end", "desk@i", true), compact("d", 8, 7))
		t.isLive(key, 9)
		t.put(key, rewind("r", 7))
		t.isLive(key, 7, 3, 4, 5)
	},
}, {
	Name: "compaction/refused",
	Rule: "A compaction that would break the live view is ErrInvalid: see store.CheckCompaction.",
	Run: func(t *tester) {
		key := t.talk()
		t.put(key, say("void"), rewind("r", 10))
		t.put(key, compact("c", 3, 12, 2)) // live: 13 2 4 5 6 7 8 9 10
		withCall := compact("bad", 8, 13)
		withCall.Content = calls("x", "three").Content
		withResponse := compact("bad", 8, 13)
		withResponse.Content = answers("x", "two").Content
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
			"it covers nothing new":            compact("bad", 4, 13, 2, 4),
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
	},
}, {
	Name: "compaction/better",
	Rule: "A compaction may cover what the one before it covers, and no more: it is a better summary of that. A " +
		"rewind to before it brings the other one back.",
	Run: func(t *tester) {
		key := t.talk()
		t.put(key, compact("c", 8, 0, 2))
		t.isLive(key, 11, 2, 9, 10)
		t.put(key, say("more"), compact("better", 8, 11, 2))
		t.isLive(key, 13, 2, 9, 10, 12)
		t.refused(key, session.ErrInvalid, "again", compact("again", 8, 11, 2)) // it knew the first one only
		t.put(key, rewind("r", 12))
		t.isLive(key, 11, 2, 9, 10, 12)
		t.put(key, compact("all", 12, 14, 9))
		t.isLive(key, 15, 9)
	},
}, {
	Name: "compaction/of what a call waits for",
	Rule: "While a call is open, a compaction keeps what says that it is answered later, the question to a " +
		"human about it and the decision, and what the agent that is to answer it has said.",
	On: func(t *tester, key session.Key) {
		later := &session.Event{ID: "later", Author: "agent", LongRunningToolIDs: []string{"one"}}
		asked := &session.Event{
			ID: "asked", Author: "agent", Actions: session.Decision(false, "two").Actions,
		}
		decision := session.Decision(true, "two")
		decision.ID = "decision"
		below := say("below")
		below.Author = "f"
		below.Branch = "f@one"
		t.put(key, say("m"), calls("c", "one", "two"), later, asked, decision, below, say("n"))
		t.allRefused(key, map[string]*session.Event{
			"it covers the calls":                    compact("bad", 7, 0, 3, 4, 5, 6),
			"it covers that one is answered later":   compact("bad", 7, 0, 2, 4, 5, 6),
			"it covers the question":                 compact("bad", 7, 0, 2, 3, 5, 6),
			"it covers the decision":                 compact("bad", 7, 0, 2, 3, 4, 6),
			"it covers the conversation of a callee": compact("bad", 7, 0, 2, 3, 4, 5),
		})
		t.put(key, compact("d", 7, 0, 2, 3, 4, 5, 6))
		t.isLive(key, 8, 2, 3, 4, 5, 6)
		t.put(key, answers("r", "two"))
		t.refused(key, session.ErrInvalid, "bad", compact("bad", 9, 8, 2, 4, 5, 6, 9)) // the other call is still open
		t.put(key, answers("s", "one"), compact("e", 10, 8))
		t.isLive(key, 11)
	},
}, {
	Name: "compaction/stale",
	Rule: "A compaction is refused when another compaction or a rewind came after what its author knew, so " +
		"a late summary is never wrong.",
	Run: func(t *tester) {
		key := t.talk()
		t.put(key, rewind("r", 8))
		t.refused(key, session.ErrInvalid, "bad", compact("bad", 7, 0))
		t.put(key, compact("c", 3, 11))
		t.refused(key, session.ErrInvalid, "bad", compact("bad", 7, 11))
		t.put(key, rewind("s", 2))
		t.refused(key, session.ErrInvalid, "bad", compact("bad", 2, 12))
		t.put(key, compact("d", 2, 13))
		t.isLive(key, 14)
	},
}, {
	Name: "compaction/inert",
	Rule: "A compaction without Through, such as another kit's over a range of time, is an ordinary event.",
	Run: func(t *tester) {
		key := t.talk()
		t.put(key, compact("c", 0, 77, 99))
		t.isLive(key, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		t.equal("frontier", t.get(key).Frontier, 0)
		t.put(key, compact("d", 3, 0, 2), compact("e", 11, 12, 9, 11))
		t.isLive(key, 13, 9, 11)
	},
}, {
	Name: "compaction/state",
	Rule: "A compaction changes no state but by its own delta: what it covers still counts.",
	On: func(t *tester, key session.Key) {
		c := compact("c", 2, 0)
		c.Actions.StateDelta = map[string]any{"k": 3, "user:u": 1}
		t.put(key, delta("a", "k", 1), delta("b", "l", 2), c)
		t.isLive(key, 3)
		t.hasState(key, map[string]any{"k": 3, "l": 2, "user:u": 1})
	},
}}

var rewindCases = []testCase{{
	Name: "rewind/live view and state",
	Rule: "A rewind voids what came after its position: events, and the changes of the session's own keys; " +
		"not app: and user: keys.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"k": 0, "gone": "back"})
		t.put(key, delta("a", "k", 1), delta("b", "k", 2), delta("c", "l", 1),
			delta("d", "gone", nil), delta("e", "app:a", 1), add("f", "user:u", 1))
		t.put(key, rewind("g", 1))
		t.isLive(key, 1)
		t.hasState(key, map[string]any{"k": 1, "gone": "back", "app:a": 1, "user:u": 1})
		t.equal("frontier", t.get(key).Frontier, 7)
		t.put(key, delta("h", "l", 2))
		t.isLive(key, 1, 8)
		t.hasState(key, map[string]any{"k": 1, "l": 2, "gone": "back", "app:a": 1, "user:u": 1})
		t.equal("log", len(t.log(key)), 8)
	},
}, {
	Name: "rewind/refused",
	Rule: "A rewind that does not point backward, or carries anything else, is ErrInvalid: see " +
		"store.CheckRewind.",
	Run: func(t *tester) {
		key := t.talk()
		with := func(change func(*session.Event)) *session.Event {
			e := rewind("bad", 3)
			change(e)
			return e
		}
		t.allRefused(key, map[string]*session.Event{
			"to itself":       rewind("bad", 11),
			"forward":         rewind("bad", 12),
			"negative":        rewind("bad", -1),
			"content":         with(func(e *session.Event) { e.Content = say("x").Content }),
			"state":           with(func(e *session.Event) { e.Actions.StateDelta = map[string]any{"k": 1} }),
			"increment":       with(func(e *session.Event) { e.Actions.StateIncrement = map[string]float64{"app:k": 1} }),
			"artifact":        with(func(e *session.Event) { e.Actions.ArtifactDelta = map[string]int64{"f": 1} }),
			"transfer":        with(func(e *session.Event) { e.Actions.TransferToAgent = "x" }),
			"error":           with(func(e *session.Event) { e.ErrorCode = "X" }),
			"compaction":      with(func(e *session.Event) { e.Actions.Compaction = &session.Compaction{Through: 2} }),
			"long running id": with(func(e *session.Event) { e.LongRunningToolIDs = []string{"x"} }),
		})
		t.put(key, with(func(e *session.Event) {
			e.InvocationID = "i"
			e.Author = "plugin/rewind"
			e.Branch = "a.b"
			e.CustomMetadata = map[string]any{"why": "asked"}
		}))
		t.isLive(key, 1, 2, 3)
	},
}}

// talk makes a session with ten events: messages, but for a call at 4, its response at 6, and an
// open call at 9.
func (t *tester) talk() session.Key {
	t.Helper()
	key := t.create("")
	events := says(10)
	events[3] = calls("m4", "one")
	events[5] = answers("m6", "one")
	events[8] = calls("m9", "two")
	t.put(key, events...)
	return key
}

// allRefused expects that each of the events is refused; its key says what is wrong with it.
func (t *tester) allRefused(key session.Key, events map[string]*session.Event) {
	t.Helper()
	for what, e := range events {
		t.Logf("refused: %s", what)
		t.refused(key, session.ErrInvalid, "bad", e)
	}
}

// isLive expects the positions of the live view, and that it is the fold of the log.
func (t *tester) isLive(key session.Key, want ...int64) {
	t.Helper()
	t.equal("positions of the live view", seqs(t.live(key)), want)
	t.folds(key)
}

// folds expects that the live view, the state, the position and the frontier are what the log says.
func (t *tester) folds(key session.Key) {
	t.Helper()
	log := t.log(key)
	s := t.get(key)
	t.equal("the live view, compared with session.Live of the log", t.ids(t.live(key)),
		t.ids(session.Live(log)))
	t.equal("the state, compared with session.State of the log", session.State(s.State, nil),
		session.State(s.Initial, log))
	position := int64(0)
	frontier := int64(0)
	for i, e := range log {
		position = e.Seq
		t.FailIf(position != int64(i)+1, "event %d of the log has position %d", i+1, position)
		if e.Marker() {
			frontier = e.Seq
		}
	}
	t.equal("position and frontier", []int64{s.Position, s.Frontier}, []int64{position, frontier})
}

var viewCases = []testCase{{
	Name: "view/law",
	Rule: "Live(log + rewind to n) == Live(log[:n]) and State likewise, for every position of a log with " +
		"compactions and rewinds.",
	Run: func(t *tester) {
		var log []*session.Event
		for i := range 8 {
			log = append(log, delta(fmt.Sprint("m", i+1), []string{"k", "l", "m"}[i%3], i+1))
		}
		log = append(log, compact("m9", 4, 0, 2), delta("m10", "k", nil), rewind("m11", 6), delta("m12", "l", nil),
			compact("m13", 12, 11, 5), rewind("m14", 9), delta("m15", "n", 15), rewind("m16", 13), compact("m17", 15, 16))
		initial := map[string]any{"k": "initial", "o": "initial"}
		for n := range len(log) + 1 {
			cut := t.createKey(t.Key("ann", fmt.Sprint("cut", n)), initial)
			whole := t.createKey(t.Key("ann", fmt.Sprint("whole", n)), initial)
			t.put(cut, clones(log[:n])...)
			t.put(whole, clones(log)...)
			t.put(whole, rewind("r", int64(n)))
			t.equal(fmt.Sprintf("live view after a rewind to %d", n), t.ids(t.live(whole)),
				t.ids(t.live(cut)))
			t.equal(fmt.Sprintf("state after a rewind to %d", n), t.get(whole).State, t.get(cut).State)
			t.folds(whole)
			t.folds(cut)
		}
	},
}}
