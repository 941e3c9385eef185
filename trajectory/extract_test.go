package trajectory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// recording returns a session whose events are these lines.
func recording(t *testing.T, lines ...string) *session.Recording {
	file := `{"session":{"appName":"a","userId":"u","id":"s","state":{"token":"x","n":1}}}` + "\n" +
		strings.Join(lines, "\n")
	for rec, err := range session.ReadRecordings("test", strings.NewReader(file)) {
		require.NoError(t, err)
		return rec
	}
	return nil
}

func said(author, invocation, text string) string {
	role := "model"
	if author == "user" {
		role = "user"
	}
	return fmt.Sprintf(
		`{"author":%q,"invocationId":%q,"content":{"role":%q,"parts":[{"text":%q}]}}`, author,
		invocation, role, text)
}

func called(author, id, name string) string {
	return fmt.Sprintf(`{"author":%q,"invocationId":"i1","content":{"role":"model","parts":[`+
		`{"functionCall":{"id":%q,"name":%q,"args":{"b":12345678901234567890,"a":1}}}]}}`, author, id, name)
}

func answered(author, invocation, id, name, response string) string {
	return fmt.Sprintf(`{"author":%q,"invocationId":%q,"content":{"role":"user","parts":[`+
		`{"functionResponse":{"id":%q,"name":%q,"response":%s}}]}}`, author, invocation, id, name, response)
}

// What is read is not held: not what is cut, not what no export has.
func TestReadHoldsWhatItWrites(t *testing.T) {
	const events = 2000
	long := strings.Repeat("x", 20_000)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a pool keeps is gone after two
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	reads := 0
	x, err := trajectory.Read(&session.Session{}, func(yield func(*session.Event, error) bool) {
		reads++
		for i := range events {
			var e session.Event
			line := called("bot", fmt.Sprint(i), "f")
			if i%2 == 1 {
				line = answered("bot", "i1", fmt.Sprint(i-1), "f", `{"result":"`+long+`"}`)
			}
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			e.CustomMetadata = map[string]any{"k": strings.Clone(long)}
			if !yield(&e, nil) {
				return
			}
		}
	}, trajectory.Config{MaxString: 100})
	require.NoError(t, err)
	require.Less(t, heap()-before, int64(4<<20)) // 80 MB were read
	require.Equal(t, 1, reads)
	require.Len(t, x.Trajectory().ToolCalls, events/2)
}

func TestReadFails(t *testing.T) {
	_, err := trajectory.Read(&session.Session{}, each(nil), trajectory.Config{View: "whole"})
	require.ErrorContains(t, err, `"whole" is no view: it is standing, live or log`)
	broken := errors.New("broken")
	_, err = trajectory.Read(&session.Session{}, func(yield func(*session.Event, error) bool) {
		yield(nil, broken)
	}, trajectory.Config{})
	require.ErrorIs(t, err, broken)
}

func TestConfig(t *testing.T) {
	rec := recordings(t)["t1"]
	of := func(c trajectory.Config) *trajectory.Trajectory {
		got, err := trajectory.Of(rec.Key, rec.Events, c)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, of(trajectory.Config{NoToolCalls: true}).ToolCalls)
	require.Empty(t, of(trajectory.Config{NoStateDeltas: true}).StateDeltas)
	require.Nil(t, of(trajectory.Config{NoTokenUsage: true}).TokenUsage)
	first := func(c trajectory.Config) string { return string(of(c).ToolCalls[0].Arguments) }
	require.Contains(t, first(trajectory.Config{NoRedaction: true}), "made-up-1")
	require.Contains(t, first(trajectory.Config{SensitiveKeys: []string{}}), "made-up-1")
	require.Contains(t, first(trajectory.Config{}), `"api_key":"[REDACTED]","Token":"[REDACTED]"`)
	require.Contains(t, first(trajectory.Config{ExactKeys: true}),
		`"api_key":"[REDACTED]","Token":"made-up-2"`)
	require.Contains(t, string(of(trajectory.Config{}).ToolCalls[0].Result), "paid; paid; ")
	require.NotContains(t, string(of(trajectory.Config{}).ToolCalls[0].Result), "truncated")

	require.Equal(t, []trajectory.AgentUsage{
		{Agent: "clerk", Model: "script-1",
			Usage: trajectory.Usage{Input: 450, Output: 90, Total: 552, Cached: 64, Reasoning: 12}},
		{
			Agent: "auditor",
			Model: "script-2",
			Usage: trajectory.Usage{Input: 10, Output: 2, Total: 12},
		},
	}, of(trajectory.Config{}).Usages)
	require.Contains(t, rec.Events[1].Content.Parts[1].FunctionCall.Args["auth"], "api_key")
	require.Equal(t, "made-up-1",
		rec.Events[1].Content.Parts[1].FunctionCall.Args["auth"].(map[string]any)["api_key"])
}

