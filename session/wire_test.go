package session_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

var update = flag.Bool("update", false, "write testdata/events/*.golden")

func decode(t require.TestingT, text string) *session.Event {
	var e session.Event
	require.NoError(t, json.Unmarshal([]byte(text), &e), text)
	return &e
}

// encode returns what the event is written as, without json.Marshal's own compacting and escaping.
func encode(t require.TestingT, e *session.Event) string {
	data, err := e.MarshalJSON()
	require.NoError(t, err)
	return string(data)
}

func lines(t require.TestingT, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata", "events", name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// What other kits write is read, written in the one form, and read as the same again.
func TestGolden(t *testing.T) {
	for _, name := range []string{"go", "python", "python_db", "python_extra", "rust", "workflow"} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			for i, line := range lines(t, name+".jsonl") {
				e := decode(t, line)
				text := encode(t, e)
				fmt.Fprintln(&out, text)
				require.NotContains(t, text, "\n")
				again := decode(t, text)
				require.Equal(t, text, encode(t, again), "line %d", i+1)
				require.Equal(t, fields(t, e), fields(t, again), "line %d", i+1)
				require.False(t, e.Timestamp.IsZero())
				require.NotEmpty(t, e.ID)
				require.NotEmpty(t, e.Author)
				require.NotEmpty(t, e.InvocationID)
				require.False(t, e.Marker(), "another kit's compaction and rewind are inert")
			}
			golden := filepath.Join("testdata", "events", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
		})
	}
}

var seconds = regexp.MustCompile(`("timestamp":)(\d[\d.]*)(,|})`)

// goRoutes is what the Go kit writes of a route, and where it stands in the one form.
var goRoutes = strings.NewReplacer(
	`"actions":{"futureAction":{"z":null},"stateDelta":{},"artifactDelta":{}},"routes":["approve","7"],`,
	`"actions":{"futureAction":{"z":null},"stateDelta":{},"artifactDelta":{},"route":["approve","7"]},`,
)

// An event in the one form comes out as it went in, to the byte, but for a time in seconds, which
// becomes RFC 3339, the Go kit's routes, which stand in the actions, and white space.
func TestUnchangedToTheByte(t *testing.T) {
	for _, name := range []string{"go", "python", "python_extra"} {
		for i, line := range lines(t, name+".jsonl") {
			got, want := encode(t, decode(t, line)), goRoutes.Replace(line)
			if m := seconds.FindStringSubmatch(line); m != nil {
				at := decode(t, line).Timestamp.Format(time.RFC3339Nano)
				want = seconds.ReplaceAllString(line, `${1}"`+at+`"${3}`)
			}
			require.Equal(t, want, got, "%s line %d", name, i+1)
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, []byte(line), "", "\t"))
			require.Equal(t, want, encode(t, decode(t, pretty.String())), "%s line %d, indented",
				name, i+1)
		}
	}
}

// The Python kit's events are the same from its wire and from its database.
func TestPythonSpellings(t *testing.T) {
	db := lines(t, "python_db.jsonl")
	for i, line := range lines(t, "python.jsonl") {
		wire, stored := decode(t, line), decode(t, db[i])
		if i == 11 { // has unknown keys, which the database does not
			wire = decode(t, strings.Replace(line,
				`,"futureField":{"a":[1,null,{"b":9007199254740993}],"c":null},"snake_future":1.0`,
				"", 1))
		}
		require.Equal(t, fields(t, wire), fields(t, stored), "line %d", i+1)
	}
}

// fields returns an event's fields in words, keys that are not known included.
func fields(t require.TestingT, e *session.Event) string {
	c := &session.Event{}
	data := decode(t, encode(t, e)) // so that Extra has one form
	*c = *data
	c.Seq = e.Seq
	out, err := json.MarshalIndent(struct {
		*plain
		Time int64
	}{(*plain)(c), c.Timestamp.UnixNano()}, "", "  ")
	require.NoError(t, err)
	return string(out)
}

type plain session.Event

