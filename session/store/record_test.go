package store_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

func TestRecords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	one := &session.Event{ID: "1", Timestamp: at, Seq: 9, Actions: session.Actions{
		StateDelta: map[string]any{
			"b":      1,
			"a":      nil,
			"temp:t": 2,
			"app:n":  5,
			"typed":  (*int)(nil),
		}, StateIncrement: map[string]float64{"app:n": 2}}}
	bare, part := session.Message("bare"), &session.Event{ID: "part", Partial: true}
	before := []*session.Event{one.Clone(), bare.Clone(), part.Clone()}
	list, err := store.Records(s1, []*session.Event{one, bare, part, one})
	require.NoError(t, err)
	require.Equal(t, before, []*session.Event{one, bare, part},
		"Records changed the caller's events")
	require.Len(t, list, 2)
	require.Equal(
		t,
		`{"id":"1","timestamp":"2026-01-02T03:04:05.000000006Z","actions":{"stateDelta":{"a":null,"app:n":5,"b":1,"typed":null},"stateIncrement":{"app:n":2}}}`,
		string(list[0].Data),
	)
	require.Equal(t, at, list[0].Time)
	require.Equal(
		t,
		[]store.Change{
			{Key: "a"},
			{Key: "app:n", Add: true, By: 2},
			{Key: "app:n", Value: []byte("5")},
			{Key: "b", Value: []byte("1")},
			{Key: "typed"},
		},
		list[0].Changes,
	)
	require.Len(t, list[1].ID, 36)
	require.False(t, list[1].Time.IsZero())
	list[0].Appended(4, nil)
	list[1].Appended(5, list[1].Data)
	require.Equal(t, int64(4), one.Seq)
	require.Equal(t, []any{int64(5), list[1].ID}, []any{bare.Seq, bare.ID})
	require.True(t, bare.Timestamp.Equal(list[1].Time))
}

