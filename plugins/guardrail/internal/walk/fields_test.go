package walk

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// Whatever field an event has: its words are gone through, or its tag in package session says that there are none.
func TestEventGoesThroughEveryField(t *testing.T) {
	for _, f := range session.Fields() {
		if f.Kind == session.Identity || f.Kind == session.Flag {
			continue
		}
		_, hasStep := steps[f.Name]
		if f.Kind == session.Record {
			require.True(
				t,
				hasStep,
				"an event's %s is a record: give it a step in event.go, or its texts are not looked at",
				f.Name,
			)
			continue
		}

		// A word in it is seen.
		e := &session.Event{Author: session.User}
		setWord(t, f.In(e))
		var seen []string
		w := &Walker{Edit: func(l Leaf) ([]string, bool) {
			seen = append(seen, l.Text)
			return nil, false
		}}
		w.Event(e, policy.Input)
		require.True(t, slices.Contains(seen, "a word"),
			"an event's %s is of kind %q: the walk has not seen what is in it, but %q", f.Name,
			f.Kind, seen)
	}
}

// setWord sets a field to a value with a word in it.
func setWord(t *testing.T, field reflect.Value) {
	switch field.Kind() {
	case reflect.String:
		field.SetString("a word")
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		field.SetMapIndex(reflect.ValueOf("a word"), reflect.New(field.Type().Elem()).Elem())
	case reflect.Interface:
		field.Set(reflect.ValueOf("a word"))
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		require.True(t, setFirstWord(field.Elem(), 0), "%s has no string", field.Type())
	default:
		t.Fatalf("a field of type %s has no word", field.Type())
	}
}

// setFirstWord sets the first string in a struct, or below it.
func setFirstWord(v reflect.Value, depth int) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Kind() == reflect.String:
			f.SetString("a word")
			return true
		case depth > 2:
		case f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.New(f.Type().Elem()))
			if setFirstWord(f.Elem(), depth+1) {
				return true
			}
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Pointer:
			item := reflect.New(f.Type().Elem().Elem())
			if item.Elem().Kind() == reflect.Struct && setFirstWord(item.Elem(), depth+1) {
				f.Set(reflect.Append(f, item))
				return true
			}
		}
	}
	return false
}