func TestWhatKitsMean(t *testing.T) {
	python, golang, rust := lines(t, "python.jsonl"), lines(t, "go.jsonl"), lines(t, "rust.jsonl")

	e := decode(t, python[0])
	require.Equal(t, time.Date(2026, 3, 14, 9, 26, 53, 123457000, time.UTC), e.Timestamp)
	require.Equal(t, time.Date(2026, 3, 14, 9, 26, 53, 123456789, time.UTC),
		decode(t, golang[0]).Timestamp)
	require.Equal(t, time.Date(2026, 3, 14, 9, 26, 53, 123456789, time.UTC),
		decode(t, rust[0]).Timestamp)

	signature := []byte{0xfb, 0xff, 0xfe, 0, 0x3e, 0x3f, 0xef, 0xff}
	for name, line := range map[string]string{"python": python[2], "go": golang[2], "rust": rust[2]} {
		e := decode(t, line)
		require.True(t, e.Content.Parts[0].Thought, name)
		require.NotEmpty(t, e.Content.Parts[0].Text, name)
		require.Equal(t, signature[:3], e.Content.Parts[0].ThoughtSignature[:3], name)
		require.EqualValues(t, "STOP", e.FinishReason, name)
		require.True(t, e.TurnComplete, name)
		require.NotZero(t, e.UsageMetadata.TotalTokenCount, name)
	}
	for name, line := range map[string]string{"python": python[3], "go": golang[3], "rust": rust[3]} {
		e := decode(t, line)
		calls := session.Calls([]*session.Event{e})
		require.Len(t, calls, 3, name)
		require.Equal(t, []bool{false, false, true},
			[]bool{calls[0].Deferred != nil, calls[1].Deferred != nil, calls[2].Deferred != nil},
			name)
		require.Equal(t, json.Number("9007199254740993"), calls[0].Args["odd"], name)
		require.Contains(t, encode(t, e), calls[0].Args["serial"].(json.Number).String(), name)
	}
	for name, line := range map[string]string{"python": python[4], "go": golang[4], "rust": rust[4]} {
		e := decode(t, line)
		require.NotNil(t, e.Content.Parts[0].FunctionResponse, name)
		require.True(t, e.Actions.SkipSummarization, name)
		require.Equal(t, "spring", e.Actions.StateDelta["app:season"], name)
		require.Equal(t, map[string]any{"k": nil, "n": json.Number("9007199254740993")},
			e.Actions.StateDelta["nested"], name)
		require.Len(t, e.Actions.ArtifactDelta, 2, name)
	}
	require.Equal(t, "call_1", decode(t, rust[4]).Content.Parts[0].FunctionResponse.ID)
	require.Equal(t, session.Confirmation{Hint: "Scrape the wall?"},
		decode(t, python[5]).Actions.RequestedToolConfirmations["adk-a4"])
	require.Equal(t, "Ring the bell?",
		decode(t, golang[5]).Actions.RequestedToolConfirmations["adk-11ad"].Hint)
	require.Equal(t, []byte{137, 80, 78, 71, 251, 255, 254, 0, 62, 63, 191, 239, 255},
		decode(t, python[6]).Content.Parts[1].InlineData.Data)
	require.Equal(t, []byte{137, 80, 78, 71, 251, 255, 254, 0, 62, 63, 191, 239, 255},
		decode(t, golang[6]).Content.Parts[1].InlineData.Data)
	require.Equal(t, []byte{137, 80, 78, 71, 251, 255, 254, 0, 62, 63, 191, 239, 255},
		decode(t, rust[7]).Content.Parts[1].InlineData.Data)
	require.Equal(t, "gs://invented-bucket/log.pdf",
		decode(t, rust[7]).Content.Parts[3].FileData.FileURI)
	require.EqualValues(t, "MAX_TOKENS", decode(t, rust[8]).FinishReason)
	require.Equal(t, "quarry_agent", decode(t, python[8]).Actions.TransferToAgent)
	require.Equal(t, "pot_agent", decode(t, rust[9]).Actions.TransferToAgent)
	require.Equal(t, "SAFETY", decode(t, rust[10]).ErrorCode)
	for name, line := range map[string]string{"python": python[10], "go": golang[10], "rust": rust[11]} {
		c := decode(t, line).Actions.Compaction
		require.NotNil(t, c, name)
		require.Zero(t, c.Through, name)
		require.NotEmpty(t, c.Content.Parts[0].Text, name)
		require.Contains(t, c.Extra, "startTimestamp", name)
	}
}