func TestRecordsRefuse(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for what, e := range map[string]*session.Event{
		"nil":                      nil,
		"a long id":                {ID: strings.Repeat("x", 513)},
		"an id with a NUL":         {ID: "a\x00"},
		"an id that is not UTF-8":  {ID: "\xff"},
		"a key without a name":     {Actions: session.Actions{StateDelta: map[string]any{"": 1}}},
		"a long key":               {Actions: session.Actions{StateDelta: map[string]any{strings.Repeat("x", 513): 1}}},
		"a key with a NUL":         {Actions: session.Actions{StateDelta: map[string]any{"a\x00": 1}}},
		"a value that is no JSON":  {Actions: session.Actions{StateDelta: map[string]any{"k": func() {}}}},
		"a value that never ends":  {Actions: session.Actions{StateDelta: cyclic}},
		"NaN":                      {Actions: session.Actions{StateDelta: map[string]any{"k": math.NaN()}}},
		"adding to a session key":  {Actions: session.Actions{StateIncrement: map[string]float64{"k": 1}}},
		"adding to a temp: key":    {Actions: session.Actions{StateIncrement: map[string]float64{"temp:k": 1}}},
		"adding infinity":          {Actions: session.Actions{StateIncrement: map[string]float64{"app:k": math.Inf(-1)}}},
		"a number that is none":    {Actions: session.Actions{StateDelta: map[string]any{"k": json.Number("1; DROP TABLE")}}},
		"a field's key in Extra":   {Extra: map[string]jsontext.Value{"error_code": []byte("1")}},
		"one in the actions":       {Actions: session.Actions{Extra: map[string]jsontext.Value{"rewind_to": []byte("0")}}},
		"a compaction and rewind":  {Actions: session.Actions{Compaction: &session.Compaction{}, Rewind: &session.Rewind{}}},
		"a time that is no JSON":   {Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"metadata that is no JSON": {CustomMetadata: map[string]any{"c": make(chan int)}},
	} {
		_, err := store.Records(s1, []*session.Event{session.Message("fine"), e})
		require.ErrorIs(t, err, session.ErrInvalid, what)
		var ee *session.EventError
		require.ErrorAs(t, err, &ee, what)
	}
}

func TestRecordSame(t *testing.T) {
	record := func(e *session.Event) *store.Record {
		list, err := store.Records(s1, []*session.Event{e})
		require.NoError(t, err)
		return list[0]
	}
	timed := session.Message("hi")
	timed.ID, timed.Timestamp = "1", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stored := record(timed).Data
	again := session.Message("hi")
	again.ID = "1"
	require.True(t, record(timed).Same(stored))
	require.True(t, record(again).Same(stored), "a repetition that has no time yet")
	back, err := store.Decode(stored, 7)
	require.NoError(t, err)
	require.Equal(t, int64(7), back.Seq)
	require.True(t, record(back).Same(stored), "what was read from the log")
	later := timed.Clone()
	later.Timestamp = later.Timestamp.Add(1)
	require.False(t, record(later).Same(stored))
	again.ErrorCode = "X"
	require.False(t, record(again).Same(stored))
	require.False(t, record(again).Same([]byte("not JSON")))

	one := `{"id":"1","timestamp":"2026-01-01T00:00:00Z","x":{"a":1,"b":[2]},"actions":{"stateDelta":{"k":1.0,"l":2}}}`
	for text, same := range map[string]bool{
		`{"actions":{"stateDelta":{"l":2,"k":1.0}},"x":{"b":[2],"a":1},"timestamp":"2026-01-01T01:00:00+01:00","id":"1"}`: true,
		`{"id":"1","timestamp":1767225600,"x":{"a":1,"b":[2]},"actions":{"stateDelta":{"k":1.0,"l":2}}}`:                  true,
		`{"id":"1","timestamp":"2026-01-01T00:00:00.1Z","x":{"a":1,"b":[2]},"actions":{"stateDelta":{"k":1.0,"l":2}}}`:    false,
		`{"id":"1","timestamp":"2026-01-01T00:00:00Z","x":{"a":1,"b":[3]},"actions":{"stateDelta":{"k":1.0,"l":2}}}`:      false,
		`{"id":"1","timestamp":"2026-01-01T00:00:00Z","x":{"a":1,"b":[2]},"actions":{"stateDelta":{"k":1.0}}}`:            false,
	} {
		require.Equal(t, same, record(decoded(t, text)).Same(record(decoded(t, one)).Data), text)
	}
	// Numbers count as they are spelled: integers are not the same for being the same float64.
	big := `{"id":"1","timestamp":"2026-01-01T00:00:00Z","actions":{"stateDelta":{"n":9007199254740993}}}`
	require.False(t, record(
		decoded(t, strings.Replace(big, "0993", "0992", 1))).Same(record(decoded(t, big)).Data))
}

func TestChangeApply(t *testing.T) {
	for _, c := range []struct {
		change    store.Change
		old, want string
		refused   bool
	}{
		{store.Change{Value: []byte("1")}, "", "1", false},
		{store.Change{Value: []byte("1")}, `"x"`, "1", false},
		{store.Change{}, "1", "", false},
		{store.Change{Add: true, By: 2}, "", "2", false},
		{store.Change{Add: true, By: 2}, "1.5", "3.5", false},
		{store.Change{Add: true, By: -2}, "2", "0", false},
		{store.Change{Add: true, By: 1}, "1e3", "1001", false},
		{store.Change{Add: true, By: 1}, "9007199254740993", "9007199254740992", false}, // numbers are float64
		{store.Change{Add: true, By: 1e308}, "1e308", "", true},
		{store.Change{Add: true, By: 1}, "1e999", "", true},
		{store.Change{Add: true, By: 1}, `"1"`, "", true},
		{store.Change{Add: true, By: 1}, "true", "", true},
		{store.Change{Add: true, By: 1}, "[1]", "", true},
		{store.Change{Add: true, By: 1}, "{}", "", true},
	} {
		var old []byte
		if c.old != "" {
			old = []byte(c.old)
		}
		got, err := c.change.Apply(old)
		if c.refused {
			require.ErrorIs(t, err, session.ErrInvalid, "%+v to %s", c.change, c.old)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%+v to %s", c.change, c.old)
	}
}

func TestOwner(t *testing.T) {
	owners := map[string]bool{}
	for _, key := range []session.Key{{App: "a", User: "b"}, {App: "ab"}, {App: "c", User: "bc"}, {App: "cb", User: "c"}, {App: "user", User: "c"}} {
		key.ID = "1"
		for _, k := range []string{"app:x", "user:x"} {
			o := store.Owner(key, k)
			require.NotEmpty(t, o)
			require.False(t, owners[o], "%q is the owner of two", o)
			owners[o] = true
		}
		require.Empty(t, store.Owner(key, "x"))
	}
	require.Equal(t, store.Owner(session.Key{App: "a", User: "b", ID: "1"}, "user:x"),
		store.Owner(session.Key{App: "a", User: "b", ID: "2"}, "user:y"))
	require.Equal(t, store.Owner(session.Key{App: "a", User: "b"}, "app:x"),
		store.Owner(session.Key{App: "a", User: "c"}, "app:y"))
}

func decoded(t *testing.T, text string) *session.Event {
	e, err := store.Decode([]byte(text), 0)
	require.NoError(t, err)
	return e
}
