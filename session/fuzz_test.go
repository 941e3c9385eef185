package session_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// FuzzEvent holds the codec to what a store and a wire need: no input makes it panic; what it read it
// can write, as one line of valid JSON; that reads as the same event and is written as the same bytes;
// and what a store made of it is what it would make of it again.
func FuzzEvent(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "events", "*.jsonl"))
	require.NoError(f, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		for line := range strings.Lines(string(data)) {
			f.Add([]byte(line))
		}
	}
	for _, s := range []string{`{}`, `{"timestamp":1e30}`, `{"id":"\u0000\ud800"}`, "{\"a\xff\":1}", `{"actions":{"rewindTo":0,"compaction":{"through":-1,"keep":[1]}}}`,
		`{"actions":null,"content":null,"seq":5}`, `{"Invocation_ID":"1","actions":{"State_Delta":{"a_b":1}}}`, `{"content":{"parts":[{"name":"f","args":{},"mime_type":"x"}]},"error_code":"E"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e session.Event
		if e.UnmarshalJSON(data) != nil {
			return
		}
		once, err := e.MarshalJSON()
		if err != nil {
			t.Fatalf("%q was read and is not written: %v", data, err)
		}
		if !jsontext.Value(once).IsValid(jsontext.AllowInvalidUTF8(true)) || strings.ContainsAny(string(once), "\n\r") {
			t.Fatalf("%q is written as %q, which is not one line of JSON", data, once)
		}
		var again session.Event
		if err := again.UnmarshalJSON(once); err != nil {
			t.Fatalf("%q was written as %q and is not read: %v", data, once, err)
		}
		twice, err := again.MarshalJSON()
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q is written as %q, then %q (%v)", data, once, twice, err)
		}
		if a, b := reflect.ValueOf(&e).Elem(), reflect.ValueOf(&again).Elem(); true {
			for i := range a.NumField() {
				f := a.Type().Field(i)
				if !f.IsExported() || f.Name == "Timestamp" && e.Timestamp.Equal(again.Timestamp) || f.Name == "Extra" || f.Name == "Actions" {
					continue
				}
				if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
					t.Fatalf("%s of %q is %#v, after a round trip %#v", f.Name, data, a.Field(i).Interface(), b.Field(i).Interface())
				}
			}
		}
		if clone, err := e.Clone().MarshalJSON(); err != nil || string(clone) != string(once) {
			t.Fatalf("%q is written as %q, its clone as %q (%v)", data, once, clone, err)
		}
		list, err := session.Records(session.Key{App: "a", User: "u", ID: "s"}, []*session.Event{&e})
		if err != nil || len(list) == 0 {
			return
		}
		stored, err := session.Decode(list[0].Data, 1)
		if err != nil {
			t.Fatalf("%q is stored as %q and is not read: %v", data, list[0].Data, err)
		}
		list2, err := session.Records(session.Key{App: "a", User: "u", ID: "s"}, []*session.Event{stored})
		if err != nil || len(list2) != 1 || !list2[0].Same(list[0].Data) {
			t.Fatalf("%q is stored as %q, which is not the same when it is appended again (%v)", data, list[0].Data, err)
		}
	})
}
