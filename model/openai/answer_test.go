package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
)

func said(parts ...*genai.Part) *genai.Content { return content(genai.RoleModel, parts...) }

func message(message, finish string) string {
	return fmt.Sprintf(`{"model":"tiny-1","choices":[{"index":0,"message":%s,"finish_reason":%s}]}`,
		message, finish)
}

func delta(delta string) string {
	return fmt.Sprintf(`{"model":"tiny-1","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`,
		delta)
}

func finish(reason string) string {
	return fmt.Sprintf(`{"model":"tiny-1","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`,
		reason)
}

// A whole answer is a response.
func TestWhole(t *testing.T) {
	done := model.Response{FinishReason: genai.FinishReasonStop, ModelVersion: "tiny-1"}
	with := func(c *genai.Content) model.Response { r := done; r.Content = c; return r }
	bad := func(c *genai.Content, reason genai.FinishReason, text string) model.Response {
		return model.Response{
			Content:      c,
			FinishReason: reason,
			ErrorCode:    string(reason),
			ErrorMessage: text,
			ModelVersion: "tiny-1",
		}
	}
	for name, c := range map[string]struct {
		body string
		want model.Response
	}{
		"text":            {message(`{"role":"assistant","content":"hello"}`, `"stop"`), with(said(text("hello")))},
		"parts of text":   {message(`{"content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]}`, `"stop"`), with(said(text("hello")))},
		"no reason":       {message(`{"content":"hello"}`, `null`), with(said(text("hello")))},
		"reasoning":       {message(`{"content":"hello","reasoning_content":"hm"}`, `"stop"`), with(said(&genai.Part{Text: "hm", Thought: true}, text("hello")))},
		"Ollama's":        {message(`{"content":"hello","reasoning":"hm"}`, `"stop"`), with(said(&genai.Part{Text: "hm", Thought: true}, text("hello")))},
		"reasoning twice": {message(`{"content":"hello","reasoning":"hm","reasoning_content":"hm"}`, `"stop"`), with(said(&genai.Part{Text: "hm", Thought: true}, text("hello")))},
		"another choice is not taken": {`{"model":"tiny-1","choices":[{"index":1,"message":{"content":"no"},"finish_reason":"length"},{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}]}`,
			with(said(text("yes")))},
		"calls": {message(`{"content":null,"tool_calls":[
				{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1,\"big\":9007199254740993,\"list\":[\"<\"]}"}},
				{"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`, `"tool_calls"`),
			with(said(called("a", "f", map[string]any{"n": 1.0, "big": json.Number("9007199254740993"), "list": []any{"<"}}), called("b", "g", map[string]any{})))},
		"calls without ids stay so, with text and stop": {message(`{"content":"I look.","tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]}`, `"stop"`),
			with(said(text("I look."), called("", "f", map[string]any{}), called("", "f", map[string]any{})))},
		"arguments that are an object, or null": {message(`{"content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"n": 1}}},{"id":"b","function":{"name":"f","arguments":null}}]}`, `"tool_calls"`),
			with(said(called("a", "f", map[string]any{"n": 1.0}), called("b", "f", map[string]any{})))},
		"arguments that are no JSON": {message(`{"content":"I look.","tool_calls":[{"id":"a","function":{"name":"ok","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{\"n\":"}}]}`, `"tool_calls"`),
			bad(said(text("I look.")), genai.FinishReasonMalformedFunctionCall, "the model has called f with arguments that are not JSON")},
		"arguments that are no object": {message(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"[1]"}}]}`, `"tool_calls"`),
			bad(nil, genai.FinishReasonMalformedFunctionCall, "the model has called f with arguments that are not a JSON object")},
		"a call of nothing": {message(`{"tool_calls":[{"id":"b"}]}`, `"tool_calls"`),
			bad(nil, genai.FinishReasonMalformedFunctionCall, "the model has called a function without a name")},
		"cut off": {message(`{"content":"hel"}`, `"length"`), bad(said(text("hel")), genai.FinishReasonMaxTokens, "the answer was cut off: it has reached the limit of tokens")},
		"cut off in a call": {message(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{\"n\":"}}]}`, `"length"`),
			bad(nil, genai.FinishReasonMaxTokens, "the answer was cut off: it has reached the limit of tokens; the model has called f with arguments that are not JSON")},
		"blocked":        {message(`{"content":null}`, `"content_filter"`), bad(nil, genai.FinishReasonSafety, "the answer was blocked by the server's content filter")},
		"refused":        {message(`{"content":null,"refusal":"I will not."}`, `"stop"`), bad(said(text("I will not.")), genai.FinishReasonSafety, "the model refused: I will not.")},
		"another reason": {message(`{"content":"hel"}`, `"abort"`), bad(said(text("hel")), genai.FinishReasonOther, "the model stopped with the reason abort")},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, sends(c.body))
			partial, whole, err := ask(t, srv.model(t), hello(false))
			require.NoError(t, err)
			require.Empty(t, partial)
			require.Equal(t, &c.want, whole)
			_, whole, err = ask(t, srv.model(t), hello(true))
			require.NoError(t, err,
				"a server may send the whole at once where a stream was asked for")
			require.Equal(t, &c.want, whole)
		})
	}
}

