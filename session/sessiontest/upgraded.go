package sessiontest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// Upgraded tests a service whose sessions were written by an earlier version of the store: every one of
// them is as that version left it, and can be appended to, compacted and rewound.
//
// golden is what the earlier version said of its sessions, in the order of List: for each the lines of
// session.Export, and a line with the positions of its live view and its state,
// {"live":[1,2],"state":{"a":1}}. Each needs an event.
func Upgraded(t *testing.T, s session.Service, golden []byte) {
	u := &tester{Tester: contract.NewTester(t, t), Service: s, other: s, held: &holds{}}
	var keys []session.Key
	for _, m := range collect(u, s.List(t.Context(), "", "")) {
		keys = append(keys, m.Key)
	}
	got := bytes.Split(u.describe(keys), []byte("\n"))
	want := bytes.Split(golden, []byte("\n"))
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			u.Differ("a line about the sessions", string(got[i]), string(want[i]))
		}
	}
	u.equal("number of lines about the sessions", len(got), len(want))
	for _, key := range keys {
		u.folds(key)
		u.goesOn(key)
	}
}

// sessionTimes are the times in a session file that are the store's.
var sessionTimes = regexp.MustCompile(`,"createTime":"[^"]*","lastUpdateTime":"[^"]*"`)

// describe returns what Upgraded's golden text says, of the sessions as they are.
func (t *tester) describe(keys []session.Key) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, key := range keys {
		var file bytes.Buffer
		t.Must(session.Export(t.Context(), t.Service, key, &file))
		out.Write(sessionTimes.ReplaceAll(file.Bytes(), nil))
		line, err := json.Marshal(map[string]any{"live": seqs(t.live(key)), "state": t.get(key).State})
		t.Must(err)
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// goesOn does to a session what programs do.
func (t *tester) goesOn(key session.Key) {
	t.Helper()
	// Whoever had the lease when the earlier version ended has it no more.
	lease, err := t.Lease(t.Soon(), key, "")
	t.Must(err)
	defer lease.Release()
	before := t.log(key)
	at := session.AppendTarget{Key: key, After: int64(len(before)), Fence: lease.Fence}
	appended := func(events ...*session.Event) {
		t.Helper()
		at.After, err = t.Append(t.Context(), at, events...)
		t.Must(err)
		t.folds(key)
	}

	// An event that is in the log is known again.
	appended(clones(before[:1])...)
	t.equal("position after a repetition", at.After, len(before))

	// Events, state of each scope, a compaction, and a rewind to before what the earlier version wrote last.
	more := deltas("upgraded 1", map[string]any{"upgraded": 1, "user:upgraded": true})
	more.Actions.StateIncrement = map[string]float64{"app:upgraded": 1}
	appended(more, delta("upgraded 2", "upgraded", 2))
	frontier := t.get(key).Frontier
	appended(compact("upgraded 3", at.After-1, frontier))
	for to := range int64(len(before)) + 1 {
		appended(&session.Event{Actions: session.Actions{Rewind: &session.Rewind{To: to}}})
	}
	appended(say("upgraded 4"))
	t.equal("the beginning of the log", t.ids(t.log(key)[:len(before)]), t.ids(before))
}
