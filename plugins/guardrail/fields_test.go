package guardrail_test

import (
	"encoding/base64"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// notJudged matches the fields that the documentation names as not looked into.
var (
	notJudged = regexp.MustCompile(
		`^(ID|InvocationID|Author|Branch|.*\.ID|.*\.ThoughtSignature|LongRunningToolIDs|` +
			`Actions\.RequestedToolConfirmations\.key|Actions\.Compaction\.Branches)$`,
	)
	notOfAgents = regexp.MustCompile(
		`^(ModelVersion|UsageMetadata\..*|Actions\.TransferToAgent|Actions\.(StateIncrement|StateBound)\.key|NodeInfo\.(Path|OutputFor|OutputOf|Inputs)|.*\.FunctionResponse\.Name)$`,
	)
	files = regexp.MustCompile(
		`(InlineData|ImageBytes|VideoBytes)\.Data$`) // and bytes of types that are no text
)

// eachText calls try for each text that the value of a type can have, with its path and what sets
// it.
func eachText(v reflect.Value, path []string, try func(path string, set func(string))) {
	name := strings.Join(path, ".")
	switch v.Kind() {
	case reflect.String:
		try(name, v.SetString)
		v.SetZero()
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.String() != "time.Time" {
				eachText(v.Field(i), append(slices.Clone(path), f.Name), try)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		eachText(v.Elem(), path, try)
		v.SetZero()
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			try(name, func(text string) { v.SetBytes([]byte(text)) })
		} else {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			eachText(v.Index(0), path, try)
		}
		v.SetZero()
	case reflect.Map:
		of := v.Type().Elem()
		put := func(key string, value reflect.Value) {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(key), value)
		}
		try(name+".key", func(text string) {
			x := reflect.New(of).Elem()
			if of.String() == "jsontext.Value" {
				x.SetBytes([]byte("1"))
			}
			put(text, x)
		})
		x := reflect.New(of).Elem()
		if of.String() == "jsontext.Value" {
			try(name+".value", func(text string) { x.SetBytes([]byte(inJSON(text))); put("k", x) })
		} else {
			eachText(x, append(slices.Clone(path), "value"), func(path string, set func(string)) {
				try(path, func(text string) { set(text); put("k", x) })
			})
		}
		v.SetZero()
	case reflect.Interface:
		try(name, func(text string) { v.Set(reflect.ValueOf(text)) })
		v.SetZero()
	}
}

// Every text that an event can have is judged, whoever says it and whether it is made or read, but
// for those that the documentation names. A field that is new in a library is one of them, or this
// fails.
func TestEveryField(t *testing.T) {
	const canary = "xq7canarybird"
	p := quiet(t,
		with(t, `rules: [{id: c, detect: {regexp: {CANARY: xq7canarybird}}, action: redact}]`))
	for _, author := range []string{session.User, "bot", "plugin/other"} {
		for _, read := range []bool{false, true} {
			e, tried := &session.Event{}, 0
			eachText(reflect.ValueOf(e).Elem(), nil, func(path string, set func(string)) {
				set(canary)
				e.Author = author
				if e.Content != nil && e.Content.Role == "" {
					e.Content.Role = genai.RoleUser
				}
				if author == session.User && strings.Contains(path, "FunctionCall") {
					return // the runner refuses an input with a call
				}
				if strings.Contains(path, "RequestedToolConfirmations.value.Ask.") ||
					strings.HasPrefix(path, "Actions.RequestedToolConfirmations.value.Roles") ||
					path == "Actions.RequestedToolConfirmations.value.Name" {
					return // roles and names of people, which the runner sets or checks
				}
				if files.MatchString(path) || notJudged.MatchString(path) ||
					author != session.User && notOfAgents.MatchString(path) {
					return
				}
				data, err := e.MarshalJSON()
				require.NoError(t, err, path)
				offer := e
				if read {
					offer = &session.Event{}
					require.NoError(t, offer.UnmarshalJSON(data), path)
				}
				tried++
				got, _ := offered(t, p, offer)
				after, err := got.MarshalJSON()
				require.NoError(t, err)
				for _, form := range []string{
					canary,
					base64.StdEncoding.EncodeToString([]byte(canary)),
				} {
					if strings.Contains(string(data), form) {
						require.NotContains(t, string(after), form, "%s of %s, read: %v", path,
							author, read)
					}
				}
			})
			require.Greater(t, tried, 100)
		}
	}
}