// What the kits write of workflows is read into the fields, whatever its spelling; names in outputs are the user's.
func TestWorkflowFields(t *testing.T) {
	byID := map[string]*session.Event{}
	for _, line := range lines(t, "workflow.jsonl") {
		e := decode(t, line)
		byID[e.ID] = e
	}
	require.Nil(t, byID["rows-1"].NodeInfo, "an empty path is none")
	require.Equal(t, "askFirst", byID["rows-2"].Actions.Route)
	require.Equal(t, map[string]any{"firstName": "Mina", "last_name": "K"},
		byID["rows-2"].Actions.StateDelta)
	require.Equal(t, map[string]any{"caseId": 7.0, "open_since": "monday"}, byID["rows-3"].Output)
	require.Equal(t,
		&session.NodeInfo{Path: "letters@1/look_up@1", OutputFor: []string{"letters@1/look_up@1"}},
		byID["rows-3"].NodeInfo)
	require.True(t, byID["rows-6"].NodeInfo.MessageAsOutput)
	require.Equal(t, "letters/two", byID["alpha-3"].NodeInfo.Path)
	require.Equal(t, "ok", byID["alpha-3"].Actions.Route)
	require.Equal(t, `"2e1d3c4b5a69788"`, string(byID["alpha-3"].NodeInfo.Extra["executionId"]))
	require.Equal(t, []any{"refund"}, byID["go-routes-2"].Actions.Route)
	require.Equal(t, map[string]any{"kind": "refund"}, byID["go-routes-2"].Actions.StateDelta)
	require.Contains(t, byID["go-routes-3"].Extra, "requestedInput")
	require.True(t, byID["loop-2"].NodeInfo.Ended)
	require.Equal(t, map[string]any{"snake_key": 1.0, "camelKey": map[string]any{"Output": 2.0}},
		byID["go-untagged-1"].Output)
	require.Equal(t, []any{"a"}, byID["go-untagged-1"].Actions.Route)
	require.Nil(t, byID["go-untagged-2"].Output)
	require.Nil(t, byID["go-untagged-2"].Actions.Route)

	// An empty path is written back as it was, also when another field is changed.
	e := byID["loop-2"].Clone()
	e.NodeInfo.Ended = false
	e.Output = false
	require.Contains(t, encode(t, e),
		`"nodeInfo":{"path":"letters@loop-i1/start_case@1"},"output":false`)
	e = decode(t, `{"id":"1","nodeInfo":{"path":""},"output":null,"author":"a"}`)
	e.Author = "b"
	require.Equal(t, `{"id":"1","nodeInfo":{"path":""},"output":null,"author":"b"}`, encode(t, e))
	require.Equal(t, `{"nodeInfo":{"path":"x"}}`,
		encode(t, &session.Event{NodeInfo: &session.NodeInfo{Path: "x"}}))
}

