package session_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// Every field of an event has a row in the table that Clone, the codec's spellings, the stores' checks, the runner's
// replacements and the guardrail follow.
func TestEveryFieldHasARow(t *testing.T) {
	kinds := map[session.FieldKind][]reflect.Kind{
		session.Identity: {reflect.String, reflect.Int64, reflect.Struct},
		session.Text:     {reflect.String},
		session.Word:     {reflect.String},
		session.Keys:     {reflect.Map},
		session.JSON:     {reflect.Map, reflect.Interface},
		session.Report:   {reflect.Pointer},
		session.Flag:     {reflect.Bool, reflect.Int64, reflect.Slice, reflect.Pointer},
		session.Record:   {reflect.Pointer, reflect.Map},
	}
	var names []string
	for _, of := range []struct {
		prefix string
		fields reflect.Type
	}{
		{"", reflect.TypeFor[session.Event]()},
		{"Actions.", reflect.TypeFor[session.Actions]()},
	} {
		for i := range of.fields.NumField() {
			f := of.fields.Field(i)
			if !f.IsExported() || f.Name == "Extra" || f.Name == "Actions" {
				continue
			}
			name := of.prefix + f.Name
			names = append(names, name)
			row := slices.IndexFunc(session.Fields(),
				func(f session.Field) bool { return f.Name == name })
			require.NotEqual(t, -1, row,
				"the field %s of an event has no JSON name: give it a tag `json:\"…,omitzero\"`",
				name)
			kind := session.Fields()[row].Kind
			require.Contains(
				t,
				kinds,
				kind,
				"the field %s of an event has no kind: give it a tag `event:\"…\"` with one of those in fields.go",
				name,
			)
			require.Contains(t, kinds[kind], f.Type.Kind(),
				"the field %s of an event is a %s, which is not what the kind %q stands for", name,
				f.Type, kind)
		}
	}
	require.Len(t, session.Fields(), len(names), "there is one row for each field")
}

// The table's JSON names are those that an event is written with, and it finds the fields.
func TestFieldsIn(t *testing.T) {
	var e session.Event
	fillEvent(&e)
	e.Actions.Rewind = nil // its JSON is a number, and it excludes the rest
	for _, f := range session.Fields() {
		value := f.In(&e)
		require.Equal(t, f.Name != "Actions.Rewind", !value.IsZero(), f.Name)
		alone := new(session.Event)
		f.In(alone).Set(value)
		text := encode(t, alone)
		require.Equal(t, !value.IsZero(), strings.Contains(text, `"`+f.Key+`"`), "%s: %s", f.Name,
			text)
	}
}

func TestKeepIdentity(t *testing.T) {
	was := &session.Event{
		ID:           "1",
		Seq:          3,
		InvocationID: "i",
		Author:       "bot",
		Branch:       "a",
		ErrorCode:    "X",
	}
	e := session.Reply("hello")
	e.ID = "2"
	e.KeepIdentity(was)
	want := session.Reply("hello")
	want.ID, want.Seq, want.InvocationID, want.Author, want.Branch = "1", 3, "i", "bot", "a"
	require.Equal(t, want, e)
}
