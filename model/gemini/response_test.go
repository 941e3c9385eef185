package gemini_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
)

func TestAnswers(t *testing.T) {
	part := func(p *genai.Part) []*genai.Part { return []*genai.Part{p} }
	for name, c := range map[string]struct {
		answer geminitest.Answer
		parts  []*genai.Part
		code   string
		says   string // the error message has it
	}{
		"text":        {geminitest.Text("hello"), part(&genai.Part{Text: "hello"}), "", ""},
		"chunks":      {geminitest.Stream(geminitest.Text("hel"), geminitest.Text("lo"), geminitest.Text("")), part(&genai.Part{Text: "hello"}), "", ""},
		"with pings":  {geminitest.Reply{Chunks: [][]geminitest.Part{{geminitest.Text("hel")}, {geminitest.Text("lo")}}, Ping: true}, part(&genai.Part{Text: "hello"}), "", ""},
		"a call":      {geminitest.Call("f", map[string]any{"a": 1}).ID("x"), part(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "x", Name: "f", Args: map[string]any{"a": 1.0}}}), "", ""},
		"a bare call": {geminitest.Part{"functionCall": map[string]any{"name": "f"}}, part(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}}), "", ""},
		"a thought, a text and a call": {geminitest.Stream(geminitest.Thought("hm"), geminitest.Text("I look"), geminitest.Call("f", map[string]any{"b": true})),
			[]*genai.Part{{Text: "hm", Thought: true}, {Text: "I look"}, {FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"b": true}}}}, "", ""},
		"cut short":             {geminitest.Reply{Chunks: [][]geminitest.Part{{geminitest.Text("a lot")}}, FinishReason: "MAX_TOKENS"}, part(&genai.Part{Text: "a lot"}), "MAX_TOKENS", "raise maxOutputTokens"},
		"filtered":              {geminitest.Reply{Chunks: [][]geminitest.Part{{}}, FinishReason: "SAFETY", FinishMessage: "rude"}, nil, "SAFETY", "safety filter; change what is asked, or the safety settings (rude)"},
		"a call that is none":   {geminitest.Reply{Chunks: [][]geminitest.Part{{}}, FinishReason: "MALFORMED_FUNCTION_CALL"}, nil, "MALFORMED_FUNCTION_CALL", "ask again"},
		"no reason that exists": {geminitest.Reply{Chunks: [][]geminitest.Part{{}}, FinishReason: "BAD_MOOD"}, nil, "BAD_MOOD", "stopped for this reason"},
		"a blocked prompt":      {geminitest.Blocked("PROHIBITED_CONTENT"), nil, "PROHIBITED_CONTENT", "the prompt was blocked"},
		"thoughts only":         {geminitest.Thought("hm"), part(&genai.Part{Text: "hm", Thought: true}), model.NoAnswer, "said nothing"},
		"a signature only":      {geminitest.Text("").Signed([]byte("s")), part(&genai.Part{ThoughtSignature: []byte("s")}), model.NoAnswer, "said nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, stream bool) {
				m, _ := start(t, c.answer)
				partials, whole, err := ask(t, t.Context(), m, request(stream))
				require.NoError(t, err)
				var content *genai.Content
				if c.parts != nil {
					content = &genai.Content{Role: genai.RoleModel, Parts: c.parts}
				}
				require.Equal(t, content, whole.Content)
				require.Equal(t, c.code, whole.ErrorCode)
				require.Contains(t, whole.ErrorMessage, c.says)
				require.Equal(t, c.code == "", whole.ErrorMessage == "")
				require.Equal(t, "m", whole.ModelVersion)
				require.Positive(t, whole.UsageMetadata.PromptTokenCount)
				var said string
				for _, p := range partials {
					require.NotEmpty(t, p.Content.Parts, "a partial response that says nothing")
					said += text(p)
				}
				if stream {
					require.Equal(t, text(whole), said)
				}
			})
		})
	}
}

func TestMetadata(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		m, _ := start(t, geminitest.Reply{
			Chunks: [][]geminitest.Part{{geminitest.Text("a")}, {geminitest.Text("b")}},
			Usage:  &geminitest.Usage{Prompt: 10, Cached: 4, Candidates: 2, Thoughts: 3},
			Candidate: map[string]any{
				"groundingMetadata": map[string]any{"webSearchQueries": []string{"q"}},
				"citationMetadata": map[string]any{
					"citationSources": []any{map[string]any{"uri": "u"}},
				},
			},
		})
		_, whole, err := ask(t, t.Context(), m, request(stream))
		require.NoError(t, err)
		require.Equal(t, genai.FinishReasonStop, whole.FinishReason)
		require.Equal(t, []string{"q"}, whole.GroundingMetadata.WebSearchQueries)
		require.Len(t, whole.CitationMetadata.Citations, 1)
		u := whole.UsageMetadata
		require.Equal(t, []int32{10, 4, 2, 3, 15}, []int32{
			u.PromptTokenCount,
			u.CachedContentTokenCount,
			u.CandidatesTokenCount,
			u.ThoughtsTokenCount,
			u.TotalTokenCount,
		})
	})
}

