package gemini_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

// What surprises a caller of the SDK, each with what this package makes of it.

// The SDK's error for a wrong configuration prints the whole of it, the key too.
func TestTrapTheConfigurationsErrorHasTheKey(t *testing.T) {
	for name, c := range map[string]gemini.Config{
		"a project without Vertex AI": {APIKey: canary, Backend: genai.BackendGeminiAPI, Project: "p", Location: "l"},
		"a bad base URL":              {APIKey: canary, Backend: genai.BackendGeminiAPI, BaseURL: "http://user:" + canary + "@host\x7f"},
		"a password in the base URL":  {APIKey: canary, Backend: genai.BackendGeminiAPI, BaseURL: "http://user:" + canary + "@host"},
		"a key in the base URL":       {APIKey: canary, Backend: genai.BackendGeminiAPI, BaseURL: "http://host?key=" + canary},
		"a line break in the key":     {APIKey: canary + "\n", Backend: genai.BackendGeminiAPI},
		"a number of attempts":        {APIKey: canary, Attempts: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gemini.New(t.Context(), c)
			require.ErrorContains(t, err, "gemini: ")
			require.NotContains(t, err.Error(), canary)
			require.NotContains(t, fmt.Sprintf("%+v %#v", err, err), canary)
		})
	}
}

// The SDK says nothing about a stream that just ends, an answer without candidates or a blocked prompt.
func TestTrapAnEndWithoutAReasonIsSilent(t *testing.T) {
	m, _ := start(t,
		geminitest.Reply{Chunks: [][]geminitest.Part{{geminitest.Text("half")}}, Unfinished: true},
		geminitest.Raw("data: {}\n\n"), geminitest.Raw("\n\n"), geminitest.Blocked("SAFETY"))
	fails(t, m, request(true), model.Unfinished)
	fails(t, m, request(true), model.NoAnswer)
	fails(t, m, request(true), model.Unfinished)
	_, whole, err := ask(t, t.Context(), m, request(true))
	require.NoError(t, err)
	require.Equal(t, "SAFETY", whole.ErrorCode)
	require.Nil(t, whole.Content)
}

// Comments, other fields and data of several lines are server-sent events, which end the SDK's stream.
func TestTrapCommentsEndTheStream(t *testing.T) {
	const body = "retry: 10\n\n: ping\n\nevent: message\nid: 1\ndata: {\"candidates\":[{\"content\":\ndata: {\"parts\":[{\"text\":\"hel\"}]}}]}\n\n" +
		": ping\r\n\r\ndata:{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n: bye"
	m, _ := start(t, geminitest.Raw(body))
	partials, whole, err := ask(t, t.Context(), m, request(true))
	require.NoError(t, err)
	require.Len(t, partials, 2)
	require.Equal(t, "hello", text(whole))
}

// The SDK asks again for as long as the server offers to continue an answer.
func TestTrapTheSDKContinuesForEver(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		m, srv := start(t, geminitest.Forever(geminitest.Reply{
			Chunks:       [][]geminitest.Part{{geminitest.Text("a")}},
			FinishReason: "CONTINUATION",
			Candidate:    map[string]any{"continuationToken": "eA=="},
		}))
		_, whole, err := ask(t, t.Context(), m, request(stream))
		require.NoError(t, err)
		require.Equal(t, "CONTINUATION", whole.ErrorCode)
		require.Equal(t, "a", text(whole))
		require.Len(t, srv.Requests(), 1)
	})
}

// The SDK does not retry unless it is asked to.
func TestTrapNoRetries(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		m, srv := start(t, geminitest.Status(429, "quota"), geminitest.Status(503, "overloaded"),
			geminitest.Text("third"))
		_, whole, err := ask(t, t.Context(), m, request(stream))
		require.NoError(t, err)
		require.Equal(t, "third", text(whole))
		require.Len(t, srv.Requests(), 3)
	})
}

