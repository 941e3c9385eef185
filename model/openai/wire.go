package openai

// The JSON of the endpoint, as its reference documents it
// (https://platform.openai.com/docs/api-reference/chat/create), with the fields that other servers add.

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"google.golang.org/genai"
)

// chatRequest is the body of a request. A field that is nil or empty is not sent.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Stream              bool            `json:"stream,omitzero"`
	StreamOptions       *streamOptions  `json:"stream_options,omitzero"`
	Temperature         *float64        `json:"temperature,omitzero"`
	TopP                *float64        `json:"top_p,omitzero"`
	TopK                *int32          `json:"top_k,omitzero"` // of local servers
	PresencePenalty     *float64        `json:"presence_penalty,omitzero"`
	FrequencyPenalty    *float64        `json:"frequency_penalty,omitzero"`
	MaxTokens           int32           `json:"max_tokens,omitzero"`            // OpenAI's newer models refuse it, Ollama needs it
	MaxCompletionTokens int32           `json:"max_completion_tokens,omitzero"` // its successor
	Seed                *int32          `json:"seed,omitzero"`
	Stop                []string        `json:"stop,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitzero"`
	Tools               []functionTool  `json:"tools,omitempty"`
	ToolChoice          string          `json:"tool_choice,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one message of a request. Content is a string, a []contentPart, or nil, which is sent as null: some
// servers miss it if it is left out.
type message struct {
	Role       string         `json:"role"`
	Content    any            `json:"content"`
	ToolCalls  []sentToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitzero"`
}

// contentPart is a text or an image of a user's message.
type contentPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type sentToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonFormat `json:"json_schema,omitzero"`
}

type jsonFormat struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// functionTool declares a function. Parameters is written as it is: a map would lose the order of the properties.
type functionTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitzero"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// completion is a whole answer, or a chunk of a stream.
type completion struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      reply  `json:"message"` // of a whole answer
	Delta        reply  `json:"delta"`   // of a chunk
	FinishReason string `json:"finish_reason"`
}

// reply is what the model says and calls, or a part of that.
type reply struct {
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
