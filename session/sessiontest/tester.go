package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plughook/plughook/session"
)

// patience is how long a case waits for what must come soon.
const patience = 30 * time.Second

// A tester is what a case works with. Its methods end the case when something fails.
type tester struct {
	tb
	session.Service
	t   *testing.T
	app string // no other case's
}

// tb is what a *testing.T and a *rapid.T both have and cases need.
type tb interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
	Cleanup(func())
}

func (t *tester) key(user, id string) session.Key {
	return session.Key{App: t.app, User: user, ID: id}
}

// soon returns a context that ends after patience.
func (t *tester) soon() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (t *tester) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// is expects an error that is target.
func (t *tester) is(err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v\n  want one that is: %v", err, target)
	}
}

// equal expects values that are the same as JSON, numbers to the digit, nil and empty alike.
func (t *tester) equal(what string, got, want any) {
	t.Helper()
	if g, w := t.normal(got), t.normal(want); !reflect.DeepEqual(g, w) {
		t.Fatalf("%s:\n   got %s\n  want %s", what, brief(g), brief(w))
	}
}

func (t *tester) normal(v any) any {
	t.Helper()
	if r := reflect.ValueOf(v); !r.IsValid() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return nil
	}
	data, err := json.Marshal(v)
	t.must(err)
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var n any
	t.must(d.Decode(&n))
	return n
}

func brief(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > 2000 {
		return fmt.Sprintf("%s… (%d bytes)", data[:2000], len(data))
	}
	return string(data)
}

// create makes a session of the user "ann" and returns its key.
func (t *tester) create(id string) session.Key {
	t.Helper()
	return t.createKey(t.key("ann", id), nil)
}

func (t *tester) createKey(key session.Key, state map[string]any) session.Key {
	t.Helper()
	s, err := t.Create(t.Context(), key, state)
	t.must(err)
	return s.Key
}

func (t *tester) get(key session.Key) *session.Session {
	t.Helper()
	s, err := t.Get(t.Context(), key)
	t.must(err)
	return s
}

// put appends after the last position, without a turn.
func (t *tester) put(key session.Key, events ...*session.Event) int64 {
	t.Helper()
	last, err := t.Append(t.Context(), session.At{Key: key, After: t.get(key).Position}, events...)
	t.must(err)
	return last
}

// refused expects that appending after the last position fails, names the event, and changes nothing.
func (t *tester) refused(key session.Key, target error, id string, events ...*session.Event) {
	t.Helper()
	before, s, mine := t.ids(t.log(key)), t.get(key), clones(events)
	_, err := t.Append(t.Context(), session.At{Key: key, After: s.Position}, events...)
	t.is(err, target)
	var ee *session.EventError
	if !errors.As(err, &ee) || ee.ID != id || ee.Key != key {
		t.Fatalf("error is %v (%T)\n  want a *session.EventError for event %q of %s", err, err, id, key)
	}
	t.equal("the log after a refused append", t.ids(t.log(key)), before)
	t.equal("the session after a refused append", t.get(key), s)
	if !reflect.DeepEqual(events, mine) {
		t.Fatalf("a refused append changed the caller's events:\n   got %s\n  want %s", brief(events), brief(mine))
	}
}

func (t *tester) read(key session.Key, sel session.Selection) []*session.Event {
	t.Helper()
	var list []*session.Event
	for e, err := range t.Read(t.Context(), key, sel) {
		t.must(err)
		list = append(list, e)
	}
	return list
}

func (t *tester) log(key session.Key) []*session.Event {
	t.Helper()
	return t.read(key, session.Selection{})
}

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
