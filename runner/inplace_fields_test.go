package runner_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Rule 7: a hook that changes any field in place, of all that an event reaches, fails. The fields
// are found by reflection: one that genai adds some day is in this test without a change here.
func TestRule7_ChangedInPlaceAnyField(t *testing.T) {
	full := session.Event{}
	fill(reflect.ValueOf(&full).Elem(), 0)
	full.Author = "bot"
	full.Partial = false

	// The paths of what can be changed.
	var paths []string
	places(reflect.ValueOf(full.Clone()).Elem(), "event",
		func(path string, _ func()) { paths = append(paths, path) })
	require.Greater(t, len(paths), 400)

	// One hook changes one of them in each run.
	wanted := ""
	bad := &plugin.Plugin{
		Name: "bad",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			places(reflect.ValueOf(e).Elem(), "event", func(path string, change func()) {
				if path == wanted {
					change()
				}
			})
			return plugin.Outcome{}, nil
		},
	}
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			yield(full.Clone(), nil)
		}),
		bad,
	)
	s.options.Restore = true // so that the agent may yield a compaction and a rewind
	for _, path := range paths {
		wanted = path
		for _, err := range s.start().Run(ctx, key, nil, s.cfg) {
			require.ErrorIs(t, err, plugin.ErrInPlace, "%s was changed, and nobody noticed", path)
		}
	}
	require.Empty(t, s.log())
}

// fill sets everything that a value consists of.
func fill(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[jsontext.Value]() {
			v.SetBytes([]byte(`"x"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, depth+1)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), elem)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"nested": []any{1.0, map[string]any{"n": nil}}}))
	case reflect.String:
		v.SetString("s")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	}
}

// places visits every place below a value that can be changed, with a path and a func that changes
// it.
func places(v reflect.Value, path string, visit func(path string, change func())) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			visit(path+" made", func() { v.Set(reflect.New(v.Type().Elem())) })
			return
		}
		places(v.Elem(), path, visit)
		visit(path+" dropped", func() { v.SetZero() })
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			visit(path, func() { v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(1))) })
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				places(v.Field(i), path+"."+f.Name, visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			places(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
		visit(path+" grown", func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			key := entry.Key()
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(entry.Value())
			places(value, fmt.Sprintf("%s[%v]", path, key), func(path string, change func()) {
				visit(path, func() { change(); v.SetMapIndex(key, value) })
			})
		}
		visit(path+" grown", func() {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf("another").Convert(v.Type().Key()),
				reflect.Zero(v.Type().Elem()))
		})
	case reflect.Interface:
		if v.IsNil() {
			visit(path, func() { v.Set(reflect.ValueOf("something")) })
			return
		}
		value := reflect.New(v.Elem().Type()).Elem()
		value.Set(v.Elem())
		places(value, path, func(path string, change func()) {
			visit(path, func() { change(); v.Set(value) })
		})
	case reflect.String:
		visit(path, func() { v.SetString(v.String() + "x") })
	case reflect.Bool:
		visit(path, func() { v.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		visit(path, func() { v.SetInt(v.Int() + 1) })
	case reflect.Uint8:
		visit(path, func() { v.SetUint(v.Uint() + 1) })
	case reflect.Float32, reflect.Float64:
		visit(path, func() { v.SetFloat(v.Float() + 1) })
	}
}

// A change of numbers in a map is found, whichever they are: a difference in one entry does not
// cancel that in another.
func TestRule7_ChangedInPlaceNumbersInMaps(t *testing.T) {
	for _, c := range []struct{ before, after [2]float64 }{
		{[2]float64{1, 1}, [2]float64{-1, -1}},
		{[2]float64{1, -1}, [2]float64{-1, 1}},
		{[2]float64{0, 0}, [2]float64{2, 2}},
		{[2]float64{2, 4}, [2]float64{4, 2}},
		{[2]float64{100, 7}, [2]float64{-100, -7}},
	} {
		for i := range 50 {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			bot := does(
				func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					yield(
						&session.Event{
							Actions: session.Actions{
								StateDelta: map[string]any{a: c.before[0], b: c.before[1]},
							},
						},
						nil,
					)
				},
			)
			s := stage(t, bot, &plugin.Plugin{
				Name: "bad",
				OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if e.Author == "bot" {
						e.Actions.StateDelta[a] = c.after[0]
						e.Actions.StateDelta[b] = c.after[1]
					}
					return plugin.Outcome{}, nil
				},
			})
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace, "%v", c)
		}
	}
}

// An event that contains itself, by more than one way, ends the run with an error and does not hang
// it.
func TestAnEventThatContainsItself(t *testing.T) {
	type tree struct {
		Parent   *tree
		Children []*tree
	}
	root := &tree{}
	root.Children = []*tree{{Parent: root}, {Parent: root}}
	loop := map[string]any{}
	loop["a"], loop["b"] = loop, loop
	for name, value := range map[string]any{"tree": root, "map": loop} {
		t.Run(name, func(t *testing.T) {
			bot := does(
				func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					yield(&session.Event{CustomMetadata: map[string]any{"x": value}}, nil)
				},
			)
			s := stage(t, bot, &plugin.Plugin{
				Name: "looks",
				OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
					return plugin.Outcome{}, nil
				},
			})
			_, err := s.run("hi")
			require.ErrorIs(t, err, session.ErrInvalid)
		})
	}
}