// What was changed is written as changed, and the rest stays to the byte.
func TestChangedFields(t *testing.T) {
	const text = `{"zzz":1.0,"id":"1","author":"a","content":{"role":"user","parts":[{"text":"hi","unknown":12345678901234567890}]},` +
		`"customMetadata":{"n":1e2},"actions":{"newThing":[1.0],"stateDelta":{"k":1.00,"l":12345678901234567890},"escalate":false},"partial":false}`
	for name, c := range map[string]struct {
		change func(*session.Event)
		want   string // with these replaced
		old    string
	}{
		"nothing": {func(*session.Event) {}, "", ""},
		"author":  {func(e *session.Event) { e.Author = "b" }, `"author":"b"`, `"author":"a"`},
		"cleared": {func(e *session.Event) { e.Author = "" }, ``, `"author":"a",`},
		"content": {func(e *session.Event) { e.Content = genai.NewContentFromText("other", genai.RoleModel) },
			`"content":{"parts":[{"text":"other"}],"role":"model"}`, `"content":{"role":"user","parts":[{"text":"hi","unknown":12345678901234567890}]}`},
		"metadata":               {func(e *session.Event) { e.CustomMetadata["m"] = true }, `"customMetadata":{"m":true,"n":100}`, `"customMetadata":{"n":1e2}`},
		"a zero value":           {func(e *session.Event) { e.Partial = true }, `"partial":true`, `"partial":false`},
		"one action":             {func(e *session.Event) { e.Actions.Escalate = true }, `"escalate":true`, `"escalate":false`},
		"state":                  {func(e *session.Event) { e.Actions.StateDelta["k"] = 2 }, `"stateDelta":{"k":2,"l":12345678901234567890}`, `"stateDelta":{"k":1.00,"l":12345678901234567890}`},
		"new action":             {func(e *session.Event) { e.Actions.TransferToAgent = "x" }, `"escalate":false,"transferToAgent":"x"}`, `"escalate":false}`},
		"new field":              {func(e *session.Event) { e.Branch = "a.b" }, `"partial":false,"branch":"a.b"}`, `"partial":false}`},
		"unknown key changed":    {func(e *session.Event) { e.Extra["zzz"] = []byte("2") }, `"zzz":2,`, `"zzz":1.0,`},
		"unknown key removed":    {func(e *session.Event) { delete(e.Extra, "zzz") }, ``, `"zzz":1.0,`},
		"unknown action removed": {func(e *session.Event) { e.Actions.Extra = nil }, ``, `"newThing":[1.0],`},
		"all actions removed": {func(e *session.Event) { e.Actions = session.Actions{} }, ``,
			`"actions":{"newThing":[1.0],"stateDelta":{"k":1.00,"l":12345678901234567890},"escalate":false},`},
	} {
		t.Run(name, func(t *testing.T) {
			e := decode(t, text)
			c.change(e)
			require.Equal(t, strings.Replace(text, c.old, c.want, 1), encode(t, e))
			clone := decode(t, text).Clone()
			c.change(clone)
			require.Equal(t, strings.Replace(text, c.old, c.want, 1), encode(t, clone),
				"of a clone")
		})
	}
}

func TestTimestamps(t *testing.T) {
	for in, want := range map[string]string{
		`"2026-01-02T03:04:05Z"`:           "2026-01-02T03:04:05Z",
		`"2026-01-02T03:04:05.000000001Z"`: "2026-01-02T03:04:05.000000001Z",
		`"2026-01-02T03:04:05.1+05:30"`:    "2026-01-02T03:04:05.1+05:30",
		`1767323045`:                       "2026-01-02T03:04:05Z",
		`1767323045.0`:                     "2026-01-02T03:04:05Z",
		`1767323045.123456`:                "2026-01-02T03:04:05.123456Z",
		`1767323045.1234567890123`:         "2026-01-02T03:04:05.123456789Z",
		`0`:                                "1970-01-01T00:00:00Z",
		`-0.5`:                             "1969-12-31T23:59:59.5Z",
		`-1.25`:                            "1969-12-31T23:59:58.75Z",
		`1.767323045e9`:                    "2026-01-02T03:04:05Z",
		`1.5e1`:                            "1970-01-01T00:00:15Z",
		`1E2`:                              "1970-01-01T00:01:40Z",
		`253402300799`:                     "9999-12-31T23:59:59Z",
	} {
		e := decode(t, `{"timestamp":`+in+`}`)
		require.Equal(t, want, e.Timestamp.Format(time.RFC3339Nano), in)
		require.Equal(t, `{"timestamp":"`+want+`"}`, encode(t, e), in)
	}
	for _, in := range []string{`253402300800`, `1e30`, `-1e30`, `1e999`, `99999999999999999999999`, `"2026-01-02T03:04:05"`, `"yesterday"`, `true`, `{}`, `"1767323045"`} {
		var e session.Event
		require.Error(t, json.Unmarshal([]byte(`{"timestamp":`+in+`}`), &e), in)
	}
}

