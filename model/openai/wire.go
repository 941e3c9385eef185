package openai

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"google.golang.org/genai"
)

// completion is a whole answer, or a chunk of a stream, with the fields of OpenAI's and of other
// servers. The client library has a type for each of the two; this one has what both have.
type completion struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      said   `json:"message"` // of a whole answer
	Delta        said   `json:"delta"`   // of a chunk
	FinishReason string `json:"finish_reason"`
}

type said struct {
	Content          text       `json:"content"`
	Reasoning        string     `json:"reasoning"`         // as Ollama and vLLM name it
	ReasoningContent string     `json:"reasoning_content"` // as llama.cpp names it
	Refusal          string     `json:"refusal"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// text is a string, null, or a list of parts that are texts.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(t)) // null leaves it empty
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var all strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return errors.New("its content has a part that is not text")
		}
		all.WriteString(p.Text)
	}
	*t = text(all.String())
	return nil
}

// arguments is JSON, or a fragment of it: in a string, as it should be, or as it is.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || string(data) == "null" {
		return json.Unmarshal(data, (*string)(a))
	}
	*a = arguments(data)
	return nil
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	OfPrompt   struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OfCompletion struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// metadata counts tokens as Google does: those of thoughts are not part of those of the candidates.
// The total shows whether the server has counted the reasoning as a part of the completion, as most
// servers do.
func (u *usage) metadata() *genai.GenerateContentResponseUsageMetadata {
	if u == nil {
		return nil
	}
	total := u.Total
	if total == 0 {
		total = u.Prompt + u.Completion
	}
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:        clamp(u.Prompt),
		CachedContentTokenCount: clamp(u.OfPrompt.Cached),
		CandidatesTokenCount:    clamp(total - u.Prompt - u.OfCompletion.Reasoning),
		ThoughtsTokenCount:      clamp(u.OfCompletion.Reasoning),
		TotalTokenCount:         clamp(total),
	}
}

func clamp(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
