package sessiontest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// searchCases are the cases about Search. The cases of conditions on events are there twice. In the second
// round, a store that is a session.Indexer makes its index between appends.
var searchCases = slices.Concat(searchSessionCases, conditionCases, indexed(conditionCases))

// searchSessionCases are about what a search says of sessions, without conditions on events.
var searchSessionCases = []testCase{{
	Name: "search/all",
	Rule: "The zero Query finds every session, and its Limit and Order hold: the latest update first.",
	Run: func(t *tester) {
		keys := t.threeOfAge()
		t.found(session.Query{}, keys[1], keys[2], keys[0])
		t.found(session.Query{Order: session.Newest, Limit: 2}, keys[1], keys[2])
		t.found(session.Query{Order: session.Oldest, Limit: 2}, keys[0], keys[2])
		t.found(session.Query{Order: session.Stored}, keys...)
		t.found(session.Query{Order: session.Stored, Limit: 1}, keys[0])
	},
}, {
	Name: "search/one time",
	Rule: "Sessions that were updated at one time are ordered by app, user and ID.",
	Run: func(t *tester) {
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		var keys []session.Key
		for _, name := range []string{"bob b", "ann b", "Bob a", "ann B"} {
			user, id, _ := strings.Cut(name, " ")
			keys = append(keys, t.createKey(t.Key(user, id), nil))
			t.Must(t.SetTimes(t.Context(), keys[len(keys)-1], at, at))
		}
		t.found(session.Query{}, keys[2], keys[3], keys[1], keys[0])
		t.found(session.Query{Order: session.Oldest}, keys[0], keys[1], keys[3], keys[2])
	},
}, {
	Name: "search/times",
	Rule: "Since and Until select by the time of the last update: from Since on, before Until.",
	Run: func(t *tester) {
		keys := t.threeOfAge()
		day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
		t.found(session.Query{Since: day(2)}, keys[1], keys[2])
		t.found(session.Query{Since: day(2).Add(1)}, keys[1])
		t.found(session.Query{Until: day(2)}, keys[0])
		t.found(session.Query{Until: day(2).Add(1)}, keys[2], keys[0])
		t.found(session.Query{Since: day(2), Until: day(3)}, keys[2])
		t.found(session.Query{Since: day(4)})
		t.put(keys[0], say("now"))
		t.found(session.Query{Since: day(4)}, keys[0])
	},
}, {
	Name: "search/app and user",
	Rule: "App and User each narrow the sessions, together and alone.",
	Run: func(t *tester) {
		ann := t.createKey(t.Key("ann", "s"), nil)
		bob := t.createKey(t.Key("bob", "s"), nil)
		other := t.createKey(session.Key{App: t.App + "x", User: "bob", ID: "s"}, nil)
		t.found(session.Query{User: "ann"}, ann)
		t.found(session.Query{User: "bob"}, bob)
		list := t.search(session.Query{App: other.App})
		t.equal("of the other app", keysOf(list), []string{other.String()})
		byUser := keysOf(t.search(session.Query{User: "bob"}))
		for _, key := range []session.Key{bob, other} {
			t.FailIf(!slices.Contains(byUser, key.String()),
				"bob's sessions of every app are without %s", key)
		}
		t.equal("of nobody", len(t.search(session.Query{App: t.App, User: "nobody"})), 0)
	},
}, {
	Name: "search/what it tells",
	Rule: "A hit's session is as List has it; without conditions on events it has no event.",
	Run: func(t *tester) {
		key := t.createKey(t.Key("ann", "s"), map[string]any{"k": 1, "user:u": 2})
		t.put(key, says(3)...)
		hit := t.search(session.Query{App: t.App})[0]
		t.FailIf(hit.Session.State != nil || hit.Event != nil,
			"a hit has state %v, event %v", hit.Session.State, hit.Event)
		want := t.get(key)
		want.State = nil
		t.equal("the session", hit.Session, want)
	},
}, {
	Name: "search/waiting",
	Rule: "Waiting finds sessions with a call that waits for an answer from outside, also after an interim one, and no other.",
	Run: func(t *tester) {
		held := t.create("held")
		open := t.create("open")
		deferred := t.create("deferred")
		for _, key := range []session.Key{held, open, deferred} {
			t.put(key, callTo("call", "c", "book"))
		}
		ask := &session.Event{ID: "ask", Author: "plugin/guard"}
		ask.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c": {Hint: "May it?"}}
		t.put(held, ask)
		later := callTo("later", "d", "wait")
		later.LongRunningToolIDs = []string{"d"}
		t.put(deferred, later)
		t.found(session.Query{Waiting: true}, deferred, held)
		t.found(session.Query{Waiting: true, Limit: 1}, deferred)
		yes := session.Decision(true, "c")
		t.put(held, yes)
		t.put(deferred, answerOf("interim", "d", "wait", map[string]any{"status": "pending"}))
		t.found(session.Query{Waiting: true}, deferred)
		answer := answerOf("answer", "d", "wait", map[string]any{"result": 1})
		answer.Author = session.User
		t.put(deferred, answer)
		t.found(session.Query{Waiting: true})
		t.put(held, rewind("back", 2))
		t.found(session.Query{Waiting: true}, held)
	},
}, {
	Name: "search/bad queries",
	Rule: "A query that Query.Check refuses is ErrInvalid.",
	Run: func(t *tester) {
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, q := range []session.Query{
			{Match: "?!"}, {Limit: -1}, {Order: "best"}, {Since: at, Until: at}, {Since: at.AddDate(1000, 0, 0)},
		} {
			for hit, err := range t.Search(t.Context(), q) {
				t.Is(err, session.ErrInvalid)
				t.FailIf(hit != nil, "a hit with an error")
			}
		}
	},
}, {
	Name: "search/left early",
	Rule: "The caller may leave a search early, and use the store while it is open; a session that is " +
		"deleted meanwhile is left out or there.",
	Run: func(t *tester) {
		for i := range 5 {
			t.put(t.create(fmt.Sprint(i)), say("a"))
		}
		n := 0
		for hit, err := range t.Search(t.Soon(), session.Query{App: t.App, Author: session.User}) {
			t.Must(err)
			t.Must(t.Delete(t.Soon(), hit.Session.Key))
			if n++; n == 3 {
				break
			}
		}
		t.equal("what is left", len(t.list(t.App, "")), 2)
	},
}}