// The SDK makes every number a float64, on the way in and on the way out.
func TestTrapNumbersAreRounded(t *testing.T) {
	const odd = json.Number("9007199254740993")
	both(t, func(t *testing.T, stream bool) {
		args := map[string]any{
			"id":    odd,
			"list":  []any{json.Number("-" + odd), json.Number("123456789012345678901234567890")},
			"half":  0.5,
			"big":   json.Number("1e300"),
			"small": 7,
		}
		m, srv := start(
			t,
			geminitest.Stream(geminitest.Call("first", map[string]any{"n": 1}),
				geminitest.Call("f", args)),
			geminitest.Text("ok"),
		)
		_, whole, err := ask(t, t.Context(), m, request(stream))
		require.NoError(t, err)
		require.Equal(t, map[string]any{"n": 1.0}, whole.Content.Parts[0].FunctionCall.Args)
		call := whole.Content.Parts[1].FunctionCall
		require.Equal(
			t,
			map[string]any{
				"id":    odd,
				"list":  []any{"-" + odd, json.Number("123456789012345678901234567890")},
				"half":  0.5,
				"big":   1e300,
				"small": 7.0,
			},
			call.Args,
		)

		respond := func(name string, v any) *genai.Part {
			return &genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name:     name,
					Response: map[string]any{"id": v},
				},
			}
		}
		_, _, err = ask(t, t.Context(), m, request(
			stream,
			genai.Text("go")[0],
			whole.Content,
			&genai.Content{
				Role:  genai.RoleUser,
				Parts: []*genai.Part{respond("first", odd), respond("f", int64(math.MaxInt64))},
			},
		))
		require.NoError(t, err)
		sent := srv.Requests()[1].Contents
		require.Equal(t, odd,
			sent[1].Parts[1]["functionCall"].(map[string]any)["args"].(map[string]any)["id"])
		require.Equal(
			t,
			odd,
			sent[2].Parts[0]["functionResponse"].(map[string]any)["response"].(map[string]any)["id"],
		)
		require.Equal(
			t,
			json.Number("9223372036854775807"),
			sent[2].Parts[1]["functionResponse"].(map[string]any)["response"].(map[string]any)["id"],
		)
	})
}

// The SDK leaves an empty text out, and the API refuses a part with nothing in it.
func TestTrapEmptyTextsAreLeftOut(t *testing.T) {
	m, srv := start(t, geminitest.Text("ok"))
	_, _, err := ask(t, t.Context(), m, request(
		false,
		genai.Text("go")[0],
		&genai.Content{
			Role: genai.RoleModel,
			Parts: []*genai.Part{
				{Text: "done"},
				{ThoughtSignature: []byte("sig")},
				{},
				nil,
				{Thought: true},
			},
		},
		&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{}}},
		nil,
		genai.Text("more")[0],
	))
	require.NoError(t, err)
	sent := srv.Requests()[0].Contents
	require.Len(t, sent, 3, "a content that says nothing is not sent")
	require.Equal(t, []geminitest.Part{{"text": "done"}, {"text": "", "thoughtSignature": "c2ln"}},
		sent[1].Parts)
}

// The SDK writes errors of a stream to the standard logger.
func TestTrapTheSDKLogs(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	both(t, func(t *testing.T, stream bool) {
		m, _ := start(t,
			geminitest.Reply{Chunks: [][]geminitest.Part{{geminitest.Text("half")}}, Cut: true},
			geminitest.Status(400, "key "+canary), geminitest.Raw("<html>"), geminitest.Text("ok"))
		for range 3 {
			_, _, err := ask(t, t.Context(), m, request(stream))
			require.Error(t, err)
		}
		for range m.Generate(t.Context(), request(stream)) {
			break
		}
	})
	require.Empty(t, logged.String())
	t.Setenv("GOOGLE_API_KEY", canary)
	t.Setenv("GEMINI_API_KEY", canary+"2")
	_, err := gemini.New(t.Context(), gemini.Config{})
	require.NoError(t, err)
	require.Contains(t, logged.String(), "Both GOOGLE_API_KEY and GEMINI_API_KEY are set")
	require.NotContains(t, logged.String(), canary)
}

