package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/prices"
)

// TestOnlyAFinishedAnswerCounts: everything else is an error, with a code and without content.
func TestOnlyAFinishedAnswerCounts(t *testing.T) {
	said := [][]geminitest.Part{{geminitest.Text("SECRET half")}}
	for _, c := range []struct {
		name    string
		answers []geminitest.Answer
		says    string
	}{
		{"cut off", []geminitest.Answer{geminitest.Reply{Chunks: said, FinishReason: "MAX_TOKENS"}}, "MAX_TOKENS"},
		{"unsafe", []geminitest.Answer{geminitest.Reply{Chunks: said, FinishReason: "SAFETY", FinishMessage: "SECRET"}}, "SAFETY"},
		{"unknown reason", []geminitest.Answer{geminitest.Reply{Chunks: said, FinishReason: "OTHER"}}, "OTHER"},
		{"blocked", []geminitest.Answer{geminitest.Blocked("PROHIBITED_CONTENT")}, "PROHIBITED_CONTENT"},
		{"no reason", []geminitest.Answer{geminitest.Reply{Chunks: said, Unfinished: true}}, "UNFINISHED"},
		{"no candidate", []geminitest.Answer{geminitest.Reply{}}, "NO_ANSWER"},
		{"empty", []geminitest.Answer{geminitest.Parts()}, "NO_ANSWER"},
		{"space", []geminitest.Answer{geminitest.Text(" \n ")}, "without text"},
		{"thoughts", []geminitest.Answer{geminitest.Thought("SECRET")}, "NO_ANSWER"},
		{"call", []geminitest.Answer{geminitest.Parts(geminitest.Text("SECRET"), geminitest.Call("pay", nil))}, "a call or a file"},
		{"quota", []geminitest.Answer{geminitest.Status(429, "SECRET"), geminitest.Status(429, "SECRET")}, "RESOURCE_EXHAUSTED (HTTP status 429)"},
		{"broken", []geminitest.Answer{geminitest.Status(500, "SECRET"), geminitest.Status(500, "SECRET")}, "INTERNAL (HTTP status 500)"},
		{"refused", []geminitest.Answer{geminitest.Status(400, "SECRET")}, "INVALID_ARGUMENT (HTTP status 400)"},
		{"not JSON", []geminitest.Answer{geminitest.Raw(`{"candidates": [SECRET`)}, "MODEL_ERROR"},
		{"other JSON", []geminitest.Answer{geminitest.Raw(`{"candidates": "SECRET"}`)}, "MODEL_ERROR"},
		{"connection lost", []geminitest.Answer{geminitest.Reply{Chunks: said, Cut: true}}, "UNFINISHED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, srv := served(t, c.answers...)
			s, err := (&compaction.Model{Model: m}).Summarize(t.Context(),
				&compaction.Request{Events: conversation(2, 5), Budget: 20, Count: counted})
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "SECRET")
			require.NotContains(t, err.Error(), "message-1")
			require.Empty(t, s.Text)
			require.Zero(t, srv.Left())
		})
	}
}

func TestATransientFailureIsTriedAgain(t *testing.T) {
	m, _ := served(t, geminitest.Status(503, "later"), geminitest.Text("Fine."))
	s, err := (&compaction.Model{Model: m}).Summarize(t.Context(),
		&compaction.Request{Events: conversation(2, 5), Budget: 20, Count: counted})
	require.NoError(t, err)
	require.Equal(t, "Fine.", s.Text)
}

func TestAModelThatHangsEndsWithTheContext(t *testing.T) {
	asked := make(chan struct{})
	m, _ := served(
		t,
		geminitest.Text("Summary one."),
		geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			close(asked)
			<-r.Context.Done()
			return geminitest.Text("too late")
		}),
	)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() { <-asked; cancel(enough) }()
	s, err := (&compaction.Model{Model: m, MaxInput: 700, Price: prices.Price{Rates: prices.Rates{Input: 1}}}).Summarize(
		ctx, &compaction.Request{Events: conversation(40, 20), Budget: 60, Count: counted})
	require.ErrorIs(t, err, enough)
	require.Positive(t, s.Cost, "of the request that was answered")
}