// search returns what a query finds.
func (t *tester) search(q session.Query) []*session.Hit {
	t.Helper()
	return collect(t, t.Search(t.Soon(), q))
}

// found expects that a query finds these sessions in the tester's app, in this order.
func (t *tester) found(q session.Query, want ...session.Key) {
	t.Helper()
	q.App = t.App
	var keys []string
	for _, key := range want {
		keys = append(keys, key.String())
	}
	t.equal(fmt.Sprintf("what %+v finds", q), keysOf(t.search(q)), keys)
}

// foundAt expects that a query finds one session in the tester's app, with its event at position seq.
func (t *tester) foundAt(q session.Query, key session.Key, seq int64, live bool) {
	t.Helper()
	q.App = t.App
	list := t.search(q)
	want := fmt.Sprintf("%s at %d, live %v", key, seq, live)
	t.equal(fmt.Sprintf("what %+v finds", q), hits(list), []string{want})
	t.equal("the event", list[0].Event, t.log(key)[seq-1])
}

// hits returns one line about each hit: its session and its event.
func hits(list []*session.Hit) []string {
	var all []string
	for _, hit := range list {
		seq := int64(0)
		if hit.Event != nil {
			seq = hit.Event.Seq
		}
		all = append(all, fmt.Sprintf("%s at %d, live %v", hit.Session.Key, seq, hit.Live))
	}
	return all
}

// keysOf returns the keys of the sessions that were found.
func keysOf(list []*session.Hit) []string {
	var keys []string
	for _, hit := range list {
		keys = append(keys, hit.Session.Key.String())
	}
	return keys
}

// threeOfAge makes three sessions that were updated on the first, third and second of January 2024.
func (t *tester) threeOfAge() []session.Key {
	t.Helper()
	var keys []session.Key
	for i, day := range []int{1, 3, 2} {
		key := t.create(fmt.Sprint(i))
		t.put(key, say("a"))
		t.Must(t.SetTimes(t.Context(), key, time.Time{}, time.Date(2024, 1, day, 0, 0, 0, 0, time.UTC)))
		keys = append(keys, key)
	}
	return keys
}
