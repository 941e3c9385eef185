package session_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
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
	for _, s := range []string{`{}`, ` null`, "\n{ }\t", `{"timestamp":1e30}`, `{"id":"\u0000\ud800"}`, "{\"a\xff\":1}", `{"actions":{"rewindTo":0,"compaction":{"through":-1,"keep":[1]}}}`,
		`{"actions":null,"content":null,"seq":5}`, `{"Invocation_ID":"1","actions":{"State_Delta":{"a_b":1}}}`, `{"content":{"parts":[{"name":"f","args":{},"mime_type":"x"}]},"error_code":"E"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, data) })
}

// roundTrip does to an event's JSON what stores and wires do, and reports whether it is an event.
func roundTrip(t interface{ Fatalf(string, ...any) }, data []byte) bool {
	var e session.Event
	if e.UnmarshalJSON(data) != nil {
		return false
	}
	once, err := e.MarshalJSON()
	if err != nil {
		t.Fatalf("%q was read and is not written: %v", data, err)
	}
	if !jsontext.Value(once).IsValid(jsontext.AllowInvalidUTF8(true)) || !utf8.Valid(once) ||
		strings.ContainsAny(string(once), "\n\r") {
		t.Fatalf("%q is written as %q, which is not one line of JSON", data, once)
	}
	if in, out := keys(data), keys(once); slices.Equal(in, out) { // in the one form already
		want := jsontext.Value(slices.Clone(data))
		if err := want.Compact(jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		want = bytes.ToValidUTF8(want, []byte("\ufffd"))
		if bytes.ContainsAny(want, "_") ||
			bytes.Contains(want,
				[]byte(`"timestamp"`)) { // perhaps a part in another form, perhaps a number
			want = slices.Clone(once)
		}
		if string(want) != string(once) {
			t.Fatalf("%q is written as %q", want, once)
		}
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
			if !f.IsExported() || f.Name == "Timestamp" && e.Timestamp.Equal(again.Timestamp) ||
				f.Name == "Extra" ||
				f.Name == "Actions" {
				continue
			}
			if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				t.Fatalf("%s of %q is %#v, after a round trip %#v", f.Name, data,
					a.Field(i).Interface(), b.Field(i).Interface())
			}
		}
	}
	if clone, err := e.Clone().MarshalJSON(); err != nil || string(clone) != string(once) {
		t.Fatalf("%q is written as %q, its clone as %q (%v)", data, once, clone, err)
	}
	list, err := store.Records(session.Key{App: "a", User: "u", ID: "s"}, []*session.Event{&e})
	if err != nil || len(list) == 0 {
		return true
	}
	stored, err := store.Decode(list[0].Data, 1)
	if err != nil {
		t.Fatalf("%q is stored as %q and is not read: %v", data, list[0].Data, err)
	}
	list2, err := store.Records(session.Key{App: "a", User: "u", ID: "s"}, []*session.Event{stored})
	if err != nil || len(list2) != 1 || !list2[0].Same(list[0].Data) {
		t.Fatalf("%q is stored as %q, which is not the same when it is appended again (%v)", data,
			list[0].Data, err)
	}
	return true
}

// keys returns the names of an event's members and of its actions', as they are spelled.
func keys(event []byte) (list []string) {
	d := jsontext.NewDecoder(bytes.NewReader(event), jsontext.AllowInvalidUTF8(true))
	for in := false; ; {
		tok, err := d.ReadToken()
		if err != nil {
			return list
		}
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 &&
			(d.StackDepth() == 1 || d.StackDepth() == 2 && in) {
			list = append(list, tok.String())
			in = in && d.StackDepth() == 2 || d.StackDepth() == 1 && tok.String() == "actions"
		}
	}
}

// What a fuzzer seldom makes: events with the right keys, in every spelling, and mostly the right values.
func TestDrawnEvents(t *testing.T) {
	texts := rapid.SampledFrom([]string{
		`""`,
		`"a"`,
		`"\u0000"`,
		`"\ud83e\udd8a"`,
		`"\ud800"`,
		"\"\xff\"",
		`"<&>\u2028"`,
		`"AQI="`,
		`"-_8="`,
		`"A"`,
		`"STOP"`,
		`"MaxTokens"`,
		`"2026-01-02T03:04:05.1+05:30"`,
	})
	numbers := rapid.SampledFrom([]string{
		`0`,
		`-0`,
		`1`,
		`1.0`,
		`-2.50`,
		`1e2`,
		`1E-400`,
		`1e400`,
		`9007199254740993`,
		`12345678901234567890`,
		`1767323045.25`,
		`0.1234567890123456789`,
	})
	var value func(depth int) *rapid.Generator[string]
	names := rapid.SampledFrom([]string{
		"a",
		"a_b",
		"A",
		"seq",
		"id",
		"text",
		"\\u0061",
		"name",
		"args",
		"mime_type",
		"mimeType",
		"data",
		"thinking",
		"signature",
		"functionCall",
		"function_call",
		"functionResponse",
		"response",
		"thoughtSignature",
		"thought_signature",
		"thought",
		"through",
		"keep",
		"frontier",
		"parts",
		"role",
	})
	object := func(depth int, names *rapid.Generator[string], value func(rt *rapid.T, name string) string) *rapid.Generator[string] {
		return rapid.Custom(func(rt *rapid.T) string {
			var members []string
			for _, name := range rapid.SliceOfNDistinct(names, 0, 6, rapid.ID[string]).Draw(rt, "names") {
				space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(rt, "space")
				members = append(members, space+`"`+name+`"`+space+":"+space+value(rt, name)+space)
			}
			return "{" + strings.Join(members, ",") + "}"
		})
	}
	value = func(depth int) *rapid.Generator[string] {
		simple := rapid.OneOf(texts, numbers,
			rapid.SampledFrom([]string{"null", "true", "false", "[]", "{}"}))
		if depth == 0 {
			return simple
		}
		return rapid.OneOf(
			simple,
			rapid.Map(
				rapid.SliceOfN(
					rapid.Deferred(func() *rapid.Generator[string] { return value(depth - 1) }), 0,
					3),
				func(list []string) string {
					return "[" + strings.Join(list, ", ") + "]"
				},
			),
			object(depth, names,
				func(rt *rapid.T, _ string) string { return value(depth-1).Draw(rt, "value") }),
		)
	}
	part := rapid.Custom(func(rt *rapid.T) string {
		kind := rapid.SampledFrom([][]string{{"text", "thought", "thoughtSignature", "other"}, {"functionCall", "thought_signature"}, {"name", "args", "id"},
			{
				"mime_type",
				"data",
			}, {"thinking", "signature"}, {"functionResponse", "id"}, {"function_call"}, {"inlineData", "text"},
			{
				"text",
				"thinking",
				"name",
				"args",
				"mime_type",
				"data",
				"functionCall",
				"functionResponse",
				"id",
				"thoughtSignature",
				"file_uri",
			}}).
			Draw(rt, "kind of part")
		return object(1, rapid.SampledFrom(kind),
			func(rt *rapid.T, name string) string {
				switch name {
				case "text",
					"thoughtSignature",
					"thought_signature",
					"name",
					"mime_type",
					"thinking",
					"signature",
					"id":
					return texts.Draw(rt, name)
				case "thought":
					return "true"
				case "args":
					return object(
						1,
						names,
						func(rt *rapid.T, _ string) string { return value(2).Draw(rt, "arg") },
					).Draw(rt, name)
				}
				return value(2).Draw(rt, name)
			}).Draw(rt, "part")
	})
	actions := object(
		1,
		rapid.SampledFrom([]string{
			"stateDelta",
			"state_delta",
			"stateIncrement",
			"rewindTo",
			"compaction",
			"escalate",
			"transfer_to_agent",
			"requestedToolConfirmations",
			"requested_tool_confirmations",
			"other",
			"artifactDelta",
			"route",
			"Route",
		}),
		func(rt *rapid.T, name string) string {
			switch name {
			case "route", "Route":
				return value(1).Draw(rt, name)
			case "escalate":
				return "false"
			case "rewindTo", "transfer_to_agent":
				return rapid.OneOf(numbers, texts, rapid.Just("null")).Draw(rt, name)
			}
			return object(
				1,
				names,
				func(rt *rapid.T, _ string) string { return value(2).Draw(rt, "value") },
			).Draw(rt, name)
		},
	)
	event := object(
		3,
		rapid.SampledFrom([]string{
			"id",
			"seq",
			"invocationId",
			"invocation_id",
			"author",
			"timestamp",
			"content",
			"Content",
			"actions",
			"partial",
			"turn_complete",
			"errorCode",
			"finish_reason",
			"usageMetadata",
			"customMetadata",
			"custom_metadata",
			"longRunningToolIds",
			"long_running_tool_ids",
			"other",
			"other_key",
			"output",
			"Output",
			"routes",
			"Routes",
			"nodeInfo",
			"node_info",
		}),
		func(rt *rapid.T, name string) string {
			switch name {
			case "nodeInfo", "node_info":
				return rapid.SampledFrom([]string{`{"path":""}`, `{"path":"w@1/n@1","ended":true}`, `{"path":"","output_for":["a"]}`, `{"path":"w","outputFor":[],"message_as_output":true,"x":1.0}`, `{}`, `null`}).
					Draw(rt, name)
			case "routes", "Routes":
				return rapid.SampledFrom([]string{`null`, `[]`, `[ ]`, `["a"]`, `["a",1.0]`, `"a"`}).
					Draw(rt, name)
			case "id", "author", "invocationId", "invocation_id", "errorCode", "finish_reason":
				return texts.Draw(rt, name)
			case "seq":
				return rapid.SampledFrom([]string{"0", "7", "null"}).Draw(rt, name)
			case "timestamp":
				return rapid.SampledFrom([]string{`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.10+05:30"`, "null", "0", "1767323045.123456", "1e9", `"0001-01-01T00:00:00Z"`}).
					Draw(rt, name)
			case "partial", "turn_complete":
				return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(rt, name)
			case "content", "Content":
				return `{"role":` + texts.Draw(rt, "role") + `,"parts":[` + strings.Join(rapid.SliceOfN(part, 0, 3).Draw(rt, "parts"),
					",") + `],"other":` + value(1).Draw(rt, "other") +
					`}`
			case "actions":
				return actions.Draw(rt, name)
			}
			return value(2).Draw(rt, name)
		},
	)
	read, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 {
			all++
			if roundTrip(rt, []byte(event.Draw(rt, "event"))) {
				read++
			}
		}
	})
	t.Logf("%d of %d were events", read, all)
	require.Greater(t, read, all/4, "too few of the drawn events are any")
}
