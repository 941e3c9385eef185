package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
)

// A tester is what a case works with: a store, and methods that end the case when something fails.
type tester struct {
	*contract.Tester
	session.Service
	// other is another service on the same sessions, as another process would have it. It is Service itself
	// if the store is tested with one service at a time.
	other session.Service
	// held has the leases that the case has taken.
	held *holds
	// indexed says that the case makes the store's index of words.
	indexed bool
	// start makes another tester, for a case that begins anew in a subtest.
	start func(*testing.T) *tester
}

// equal expects values that are the same as JSON, numbers to the digit, nil and empty alike.
func (t *tester) equal(what string, got, want any) {
	t.Helper()
	g := t.normal(got)
	w := t.normal(want)
	if !reflect.DeepEqual(g, w) {
		t.Differ(what, brief(g), brief(w))
	}
}

// normal returns a value as it is read from its JSON.
func (t *tester) normal(v any) any {
	t.Helper()
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return nil
	}
	if (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return nil
	}
	data, err := json.Marshal(v)
	t.Must(err)
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var n any
	t.Must(d.Decode(&n))
	return n
}

// brief returns a value as JSON, not all of it if it is long.
func brief(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return contract.Brief(string(data))
}

// create makes a session of the user "ann" and returns its key.
func (t *tester) create(id string) session.Key {
	t.Helper()
	return t.createKey(t.Key("ann", id), nil)
}

// createKey makes a session with a state and returns its key.
func (t *tester) createKey(key session.Key, state map[string]any) session.Key {
	t.Helper()
	s, err := t.Create(t.Context(), key, state)
	t.Must(err)
	return s.Key
}

// get returns a session.
func (t *tester) get(key session.Key) *session.Session {
	t.Helper()
	s, err := t.Get(t.Context(), key)
	t.Must(err)
	return s
}

// put appends after the last position, without a lease.
func (t *tester) put(key session.Key, events ...*session.Event) int64 {
	t.Helper()
	last, err := t.Append(t.Context(), session.AppendTarget{Key: key, After: t.get(key).Position}, events...)
	t.Must(err)
	return last
}

// append appends at a position with a fence, and returns the error.
func (t *tester) append(key session.Key, after, fence int64, events ...*session.Event) error {
	_, err := t.Append(t.Soon(), session.AppendTarget{Key: key, After: after, Fence: fence}, events...)
	return err
}

// hasState expects a session's state.
func (t *tester) hasState(key session.Key, want map[string]any) {
	t.Helper()
	t.equal("state of "+key.String(), t.get(key).State, want)
}

// hasLog expects the events of a session's log, each as "seq:id".
func (t *tester) hasLog(key session.Key, want ...string) {
	t.Helper()
	t.equal("log of "+key.String(), t.ids(t.log(key)), want)
}

// refused expects that appending after the last position fails, names the event, and changes nothing.
func (t *tester) refused(key session.Key, target error, id string, events ...*session.Event) {
	t.Helper()
	before := t.ids(t.log(key))
	s := t.get(key)
	mine := clones(events)
	err := t.append(key, s.Position, 0, events...)
	t.Is(err, target)
	var ee *session.EventError
	t.FailIf(!errors.As(err, &ee) || ee.ID != id || ee.Key != key,
		"error is %v (%T)\n  want a *session.EventError for event %q of %s", err, err, id, key)
	t.equal("the log after a refused append", t.ids(t.log(key)), before)
	t.equal("the session after a refused append", t.get(key), s)
	if !reflect.DeepEqual(events, mine) {
		t.Fatalf("a refused append changed the caller's events:\n   got %s\n  want %s", brief(events), brief(mine))
	}
}

// read returns the events that are selected.
func (t *tester) read(key session.Key, sel session.Selection) []*session.Event {
	t.Helper()
	return collect(t, t.Read(t.Context(), key, sel))
}

// collect returns what a sequence yields.
func collect[T any](t *tester, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for item, err := range seq {
		t.Must(err)
		list = append(list, item)
	}
	return list
}

// log returns the whole log.
func (t *tester) log(key session.Key) []*session.Event {
	t.Helper()
	return t.read(key, session.Selection{})
}

// live returns the live view.
func (t *tester) live(key session.Key) []*session.Event {
	t.Helper()
	return t.read(key, session.Selection{Live: true})
}

// ids returns "seq:id" of each event.
func (t *tester) ids(events []*session.Event) []string {
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprintf("%d:%s", e.Seq, e.ID))
	}
	return list
}

// seqs returns the events' positions.
func seqs(events []*session.Event) []int64 {
	var list []int64
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

// clones returns copies of events.
func clones(events []*session.Event) []*session.Event {
	var list []*session.Event
	for _, e := range events {
		if e != nil {
			e = e.Clone()
		}
		list = append(list, e)
	}
	return list
}

// say returns an event with an id and the id as its text.
func say(id string) *session.Event {
	e := session.Message(id)
	e.ID = id
	return e
}

// says returns n events m1, m2, … .
func says(n int) []*session.Event {
	var list []*session.Event
	for i := range n {
		list = append(list, say(fmt.Sprintf("m%d", i+1)))
	}
	return list
}

// delta returns an event that sets one state key.
func delta(id, key string, value any) *session.Event {
	return deltas(id, map[string]any{key: value})
}

// deltas returns an event that sets several state keys.
func deltas(id string, state map[string]any) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{StateDelta: state}}
}

// add returns an event that adds to one state key.
func add(id, key string, by float64) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{StateIncrement: map[string]float64{key: by}}}
}

// rewind returns an event that rewinds to a position.
func rewind(id string, to int64) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{Rewind: &session.Rewind{To: to}}}
}

// ofNode returns an event of the run of a workflow's node, which may be its end.
func ofNode(id, path string, ended bool) *session.Event {
	return &session.Event{ID: id, Author: "desk", InvocationID: "i", NodeInfo: &session.NodeInfo{Path: path, Ended: ended}}
}

// compact returns an event with a compaction.
func compact(id string, through, frontier int64, keep ...int64) *session.Event {
	c := &session.Compaction{
		Through:  through,
		Frontier: frontier,
		Keep:     keep,
		Content:  genai.NewContentFromText("summary "+id, genai.RoleModel),
	}
	return &session.Event{ID: id, Actions: session.Actions{Compaction: c}}
}

// calls returns an event with function calls of those ids, made at once.
func calls(id string, callIDs ...string) *session.Event {
	e := logtest.Call(callIDs...)
	e.ID = id
	return e
}

// answers returns an event with responses to the calls of those ids.
func answers(id string, callIDs ...string) *session.Event {
	e := logtest.Answer(callIDs...)
	e.ID = id
	return e
}