// TestBehindAnOpenAICompatibleServer: the Summarizer is one for any model.
func TestBehindAnOpenAICompatibleServer(t *testing.T) {
	for _, c := range []struct {
		name, answer, text, says string
		status                   int
	}{
		{"answer", `{"message": {"role": "assistant", "content": "A summary.", "reasoning_content": "hm"}, "finish_reason": "stop"}`, "A summary.", "", 200},
		{"cut off", `{"message": {"role": "assistant", "content": "SECRET half"}, "finish_reason": "length"}`, "", "MAX_TOKENS", 200},
		{"filtered", `{"message": {"role": "assistant", "content": "SECRET"}, "finish_reason": "content_filter"}`, "", "SAFETY", 200},
		{"refused", `{"message": {"role": "assistant", "refusal": "SECRET"}, "finish_reason": "stop"}`, "", "SAFETY", 200},
		{"call", `{"message": {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}`, "", "a call or a file", 200},
		{"too large", `{}`, "", "HTTP status 400", 400},
		{"quota", `{}`, "", "HTTP status 429", 429},
		{"not JSON", `SECRET`, "", "the model failed", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked string
			srv := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					asked = string(body)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					_, _ = fmt.Fprintf(
						w,
						`{"model": "tiny-1", "choices": [%s], "usage": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 500}}}`,
						c.answer,
					)
				}),
			)
			t.Cleanup(srv.Close)
			m, err := openai.New(openai.Config{
				Model:      "tiny",
				BaseURL:    srv.URL,
				APIKey:     "sk-CANARY",
				Attempts:   1,
				HTTPClient: srv.Client(),
			})
			require.NoError(t, err)
			s, err := (&compaction.Model{Model: m, Price: prices.Price{Rates: prices.Rates{Input: 1, Cached: 0.1, Output: 4}}}).Summarize(
				t.Context(),
				&compaction.Request{Events: conversation(2, 5), Budget: 20, Count: counted})
			require.Contains(t, asked, "#2 user: message-2.")
			require.Equal(t, c.text, s.Text)
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				require.NotContains(t, err.Error(), "SECRET")
				return
			}
			require.NoError(t, err)
			require.Equal(t, "tiny-1", s.Model)
			require.InDelta(t, (400*1+500*0.1+100*4)/1e6, s.Cost, 1e-12)
		})
	}
}

// odd is a model that does not keep its contract.
type odd func(yield func(*model.Response, error) bool)

func (o odd) Generate(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return iter.Seq2[*model.Response, error](o)
}

func TestAnOddModel(t *testing.T) {
	for _, c := range []struct {
		name string
		m    odd
		says string
	}{
		{"says nothing", func(func(*model.Response, error) bool) {}, "NO_ANSWER"},
		{"says nil", func(yield func(*model.Response, error) bool) { yield(nil, nil) }, "NO_ANSWER"},
		{"only parts", func(yield func(*model.Response, error) bool) {
			r := said("SECRET")
			r.Partial = true
			yield(r, nil)
		}, "NO_ANSWER"},
		{"no finish reason", func(yield func(*model.Response, error) bool) {
			yield(&model.Response{Content: genai.NewContentFromText("SECRET", genai.RoleModel)}, nil)
		}, "no reason was given"},
		{"a code that is none", func(yield func(*model.Response, error) bool) {
			yield(&model.Response{ErrorCode: "SECRET is what they said"}, nil)
		}, "a reason that is not a code"},
		{"an error of its own", func(yield func(*model.Response, error) bool) { yield(nil, errors.New("SECRET")) }, model.Failed},
		{"a long error", func(yield func(*model.Response, error) bool) {
			yield(nil, &model.Error{Code: "X", Err: errors.New("SECRET")})
		}, "the model failed: X"},
		{"a file", func(yield func(*model.Response, error) bool) {
			yield(&model.Response{FinishReason: genai.FinishReasonStop, Content: &genai.Content{Parts: []*genai.Part{nil, {InlineData: &genai.Blob{}}}}}, nil)
		}, "a call or a file"},
		{"no content", func(yield func(*model.Response, error) bool) {
			yield(&model.Response{FinishReason: genai.FinishReasonStop}, nil)
		}, "without text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := (&compaction.Model{Model: c.m}).Summarize(t.Context(),
				&compaction.Request{Events: conversation(2, 5), Budget: 20, Count: counted})
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "SECRET")
		})
	}
}