// Order and digits are those of the event; a text cannot steer a terminal.
func TestValuesAreWrittenAsTheyWereSaid(t *testing.T) {
	rec := recording(t, called("bot", "1", "f"),
		answered("bot", "i1", "1", "f", `{"z":"\u009b","a":null}`))
	var out bytes.Buffer
	require.NoError(t, trajectory.WriteTrajectory(&out, extract(t, rec, trajectory.Config{})))
	require.Contains(t, out.String(),
		`"arguments":{"b":12345678901234567890,"a":1},"result":{"z":"\u009b","a":null}`)
}

func TestStatuses(t *testing.T) {
	rec := recording(t,
		called("bot", "1", "f"), answered("bot", "i1", "1", "f", `{"error":"no","declined":true}`),
		called("bot", "2", "f"), answered("bot", "i1", "2", "f", `{"error":null,"result":1}`),
		called("bot", "3", ""),
		`{"author":"bot","actions":{"requestedToolConfirmations":{"3":{}}}}`,
	)
	calls := extract(t, rec, trajectory.Config{}).Trajectory().ToolCalls
	require.Len(t, calls, 3)
	require.Equal(t, trajectory.Declined, calls[0].Status)
	require.Equal(t, trajectory.OK, calls[1].Status)
	require.Equal(t, trajectory.Waiting, calls[2].Status)
	require.Equal(t, "unknown", calls[2].Name)
}

// Another kit's interim response, and the one that counts: what is written has the latest one, and each once.
func TestALongRunningCallHasItsLatestResponse(t *testing.T) {
	asks := `{"author":"bot","invocationId":"i1","longRunningToolIds":["1"],"content":{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}}]}}`
	log := []string{
		said("user", "i1", "go"),
		asks,
		answered("bot", "i1", "1", "f", `{"status":"pending"}`),
		said("bot", "i1", "It waits."),
		answered("user", "i2", "1", "f", `{"status":"approved"}`),
		said("bot", "i2", "It is approved."),
	}
	for _, c := range []struct {
		events int
		status trajectory.Status
		result string
		seq    int64
	}{
		{2, trajectory.Waiting, "", 0},
		{4, trajectory.Waiting, `{"status":"pending"}`, 3},
		{6, trajectory.OK, `{"status":"approved"}`, 5},
	} {
		x := extract(t, recording(t, log[:c.events]...), trajectory.Config{})
		calls := x.Trajectory().ToolCalls
		require.Len(t, calls, 1)
		require.Equal(t, c.status, calls[0].Status)
		require.Equal(t, c.result, string(calls[0].Result))
		require.Equal(t, c.seq, calls[0].ResultSeq)

		var chat, atif bytes.Buffer
		omitted, err := trajectory.WriteChat(&chat, x, trajectory.Chat{})
		require.NoError(t, err)
		_, err = trajectory.WriteATIF(&atif, x)
		require.NoError(t, err)
		if c.result == "" { // the chat ends with the call
			require.Equal(t, trajectory.Omitted{Unanswered: 1, Messages: 1}, omitted)
			continue
		}
		require.Equal(t, 1, strings.Count(chat.String(), `"role":"tool"`))
		require.Zero(t, omitted)
		content, err := json.Marshal(c.result)
		require.NoError(t, err)
		for _, written := range []string{chat.String(), atif.String()} {
			require.Equal(t, 1, strings.Count(written, string(content)), written)
			require.Equal(t, 1, strings.Count(written, `status\"`), written)
		}
	}
}

// In the whole log a call that stands has the response that stands.
func TestLogJoinsWhatStands(t *testing.T) {
	rec := recording(t,
		called("bot", "1", "f"), answered("bot", "i1", "1", "f", `{"result":"void"}`),
		`{"author":"plugin/rewind","actions":{"rewindTo":1}}`,
		answered("bot", "i1", "1", "f", `{"result":"stands"}`),
	)
	calls := extract(t, rec, trajectory.Config{View: trajectory.Log}).Trajectory().ToolCalls
	require.Len(t, calls, 1)
	require.JSONEq(t, `{"result":"stands"}`, string(calls[0].Result))
	require.False(t, calls[0].Rewound)
}