// A stream is partial responses of its text, and then the whole.
func TestStream(t *testing.T) {
	for name, c := range map[string]struct {
		events  []string
		partial []string
		want    *genai.Content
	}{
		"text": {[]string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"hel"}`), delta(`{"content":"lo"}`), finish("stop"), "[DONE]"},
			[]string{"hel", "lo"}, said(text("hello"))},
		"no end but the connection's": {[]string{delta(`{"content":"hello"}`), finish("stop")}, []string{"hello"}, said(text("hello"))},
		"content and reason in one":   {[]string{`{"model":"tiny-1","choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}`, "[DONE]"}, []string{"hello"}, said(text("hello"))},
		"reasoning": {[]string{delta(`{"reasoning_content":"h"}`), delta(`{"reasoning_content":"m"}`), delta(`{"content":"hello"}`), finish("stop")},
			[]string{"h", "m", "hello"}, said(&genai.Part{Text: "hm", Thought: true}, text("hello"))},
		"a call in fragments": {[]string{delta(`{"content":"I look."}`), delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), finish("tool_calls"), "[DONE]"},
			[]string{"I look."}, said(text("I look."), called("a", "f", map[string]any{"n": 1.0}))},
		"two calls in turns": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"\"y\":2}"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\":1}"}}]}`), finish("tool_calls")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}), called("b", "g", map[string]any{"y": 2.0}))},
		"two calls of one index, by their ids": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}), called("b", "f", map[string]any{"x": 2.0}))},
		"three of one index, without ids": {[]string{delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"g","arguments":{}}}]}`), finish("stop")},
			nil, said(called("", "f", map[string]any{"x": 1.0}), called("", "f", map[string]any{"x": 2.0}), called("", "g", map[string]any{}))},
		"without an index": {[]string{delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`), delta(`{"tool_calls":[{"function":{"arguments":"1}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}), called("b", "f", map[string]any{}))},
		"an index only later": {[]string{delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}))},
		"two functions of one index, without ids and arguments": {[]string{delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"g","arguments":""}}]}`), finish("stop")},
			nil, said(called("", "f", map[string]any{}), called("", "g", map[string]any{}))},
		"name and id with every fragment": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}))},
		"the name with every fragment, the id later": {[]string{delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{"x": 1.0}))},
		"the name later": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a"}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`), finish("stop")},
			nil, said(called("a", "f", map[string]any{}))},
		"chunks without choices, null everywhere": {[]string{`{"choices":[],"error":null}`, `{"choices":null,"model":"tiny-1"}`, delta(`{"content":null,"tool_calls":null,"refusal":null}`),
			delta(`{"content":"hello"}`), `{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}],"usage":null}`, "[DONE]"}, []string{"hello"}, said(text("hello"))},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, streams(c.events...))
			partial, whole, err := ask(t, srv.model(t), hello(true))
			require.NoError(t, err)
			var got []string
			for _, p := range partial {
				require.Equal(t, "tiny-1", p.ModelVersion)
				require.Equal(t, genai.RoleModel, p.Content.Role)
				require.Len(t, p.Content.Parts, 1)
				got = append(got, p.Content.Parts[0].Text)
			}
			require.Equal(t, c.partial, got)
			require.Equal(
				t,
				&model.Response{
					Content:      c.want,
					FinishReason: genai.FinishReasonStop,
					ModelVersion: "tiny-1",
				},
				whole,
			)
		})
	}
}

func TestStreamWithErrorCode(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		code   string
		want   *genai.Content
	}{
		"cut off":            {[]string{delta(`{"content":"hel"}`), finish("length")}, "MAX_TOKENS", said(text("hel"))},
		"cut off in a call":  {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`), finish("length")}, "MAX_TOKENS", nil},
		"malformed":          {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{x}"}}]}`), finish("tool_calls")}, "MALFORMED_FUNCTION_CALL", nil},
		"blocked":            {[]string{delta(`{"content":"hel"}`), finish("content_filter")}, "SAFETY", said(text("hel"))},
		"refused, in pieces": {[]string{delta(`{"refusal":"I will"}`), delta(`{"refusal":" not."}`), finish("stop")}, "SAFETY", said(text("I will not."))},
	} {
		t.Run(name, func(t *testing.T) {
			_, whole, err := ask(t, serve(t, streams(c.events...)).model(t), hello(true))
			require.NoError(t, err)
			require.Equal(t, c.code, whole.ErrorCode)
			require.NotEmpty(t, whole.ErrorMessage)
			require.Equal(t, c.want, whole.Content)
		})
	}
}

// The framing of real servers: comments, event lines, CRLF, data without a space.
func TestFraming(t *testing.T) {
	body := ": ping\n\nevent: message\r\ndata:" + delta(
		`{"content":"hello"}`) + "\r\n\r\n: OPENROUTER PROCESSING\n\nid: 7\ndata: " + finish("stop") + "\n\ndata: [DONE]\n\n"
	_, whole, err := ask(t, serve(t, sendsAs("text/event-stream; charset=utf-8", body)).model(t),
		hello(true))
	require.NoError(t, err)
	require.Equal(t, said(text("hello")), whole.Content)
}