func TestFailures(t *testing.T) {
	half := [][]geminitest.Part{{geminitest.Text("half")}}
	for name, c := range map[string]struct {
		answer geminitest.Answer
		code   string
		status int
		says   string
		once   bool // it is not asked again
	}{
		"quota":                       {geminitest.Status(429, "quota"), "RESOURCE_EXHAUSTED", 429, "quota", false},
		"overloaded":                  {geminitest.Status(503, "overloaded"), "UNAVAILABLE", 503, "overloaded", false},
		"broken":                      {geminitest.Status(500, "oh"), "INTERNAL", 500, "oh", false},
		"a bad request":               {geminitest.Status(400, "no"), "INVALID_ARGUMENT", 400, "no", true},
		"a bad key":                   {geminitest.Status(403, "key "+canary+" is not allowed"), "PERMISSION_DENIED", 403, "key [key] is not allowed", true},
		"no such model":               {geminitest.Status(404, "no m"), "NOT_FOUND", 404, "no m", true},
		"not there":                   {geminitest.Status(501, "not yet"), "UNIMPLEMENTED", 501, "not yet", true},
		"a code of the server's":      {geminitest.Reply{Error: &geminitest.Error{Code: 400, Status: "FAILED_PRECONDITION", Message: "pay"}}, "FAILED_PRECONDITION", 400, "pay", true},
		"no candidate":                {geminitest.Reply{}, model.NoAnswer, 0, "no candidate", true},
		"nothing said":                {geminitest.Parts(), model.NoAnswer, 0, "said nothing", true},
		"an empty text":               {geminitest.Text(""), model.NoAnswer, 0, "said nothing", true},
		"no reason to finish":         {geminitest.Reply{Chunks: half, Unfinished: true}, model.Unfinished, 0, "before the model gave a reason", true},
		"a broken connection":         {geminitest.Reply{Chunks: half, Cut: true}, model.Unfinished, 200, "EOF", true},
		"half of a frame":             {geminitest.Reply{Raw: `data: {"candidates":[{"content":{"parts":[{"text":"ha`, Cut: true}, model.Unfinished, 200, "EOF", true},
		"a page":                      {geminitest.Raw("<html>secret</html>"), model.Failed, 200, "not one of the Gemini API", true},
		"a page of a long line":       {geminitest.Raw("data: <html>" + strings.Repeat("secret", 1000)), model.Failed, 200, "it is not JSON", true},
		"JSON of another shape":       {geminitest.Raw(`data: {"candidates":"secret"}`), model.Failed, 200, "not one of the Gemini API", true},
		"JSON of another shape again": {geminitest.Raw(`data: {"candidates":[{"content":{"parts":[{"text":5}]}}]}`), model.Failed, 200, "not of the API's shape: Alias.candidates.content.parts.text", true},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, stream bool) {
				answer := c.answer
				if r, ok := answer.(geminitest.Reply); ok && !stream {
					r.Raw = strings.TrimPrefix(r.Raw, "data: ")
					answer = r
				}
				m, srv := start(t, geminitest.Forever(answer))
				e := fails(t, m, request(stream), c.code)
				require.Equal(t, c.status, e.Status)
				require.ErrorContains(t, e, c.says)
				require.NotContains(t, e.Error(), "secret", "the answer is not quoted")
				require.Equal(t, c.once, len(srv.Requests()) == 1)
			})
		})
	}
}

// What is not JSON and no error of the API is told in short.
func TestAPageWithAStatus(t *testing.T) {
	m, _ := start(t,
		geminitest.Reply{Error: &geminitest.Error{Code: 400, Message: strings.Repeat("é", 1000)}})
	e := fails(t, m, request(false), "INVALID_ARGUMENT")
	require.Less(t, len(e.Error()), 700)
	require.True(t, strings.HasSuffix(e.Error(), "é…"))
}

// An answer that was whole before the connection broke is an answer.
func TestABreakAfterTheFinishReason(t *testing.T) {
	m, _ := start(t, geminitest.Reply{
		Cut: true,
		Raw: `data: {"candidates":[{"content":{"parts":[{"text":"done"}]},"finishReason":"STOP"}]}` + "\n\n",
	})
	_, whole, err := ask(t, t.Context(), m, request(true))
	require.NoError(t, err)
	require.Equal(t, "done", text(whole))
}

func TestOtherCandidatesAreNotTheAnswer(t *testing.T) {
	m, _ := start(t, geminitest.Raw(
		`{"candidates":[{"index":1,"content":{"parts":[{"text":"second"}]}},{"index":0,"content":{"parts":[{"text":"first"}]},"finishReason":"STOP"}]}`,
	))
	_, whole, err := ask(t, t.Context(), m, request(false))
	require.NoError(t, err)
	require.Equal(t, "first", text(whole))
}
