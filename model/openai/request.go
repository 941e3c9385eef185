package openai

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// params translates a request.
func (m *chat) params(req *model.Request) (*sdk.ChatCompletionNewParams, error) {
	p := &sdk.ChatCompletionNewParams{Model: cmp.Or(req.Model, m.name)}
	more := map[string]any{}
	if req.Stream {
		more["stream"] = true
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	var b conversation
	if c := req.Config; c != nil {
		if err := supported("the configuration", *c, "SystemInstruction", "Temperature", "TopP", "TopK",
			"CandidateCount", "MaxOutputTokens", "StopSequences",
			"PresencePenalty", "FrequencyPenalty", "Seed", "ResponseMIMEType", "ResponseSchema",
			"ResponseJsonSchema", "ResponseModalities", "Tools", "ToolConfig",
			"ThinkingConfig", "MediaResolution", "Labels", "ServiceTier",
			"AutomaticContinuation"); err != nil {
			return nil, err
		}
		if err := errors.Join(b.system(c.SystemInstruction), m.sampling(p, c, more), format(p, c),
			functions(p, c)); err != nil {
			return nil, err
		}
	}
	for _, c := range req.Contents {
		if err := b.add(c); err != nil {
			return nil, err
		}
	}
	b.endUser()
	if len(b.messages) == 0 {
		return nil, errors.New("the request has no contents, so there is nothing to answer")
	}
	p.Messages = b.messages
	if len(more) > 0 {
		p.SetExtraFields(more)
	}
	return p, nil
}

// sampling translates the parameters that are numbers, and the stop sequences.
func (m *chat) sampling(p *sdk.ChatCompletionNewParams, c *genai.GenerateContentConfig,
	more map[string]any) error {
	for _, f := range []struct {
		name string
		from *float32
		to   *param.Opt[float64]
	}{
		{name: "temperature", from: c.Temperature, to: &p.Temperature},
		{name: "topP", from: c.TopP, to: &p.TopP},
		{name: "presencePenalty", from: c.PresencePenalty, to: &p.PresencePenalty},
		{name: "frequencyPenalty", from: c.FrequencyPenalty, to: &p.FrequencyPenalty},
	} {
		if f.from == nil {
			continue
		}
		v := exact(*f.from)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v, which is no number to send", f.name, v)
		}
		*f.to = param.NewOpt(v)
	}
	if c.TopK != nil {
		if *c.TopK != float32(int32(*c.TopK)) {
			return fmt.Errorf("topK is %v; it must be a whole number", *c.TopK)
		}
		more["top_k"] = int32(*c.TopK)
	}
	if c.MaxOutputTokens != 0 {
		limit := &p.MaxTokens // which OpenAI's newer models refuse, and Ollama needs
		if m.ours {
			limit = &p.MaxCompletionTokens
		}
		*limit = param.NewOpt(int64(c.MaxOutputTokens))
	}
	if c.Seed != nil {
		p.Seed = param.NewOpt(int64(*c.Seed))
	}
	if len(c.StopSequences) > 0 {
		p.Stop.OfStringArray = c.StopSequences
	}
	if c.CandidateCount > 1 {
		return fmt.Errorf("candidateCount is %d; only one answer is taken", c.CandidateCount)
	}
	for _, m := range c.ResponseModalities {
		if !strings.EqualFold(m, "TEXT") {
			return fmt.Errorf("the response modality %s is not supported; only TEXT is", m)
		}
	}
	return nil
}

// exact returns the float64 that is written as f is: 0.7 and not 0.699999988.
func exact(f float32) float64 {
	// of what was just formatted
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	return v
}

// format translates what form the answer has.
func format(p *sdk.ChatCompletionNewParams, c *genai.GenerateContentConfig) error {
	schema, err := schemaOf(c.ResponseJsonSchema, c.ResponseSchema)
	if err != nil {
		return fmt.Errorf("the response's schema: %w", err)
	}
	switch {
	case c.ResponseMIMEType != "" && c.ResponseMIMEType != "text/plain" &&
		c.ResponseMIMEType != "application/json",
		c.ResponseMIMEType == "text/plain" && schema != nil:
		return fmt.Errorf("responseMimeType is %q; it can be application/json, or text/plain without a schema", c.ResponseMIMEType)
	case schema != nil:
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "response", Schema: schema}}
	case c.ResponseMIMEType == "application/json":
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return nil
}

// supported returns an error that names the fields of a struct that are set and not among those
// known.
func supported(what string, v any, known ...string) error {
	var names []string
	for f, value := range reflect.ValueOf(v).Fields() {
		if !slices.Contains(known, f.Name) && !value.IsZero() &&
			(value.Kind() != reflect.Slice || value.Len() > 0) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%s has %s, which a chat completions endpoint does not know", what,
			strings.Join(names, ", "))
	}
	return nil
}