// What is not known inside of an event's fields is judged whoever says it.
func TestUnknownOfAgents(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: s, detect: {secrets: default}, action: redact}]`))
	for _, author := range []string{"bot", "plugin/other"} {
		e := &session.Event{}
		require.NoError(t, e.UnmarshalJSON([]byte(
			`{"id":"a","content":{"parts":[{"text":"x","other":["`+token+`"]}]},"actions":{"compaction":{"through":1,"other":"`+token+`"}}}`,
		)))
		e.Author = author
		got, _ := offered(t, p, e)
		require.NotContains(t, inJSON(got), token[4:])
	}
}

// A caller cannot hide what it says in what tools, code and compactions say; nor a tool what it
// answers in the state.
func TestStagesOfWhatElseIsSaid(t *testing.T) {
	const card = "4111111111111111"
	args := map[string]any{"a": card}
	for name, e := range map[string]*session.Event{
		"answer":            says(session.User, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "q", Name: "x", Response: args}}),
		"call":              says(session.User, &genai.Part{FunctionCall: &genai.FunctionCall{ID: "q", Name: "x", Args: args}}),
		"code's output":     says(session.User, &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: card}}),
		"provider's call":   says(session.User, &genai.Part{ToolCall: &genai.ToolCall{Args: args}}),
		"provider's answer": says(session.User, &genai.Part{ToolResponse: &genai.ToolResponse{Response: args}}),
		"compaction": {
			Author: session.User,
			Actions: session.Actions{
				Compaction: &session.Compaction{
					Content: genai.NewContentFromText(card, genai.RoleUser),
				},
			},
		},
	} {
		for _, action := range []string{"redact", "block"} {
			got, out := offered(
				t,
				quiet(t, with(
					t,
					`rules: [{id: c, stages: [input], detect: {pii: [CREDIT_CARD]}, action: `+action+`}]`,
				)),
				e,
			)
			require.True(t, out.Withhold || !strings.Contains(inJSON(got), card), "%s: %s", name,
				action)
		}
	}
	answer := says("bot", &genai.Part{
		FunctionResponse: &genai.FunctionResponse{
			ID:       "q",
			Name:     "x",
			Response: map[string]any{"ok": true},
		},
	})
	answer.Actions.StateDelta = args
	for rule, hidden := range map[string]bool{
		"":                   true,
		", scope: {tool: x}": true,
		", scope: {tool: y}": false,
	} {
		got, _ := offered(
			t,
			quiet(t, with(
				t,
				`rules: [{id: c, stages: [tool_result], detect: {pii: [CREDIT_CARD]}, action: redact`+rule+`}]`,
			)),
			answer,
		)
		require.Equal(t, hidden, !strings.Contains(inJSON(got), card), rule)
	}
}

// What several parts say together is judged together, also in transcriptions, code, its output and
// the pieces of arguments.
func TestSpreadOverParts(t *testing.T) {
	pieces := func(make func(string) *genai.Part) *session.Event {
		return says("bot", make(token[:18]), make(token[18:]))
	}
	number := 4111111111111111.0
	partial := func(args ...*genai.PartialArg) *session.Event {
		return says("bot", &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: "c", Name: "fetch", PartialArgs: args},
		})
	}
	for name, e := range map[string]*session.Event{
		"transcriptions": pieces(func(s string) *genai.Part { return &genai.Part{AudioTranscription: &genai.Transcription{Text: s}} }),
		"their words": pieces(func(s string) *genai.Part {
			return &genai.Part{
				AudioTranscription: &genai.Transcription{
					Text:  s,
					Words: []*genai.WordInfo{{Word: s}},
				},
			}
		}),
		"code": pieces(func(s string) *genai.Part { return &genai.Part{ExecutableCode: &genai.ExecutableCode{Code: s}} }),
		"output": pieces(func(s string) *genai.Part {
			return &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: s}}
		}),
		"pieces": partial(&genai.PartialArg{JsonPath: "$.a", StringValue: token[:18]}, &genai.PartialArg{JsonPath: "$.b", StringValue: "x"}, &genai.PartialArg{JsonPath: "$.a", StringValue: token[18:]}),
		"number": partial(&genai.PartialArg{JsonPath: "$.a", NumberValue: &number}),
		"path":   partial(&genai.PartialArg{JsonPath: "$." + token, StringValue: "x"}),
	} {
		got, _ := offered(
			t,
			quiet(t, with(
				t,
				`rules: [{id: s, detect: {secrets: default}, action: redact}, {id: c, detect: {pii: [CREDIT_CARD]}, action: redact}]`,
			)),
			e,
		)
		for _, form := range []string{token[:18], token[18:], "4111111111111111"} {
			require.NotContains(t, inJSON(got), form, name)
		}
	}
	heard := says("bot", &genai.Part{
		AudioTranscription: &genai.Transcription{
			Text:  "hello",
			Words: []*genai.WordInfo{{Word: "hello"}},
		},
	})
	got, out := offered(t,
		quiet(t, with(t, `rules: [{id: s, detect: {secrets: default}, action: redact}]`)), heard)
	require.Nil(t, out.Replace)
	require.Len(t, got.Content.Parts[0].AudioTranscription.Words, 1)
}

// Pieces of arguments that come in a stream are shown to nobody: the call is, once it is whole and
// judged.
func TestStreamedArguments(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: s, detect: {secrets: default}, action: redact}]`))
	more := true
	for _, piece := range []string{token[:18], token[18:], "and more"} {
		e := says("bot", &genai.Part{
			FunctionCall: &genai.FunctionCall{
				ID:           "c",
				Name:         "fetch",
				WillContinue: &more,
				PartialArgs: []*genai.PartialArg{
					{JsonPath: "$.a", StringValue: piece, WillContinue: &more},
				},
			},
		})
		e.Partial = true
		_, out := offered(t, p, e)
		require.True(t, out.Withhold)
		require.Nil(t, out.Replace)
	}
	got, _ := offered(t, p, says("bot",
		&genai.Part{FunctionCall: call("fetch", map[string]any{"a": token + " and more"})}))
	require.Equal(t, `{"a":"[SECRET] and more"}`, inJSON(got.FunctionCalls()[0].Args))
}