func TestError(t *testing.T) {
	failure := `{"author":"bot","errorCode":"INTERNAL"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no message", []string{failure}, "INTERNAL"},
		{"the user goes on", []string{failure, said("user", "i", "Hello?")}, "INTERNAL"},
		{"an agent spoke", []string{failure, said("bot", "i", "Here.")}, ""},
		{"an input was denied", []string{`{"author":"plugin/policy","errorCode":"DENIED","errorMessage":"no"}`}, "DENIED: no"},
		{"a call was denied", []string{called("bot", "1", "f"),
			`{"author":"plugin/policy","errorCode":"DENIED","content":{"parts":[{"functionResponse":{"id":"1","name":"f","response":{"error":"x"}}}]}}`}, ""},
	} {
		got := extract(t, recording(t, c.lines...), trajectory.Config{}).Trajectory().Error
		if c.want == "" {
			require.Nil(t, got, c.name)
			continue
		}
		require.NotNil(t, got, c.name)
		require.Equal(t, c.want, *got, c.name)
	}
}

// No id is there twice, and each call has its response right after it.
func TestChat(t *testing.T) {
	rec := recording(
		t,
		said("user", "i1", "go"),
		called("bot", "1", "f"),
		said("plugin/audit", "i1", "a note"),
		answered("bot", "i1", "1", "f", `{"n":1}`),
		called("bot", "1-2", "f"),
		called("bot", "1", "f"),
		called("bot", "", "g"),
		answered("bot", "i1", "1", "f", `{"n":2}`),
		answered("bot", "i1", "none", "f", `{}`),
		`{"author":"helper","branch":"helper@1","content":{"role":"model","parts":[{"text":"inside"}]}}`,
		`{"author":"user","content":{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}}`,
	)
	var out bytes.Buffer
	omitted, err := trajectory.WriteChat(&out, extract(t, rec, trajectory.Config{}), trajectory.Chat{})
	require.NoError(t, err)
	require.Equal(t, trajectory.Omitted{Unanswered: 2, Responses: 1, Tools: []string{"f"}, Messages: 1, Parts: 1, Events: 2}, omitted)
	var chat struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string                `json:"tool_call_id"`
			ToolCalls     []struct{ ID string } `json:"tool_calls"`
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &chat))
	var got []string
	for _, m := range chat.Messages {
		got = append(got, strings.Join([]string{m.Role, m.ToolCallID, m.Content}, " "))
		for _, c := range m.ToolCalls {
			got = append(got, "call "+c.ID)
		}
	}
	const pending = `{"status":"pending: there is no answer yet"}`
	require.Equal(t, []string{
		"user  go",
		"assistant  ", "call 1", `tool 1 {"n":1}`,
		"assistant  ", "call 1-2", "tool 1-2 " + pending,
		"assistant  ", "call 1-3", `tool 1-3 {"n":2}`,
		"assistant  ", "call call-2",
	}, got)
}

// A user's answer belongs to the invocation that asked; secrets of the first state are redacted.
func TestEvalSet(t *testing.T) {
	rec := recording(t,
		said("user", "i1", "go"), called("bot", "1", "ask"),
		answered("user", "i2", "1", "ask", `{"camelCase":1}`), said("bot", "i2", "done"),
		said("plugin/x", "i3", "alone"),
	)
	x := extract(t, rec, trajectory.Config{})
	var out bytes.Buffer
	set := trajectory.NewEvalSet(&out, "my-set")
	for range 2 {
		omitted, err := set.Add(x)
		require.NoError(t, err)
		require.Equal(t, trajectory.Omitted{Events: 1}, omitted)
	}
	require.NoError(t, set.Close())
	invocation := `{"invocation_id":"i1","creation_timestamp":0,
		"user_content":{"role":"user","parts":[{"text":"go"}]},
		"final_response":{"role":"model","parts":[{"text":"done"}]},
		"intermediate_data":{"invocation_events":[
			{"author":"bot","content":{"role":"model","parts":[{"function_call":{"id":"1","name":"ask","args":{"b":12345678901234567890,"a":1}}}]}},
			{"author":"user","content":{"role":"user","parts":[{"function_response":{"id":"1","name":"ask","response":{"camelCase":1}}}]}}
		]}}`
	one := func(id string) string {
		return `{"eval_id":"` + id + `","conversation":[` + invocation + `],"creation_timestamp":0,
			"session_input":{"app_name":"a","user_id":"u","state":{"token":"[REDACTED]","n":1}}}`
	}
	require.JSONEq(
		t,
		`{"eval_set_id":"my_set","eval_cases":[`+one("s")+`,`+one("s_2")+`],"creation_timestamp":0}`,
		out.String(),
	)
}

// A live view begins with its summary; failures and notes are steps of the system.
func TestATIF(t *testing.T) {
	rec := recordings(t)["t2"]
	var out bytes.Buffer
	_, err := trajectory.WriteATIF(&out, extract(t, rec, trajectory.Config{View: trajectory.Live}))
	require.NoError(t, err)
	require.Contains(
		t,
		out.String(),
		`{"step_id":1,"timestamp":"2026-01-02T10:00:06Z","source":"system",`+
			`"message":"Earlier: the clerk could not count to one.","extra":{"seq":6,"invocation_id":"t2-i2",`+
			`"context_management":{"boundary":"replace","type":"compaction"}}}`,
	)

	out.Reset()
	_, err = trajectory.WriteATIF(&out, extract(t, recordings(t)["t3"], trajectory.Config{}))
	require.NoError(t, err)
	require.Contains(t, out.String(),
		`"source":"system","message":"DEADLINE_EXCEEDED: the model did not answer in time"`)

	out.Reset()
	_, err = trajectory.WriteATIF(&out,
		extract(t, recordings(t)["t1"], trajectory.Config{View: trajectory.Log}))
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(out.String(), `"rewound":true`))
}