func TestRefusedEvents(t *testing.T) {
	for name, text := range map[string]string{
		"a key twice":                     `{"id":"1","id":"2"}`,
		"a key twice in actions":          `{"actions":{"escalate":true,"escalate":false}}`,
		"a key twice in content":          `{"content":{"role":"a","role":"b"}}`,
		"a key twice in an unknown value": `{"x":{"a":1,"a":2}}`,
		"an unknown key twice":            `{"x":1,"x":2}`,
		"a key in two spellings":          `{"invocationId":"1","invocation_id":"2"}`,
		"a route in two spellings":        `{"routes":["a"],"actions":{"route":"b"}}`,
		"a text for a node":               `{"nodeInfo":"desk"}`,
		"not an object":                   `[]`,
		"a number":                        `1`,
		"null":                            ` null`,
		"nothing":                         ``,
		"two objects":                     `{} {}`,
		"a text for content":              `{"content":"hi"}`,
		"a text for a rewind":             `{"actions":{"rewindTo":"3"}}`,
		"a fraction for a rewind":         `{"actions":{"rewindTo":1.5}}`,
		"a long position":                 `{"seq":99999999999999999999}`,
		"no base64":                       `{"content":{"parts":[{"inlineData":{"data":"*"}}]}}`,
	} {
		e := session.Event{ID: "before"}
		require.Error(t, e.UnmarshalJSON([]byte(text)), "%s: %s", name, text)
		require.Equal(t, session.Event{ID: "before"}, e, name)
	}
}

func TestOurKeys(t *testing.T) {
	e := &session.Event{ID: "1", Seq: 3, Actions: session.Actions{
		StateIncrement: map[string]float64{"app:n": 1},
		Compaction: &session.Compaction{
			Through:  2,
			Keep:     []int64{1},
			Frontier: 1,
			Content:  genai.NewContentFromText("s", genai.RoleModel),
		}}}
	require.Equal(
		t,
		`{"id":"1","seq":3,"actions":{"stateIncrement":{"app:n":1},"compaction":{"through":2,"keep":[1],"frontier":1,"compactedContent":{"parts":[{"text":"s"}],"role":"model"}}}}`,
		encode(t, e),
	)
	require.Equal(t, e.Actions, decode(t, encode(t, e)).Actions)
	for to, want := range map[int64]string{0: `{"actions":{"rewindTo":0}}`, 1 << 60: `{"actions":{"rewindTo":1152921504606846976}}`} {
		e := &session.Event{Actions: session.Actions{Rewind: &session.Rewind{To: to}}}
		require.Equal(t, want, encode(t, e))
		require.Equal(t, to, decode(t, want).Actions.Rewind.To)
	}
	require.Nil(t, decode(t, `{"actions":{"rewindTo":null}}`).Actions.Rewind)
	require.Equal(t, `{}`, encode(t, &session.Event{}))
}

// An event that is made here, read, and made again survives with everything that it can have in it.
func TestEveryField(t *testing.T) {
	var e session.Event
	fillEvent(&e)
	text := encode(t, &e)
	back := decode(t, text)
	require.Equal(t, text, encode(t, back))
	back = back.Clone()
	back.Content.Parts = back.Content.Parts[:1]
	back.Content.Parts[0].Text = "changed"
	require.Contains(t, encode(t, back), `"changed"`)
}

// Names that are the user's stay as they are in an event in snake_case: ids, scopes, names of state and of
// a model's answer. The kit's own become camelCase.
func TestUsersKeysStay(t *testing.T) {
	var e session.Event
	require.NoError(t, json.Unmarshal(
		[]byte(`{"id":"1","invocation_id":"i","live_session_id":"l","output":{"my_key":1},
		"requested_input":{"interrupt_id":"q","payload":{"box_list":[]},"response_schema":{"my_key":{}}},
		"actions":{"set_model_response":{"answer_text":"ok"},"stateIncrement":{"user:n_x":1},
		"requested_auth_configs":{"call_cal_1":{"auth_scheme":{"flows":{"scopes":{"orders_read":"x"}}},"credential_key":"k"}}}}`),
		&e,
	))
	data, err := json.Marshal(&e)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"1","invocationId":"i","liveSessionId":"l","output":{"my_key":1},
		"requestedInput":{"interruptId":"q","payload":{"box_list":[]},"responseSchema":{"my_key":{}}},
		"actions":{"setModelResponse":{"answer_text":"ok"},"stateIncrement":{"user:n_x":1},
		"requestedAuthConfigs":{"call_cal_1":{"authScheme":{"flows":{"scopes":{"orders_read":"x"}}},"credentialKey":"k"}}}}`, string(data))
}
