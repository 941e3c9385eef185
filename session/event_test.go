package session_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// fill sets everything that a value consists of, so that a field that is new one day is in the test too.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 14 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
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
			v.SetBytes([]byte(`{"x":1}`))
			return
		}
		if depth < 14 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), depth+1)
			fill(v.Index(1), depth+1)
		}
	case reflect.Map:
		if depth < 14 {
			v.Set(reflect.MakeMap(v.Type()))
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(elem, depth+1)
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), elem)
		}
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

// shared returns the path of the first pointer, slice or map that a and b have in common, "" if none.
func shared(a, b reflect.Value, path string) string {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() {
			return ""
		}
		if a.Pointer() == b.Pointer() && !(a.Kind() == reflect.Slice && a.Len() == 0) {
			return path
		}
	}
	var found string
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() {
			found = shared(a.Elem(), b.Elem(), path)
		}
	case reflect.Slice:
		for i := 0; i < a.Len() && found == ""; i++ {
			found = shared(a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Map:
		for _, k := range a.MapKeys() {
			if found == "" {
				found = shared(a.MapIndex(k), b.MapIndex(k), path+"["+k.String()+"]")
			}
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return ""
		}
		for i := 0; i < a.NumField() && found == ""; i++ {
			if f := a.Type().Field(i); f.IsExported() {
				found = shared(a.Field(i), b.Field(i), path+"."+f.Name)
			}
		}
	}
	return found
}

func TestCloneSharesNothing(t *testing.T) {
	var e session.Event
	fill(reflect.ValueOf(&e).Elem(), 0)
	require.NotNil(t, e.Content.Parts[1].FunctionCall.Args)
	c := e.Clone()
	require.Equal(t, &e, c)
	require.Empty(t, shared(reflect.ValueOf(&e), reflect.ValueOf(c), "Event"))
	require.NotEmpty(t,
		shared(reflect.ValueOf(&e), reflect.ValueOf(&session.Event{Content: e.Content}), "Event"),
		"the test sees what is shared")
}

// A clone of an event that was read is written as the event is, also after a change to either.
func TestCloneKeepsWhatWasRead(t *testing.T) {
	const text = `{"id":"1","content":{"role":"user","parts":[{"text":"hi","unknown":12345678901234567890}]},"more":[1.0]}`
	e := decode(t, text)
	c := e.Clone()
	require.Equal(t, text, encode(t, c))
	c.Content.Parts[0].Text = "changed"
	require.Equal(t, text, encode(t, e))
	require.Contains(t, encode(t, c), "changed")
}

func TestText(t *testing.T) {
	require.Empty(t, (&session.Event{}).Text())
	e := &session.Event{
		Content: &genai.Content{
			Parts: []*genai.Part{
				{Text: "a"},
				nil,
				{Text: "thought", Thought: true},
				{FunctionCall: &genai.FunctionCall{}},
				{Text: "b"},
			},
		},
	}
	require.Equal(t, "ab", e.Text())
	require.Equal(t, "hi", session.Message("hi").Text())
	require.Equal(t, session.User, session.Message("hi").Author)
	require.Equal(t, "hi", session.Reply("hi").Text())
	require.Equal(t, string(genai.RoleModel), session.Reply("hi").Content.Role)
	require.Empty(t, session.Reply("hi").Author)
}

func TestNewID(t *testing.T) {
	last := ""
	for range 1000 {
		id := session.NewID()
		require.Greater(t, id, last, "ids sort by the time they were made")
		last = id
	}
}

func fillEvent(e *session.Event) { fill(reflect.ValueOf(e).Elem(), 0) }

func TestWithoutUnknown(t *testing.T) {
	const text = `{"id":"1","content":{"role":"user","parts":[{"text":"hi","secret":1}]},"secret":1,"actions":{"secret":1,"compaction":{"secret":1,"compactedContent":{}},"requestedToolConfirmations":{"c":{"hint":"h","secret":1}}},"nodeInfo":{"path":"n","secret":1},"customMetadata":{"mine":1}}`
	e := decode(t, text)
	c := e.WithoutUnknown()
	require.NotContains(t, encode(t, c), "secret")
	require.Contains(t, encode(t, c), `"mine":1`)
	require.Contains(t, encode(t, c), `"hint":"h"`)
	require.Contains(t, encode(t, c), `"path":"n"`)
	require.Equal(t, text, encode(t, e), "the event itself stays")
}