// What fails in the middle of a stream comes as the last pair.
func TestTrapTheErrorComesLast(t *testing.T) {
	m, srv := start(t, geminitest.Reply{
		Chunks: [][]geminitest.Part{{geminitest.Text("a")}, {geminitest.Text("b")}},
		Error:  &geminitest.Error{Code: 503, Message: "overloaded " + canary},
	})
	partials, whole, err := ask(t, t.Context(), m, request(true))
	require.Len(t, partials, 2)
	require.Nil(t, whole)
	var coded *model.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, []any{"UNAVAILABLE", 503}, []any{coded.Code, coded.Status})
	require.ErrorContains(t, err, "overloaded [key]")
	require.Len(t, srv.Requests(), 1, "it is not asked again")
}

// An error that is no event, as a proxy sends it, is one.
func TestTrapAnErrorThatIsNoEvent(t *testing.T) {
	m, _ := start(t, geminitest.Raw(
		"{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"quota\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n",
	))
	require.Equal(t, 429, fails(t, m, request(true), "RESOURCE_EXHAUSTED").Status)
}

// A call goes back with its signature, to the byte, or the API refuses it; of parallel calls only the
// first has one, and a stream can end with one on an empty text.
func TestTrapThoughtSignatures(t *testing.T) {
	signature := make([]byte, 256)
	for i := range signature {
		signature[i] = byte(i)
	}
	both(t, func(t *testing.T, stream bool) {
		m, srv := start(
			t,
			geminitest.Stream(
				geminitest.Thought("hm").Signed([]byte("t")),
				geminitest.Text("I "),
				geminitest.Text("look").Signed([]byte("x")),
				geminitest.Text(" on"),
				geminitest.Call("f", map[string]any{"n": 1}).
					Signed(signature),
				geminitest.Call("f", map[string]any{"n": 2}),
				geminitest.Text("").Signed([]byte("end")),
			),
			geminitest.Text("ok"),
		)
		_, whole, err := ask(t, t.Context(), m, request(stream))
		require.NoError(t, err)
		call := func(n float64) *genai.FunctionCall {
			return &genai.FunctionCall{Name: "f", Args: map[string]any{"n": n}}
		}
		require.Equal(t, []*genai.Part{
			{
				Text:             "hm",
				Thought:          true,
				ThoughtSignature: []byte("t"),
			}, {Text: "I "}, {Text: "look", ThoughtSignature: []byte("x")}, {Text: " on"},
			{
				FunctionCall:     call(1),
				ThoughtSignature: signature,
			}, {FunctionCall: call(2)}, {ThoughtSignature: []byte("end")},
		}, whole.Content.Parts)

		done := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f"}}
		_, _, err = ask(t, t.Context(), m, request(stream, genai.Text("go")[0], whole.Content,
			&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{done, done}}))
		require.NoError(t, err)
		sent := srv.Requests()[1].Contents[1].Parts
		require.Equal(t, base64.StdEncoding.EncodeToString(signature), sent[4]["thoughtSignature"])
		require.NotContains(t, sent[5], "thoughtSignature")
		require.Equal(t, geminitest.Part{"text": "", "thoughtSignature": "ZW5k"}, sent[6])
	})
}

// Every way to print a Config, or what has one, leaves the key out.
func TestAConfigDoesNotPrintItsKey(t *testing.T) {
	c := gemini.Config{Model: "m", APIKey: canary}
	m, err := gemini.New(t.Context(),
		gemini.Config{Model: "m", APIKey: canary, Backend: genai.BackendGeminiAPI})
	require.NoError(t, err)
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	var printed strings.Builder
	printed.Write(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{c, &c, []gemini.Config{c}, struct{ C gemini.Config }{c}, m} {
			fmt.Fprintf(&printed, verb+"\n", v)
		}
	}
	require.NotContains(t, printed.String(), canary)
	require.NotContains(t, printed.String(), fmt.Sprintf("%x", canary))
	require.Contains(t, fmt.Sprintf("%+v", c), "Model:m APIKey:[hidden]")
}
