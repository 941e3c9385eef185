package sessiontest

import (
	"fmt"

	"github.com/plughook/plughook/session"
)

// talk makes a session with ten events: messages, but for a call at 4, its response at 6, and an
// open call at 9.
func (t *tester) talk() session.Key {
	t.Helper()
	key := t.create("")
	events := says(10)
	events[3], events[5], events[8] = call("m4", "one"), answer("m6", "one"), call("m9", "two")
	t.put(key, events...)
	return key
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
	log, s := t.log(key), t.get(key)
	t.equal("the live view, compared with session.Live of the log", t.ids(t.live(key)), t.ids(session.Live(log)))
	t.equal("the state, compared with session.State of the log", session.State(s.State, nil), session.State(s.Initial, log))
	position, frontier := int64(0), int64(0)
	for i, e := range log {
		if position = e.Seq; position != int64(i)+1 {
			t.Fatalf("event %d of the log has position %d", i+1, position)
		}
		if e.Marker() {
			frontier = e.Seq
		}
	}
	t.equal("position and frontier", []int64{s.Position, s.Frontier}, []int64{position, frontier})
}

var viewCases = []testCase{
	{"view/law",
		"Live(log + rewind to n) == Live(log[:n]) and State likewise, for every position of a log with compactions and rewinds.",
		func(t *tester) {
			var log []*session.Event
			for i := range 8 {
				log = append(log, delta(fmt.Sprint("m", i+1), []string{"k", "l", "m"}[i%3], i+1))
			}
			log = append(log, compact("m9", 4, 0, 2), delta("m10", "k", nil), rewind("m11", 6), delta("m12", "l", nil),
				compact("m13", 12, 11, 5), rewind("m14", 9), delta("m15", "n", 15), rewind("m16", 13), compact("m17", 15, 16))
			initial := map[string]any{"k": "initial", "o": "initial"}
			for n := range len(log) + 1 {
				cut, whole := t.createKey(t.key("ann", fmt.Sprint("cut", n)), initial), t.createKey(t.key("ann", fmt.Sprint("whole", n)), initial)
				t.put(cut, clones(log[:n])...)
				t.put(whole, clones(log)...)
				t.put(whole, rewind("r", int64(n)))
				t.equal(fmt.Sprintf("live view after a rewind to %d", n), t.ids(t.live(whole)), t.ids(t.live(cut)))
				t.equal(fmt.Sprintf("state after a rewind to %d", n), t.get(whole).State, t.get(cut).State)
				t.folds(whole)
				t.folds(cut)
			}
		}},
	{"view/one by one or at once",
		"It makes no difference whether events were appended one by one or in one batch.",
		func(t *tester) {
			events := []*session.Event{delta("a", "k", 1), delta("b", "k", 2), compact("c", 1, 0), delta("d", "l", 1), rewind("e", 2), delta("f", "m", 1), compact("g", 2, 5, 1), rewind("h", 4)}
			one, all := t.create("one"), t.create("all")
			for _, e := range clones(events) {
				t.put(one, e)
			}
			t.put(all, clones(events)...)
			t.equal("live view", t.ids(t.live(all)), t.ids(t.live(one)))
			t.equal("state", t.get(all).State, t.get(one).State)
			t.folds(one)
			t.folds(all)
		}},
}