func TestCloneOfAValueThatContainsItself(t *testing.T) {
	m := map[string]any{}
	m["self"] = m
	e := &session.Event{Actions: session.Actions{StateDelta: m}}
	c := e.Clone()
	require.NotPanics(t, func() { c.Actions.StateDelta["self"].(map[string]any)["x"] = 1 })
	require.NotContains(t, m, "x")
}

func TestCommand(t *testing.T) {
	c := session.Command{Name: "rewind", Args: map[string]any{"to": 3.0}}
	e := c.Event()
	require.Equal(t, session.User, e.Author)
	got, ok := decode(t, encode(t, e)).Command()
	require.True(t, ok)
	require.Equal(t, c, got)
	c.Args["to"] = 4.0
	got, _ = e.Command()
	require.Equal(t, 3.0, got.Args["to"], "the event has a copy")
	for _, text := range []string{`{}`, `{"customMetadata":{"command":"rewind"}}`, `{"customMetadata":{"command":{"args":{}}}}`, `{"customMetadata":{"command":{"name":""}}}`} {
		_, ok := decode(t, text).Command()
		require.False(t, ok, text)
	}
}

// A value that contains itself is copied as it is, and refused where it is stored.
func TestCloneOfWhatContainsItself(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = []any{loop}
	e := &session.Event{Author: "bot", Actions: session.Actions{StateDelta: loop}}
	c := e.Clone()
	c.Actions.StateDelta["mine"] = true
	require.NotContains(t, loop, "mine")
	_, err := store.Records(session.Key{}, []*session.Event{e})
	require.ErrorIs(t, err, session.ErrInvalid)
}

// A text, which is copied in another way than what refers to more, shares nothing with its copy either.
func TestCloneOfAText(t *testing.T) {
	for _, e := range []*session.Event{
		{ID: "1", Author: "bot", ErrorCode: "X"},
		{Content: &genai.Content{Role: "model"}},
		{Content: &genai.Content{Parts: []*genai.Part{}}},
		{Content: &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "a"}, nil, {Text: "b", Thought: true}}}, Actions: session.Actions{Escalate: true}},
	} {
		c := e.Clone()
		require.Equal(t, e, c)
		require.Empty(t, shared(reflect.ValueOf(e), reflect.ValueOf(c), "event"))
	}
}

// Whose an event is: the user's, an agent's or a plugin's.
func TestEventAuthor(t *testing.T) {
	for _, c := range []struct {
		author    string
		plugin    string
		emitted   bool
		fromAgent bool
	}{
		{author: session.User},
		{author: "writer", fromAgent: true},
		{author: "plugin", fromAgent: true},
		{author: "plugin/budget", plugin: "budget", emitted: true},
		{author: "plugin/", emitted: true},
	} {
		e := &session.Event{Author: c.author}
		plugin, emitted := e.Plugin()
		require.Equal(t, c.plugin, plugin, c.author)
		require.Equal(t, c.emitted, emitted, c.author)
		require.Equal(t, c.fromAgent, e.FromAgent(), c.author)
	}
}

func TestSharedKey(t *testing.T) {
	for key, shared := range map[string]bool{
		"app:count": true, "user:count": true, "app:": true,
		"count": false, "temp:count": false, "App:count": false, "temp:app:count": false, "": false,
	} {
		require.Equal(t, shared, session.SharedKey(key), key)
	}
}

// Parts of other kits' logs may be null. Whoever asks for the parts is not told of them.
func TestParts(t *testing.T) {
	require.Empty(t, (&session.Event{}).Parts())
	text := &genai.Part{Text: "a"}
	e := &session.Event{Content: &genai.Content{Parts: []*genai.Part{nil, text, nil}}}
	require.Equal(t, []*genai.Part{text}, e.Parts())
	require.Len(t, e.Content.Parts, 3, "the event stays as it is")
}