// A server that streams unasked is understood, and nothing partial passed on.
func TestStreamUnasked(t *testing.T) {
	partial, whole, err := ask(t,
		serve(t, streams(delta(`{"content":"hello"}`), finish("stop"))).model(t), hello(false))
	require.NoError(t, err)
	require.Empty(t, partial)
	require.Equal(t, said(text("hello")), whole.Content)
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		usage string
		want  *genai.GenerateContentResponseUsageMetadata
	}{
		"none": {`null`, nil},
		"as OpenAI counts": {`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}`,
			&genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CachedContentTokenCount: 4, CandidatesTokenCount: 2, ThoughtsTokenCount: 5, TotalTokenCount: 17}},
		"reasoning beside the completion": {`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":5}}`,
			&genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 2, ThoughtsTokenCount: 5, TotalTokenCount: 17}},
		"no total": {`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null}`,
			&genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 2, TotalTokenCount: 12}},
		"nonsense": {`{"prompt_tokens":10,"completion_tokens":99999999999,"total_tokens":-1}`, &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			whole := fmt.Sprintf(
				`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":%s}`,
				c.usage)
			_, r, err := ask(t, serve(t, sends(whole)).model(t), hello(false))
			require.NoError(t, err)
			require.Equal(t, c.want, r.UsageMetadata)
			last := fmt.Sprintf(`{"choices":[],"usage":%s}`, c.usage)
			_, r, err = ask(
				t,
				serve(t,
					streams(delta(`{"content":"a"}`), finish("stop"), last, "[DONE]")).model(t),
				hello(true),
			)
			require.NoError(t, err)
			require.Equal(t, c.want, r.UsageMetadata)
		})
	}
}

// An answer is the same whole or streamed, wherever the stream is cut.
func TestStreamedIsWhole(t *testing.T) {
	var kind, body string
	m := serve(t,
		func(w http.ResponseWriter, r *http.Request) { sendsAs(kind, body)(w, r) }).model(t)
	rapid.Check(t, func(rt *rapid.T) {
		thought, said := rapid.String().Draw(rt, "thought"), rapid.String().Draw(rt, "said")
		reason := rapid.SampledFrom([]string{"stop", "tool_calls", "length", "content_filter"}).
			Draw(rt, "reason")
		var whole []any
		var events []string
		event := func(delta any) {
			events = append(events, inJSON(t, map[string]any{
				"choices": []any{
					map[string]any{"delta": delta, "index": 0, "finish_reason": nil},
				},
			}))
		}
		for _, f := range []struct{ name, text string }{{"reasoning_content", thought}, {"content", said}} {
			for _, piece := range pieces(rt, f.text) {
				event(map[string]any{f.name: piece})
			}
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "calls") {
			args := inJSON(
				t,
				rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32).AsAny(), rapid.String().AsAny())).
					Draw(rt, "args"),
			)
			id, name := fmt.Sprint("id", i), rapid.SampledFrom([]string{"f", "g"}).Draw(rt, "name")
			whole = append(whole, map[string]any{
				"id":       id,
				"type":     "function",
				"function": map[string]any{"name": name, "arguments": args},
			})
			event(map[string]any{
				"tool_calls": []any{
					map[string]any{
						"index":    i,
						"id":       id,
						"function": map[string]any{"name": name, "arguments": ""},
					},
				},
			})
			for _, piece := range pieces(rt, args) {
				event(map[string]any{
					"tool_calls": []any{
						map[string]any{
							"index":    i,
							"function": map[string]any{"arguments": piece},
						},
					},
				})
			}
		}
		events = append(events, finish(reason), "[DONE]")
		kind, body = "application/json", inJSON(t, map[string]any{
			"model": "tiny-1",
			"choices": []any{map[string]any{"index": 0, "finish_reason": reason,
				"message": map[string]any{
					"role":              "assistant",
					"content":           said,
					"reasoning_content": thought,
					"tool_calls":        whole,
				}}},
		})
		_, want, wantErr := ask(t, m, hello(false))
		kind, body = "text/event-stream", "data: "+strings.Join(events, "\n\ndata: ")+"\n\n"
		partial, got, err := ask(t, m, hello(true))
		require.Equal(t, wantErr == nil, err == nil)
		require.Equal(t, want, got)
		if got != nil {
			require.Equal(t, texts(got), texts(partial...), "all text comes in parts")
		}
	})
}

func pieces(rt *rapid.T, s string) (list []string) {
	runes := []rune(s)
	for len(runes) > 0 {
		n := rapid.IntRange(1, len(runes)).Draw(rt, "piece")
		list, runes = append(list, string(runes[:n])), runes[n:]
	}
	return list
}

// A caller that wants no more gets no more, and the connection ends.
func TestCallerLeaves(t *testing.T) {
	gone := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+delta(`{"content":"hello"}`)+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for r, err := range srv.model(t).Generate(t.Context(), hello(true)) {
		require.NoError(t, err)
		require.True(t, r.Partial)
		break
	}
	<-gone
}
