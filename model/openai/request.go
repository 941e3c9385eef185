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

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// params translates a request.
func (m *chat) params(req *model.Request) (*chatRequest, error) {
	p := &chatRequest{Model: cmp.Or(req.Model, m.name)}
	if req.Stream {
		p.Stream = true
		p.StreamOptions = &streamOptions{IncludeUsage: true}
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
		if err := errors.Join(b.system(c.SystemInstruction), m.sampling(p, c), format(p, c),
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
	return p, nil
}

// sampling translates the parameters that are numbers, and the stop sequences.
func (m *chat) sampling(p *chatRequest, c *genai.GenerateContentConfig) error {
	for _, f := range []struct {
		name string
		from *float32
		to   **float64
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
		*f.to = &v
	}
	if c.TopK != nil {
		if *c.TopK != float32(int32(*c.TopK)) {
			return fmt.Errorf("topK is %v; it must be a whole number", *c.TopK)
		}
		k := int32(*c.TopK)
		p.TopK = &k
	}
	if c.MaxOutputTokens != 0 {
		if m.ours {
			p.MaxCompletionTokens = c.MaxOutputTokens
		} else {
			p.MaxTokens = c.MaxOutputTokens
		}
	}
	p.Seed = c.Seed
	p.Stop = c.StopSequences
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
func format(p *chatRequest, c *genai.GenerateContentConfig) error {
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
		p.ResponseFormat = &responseFormat{
			Type:       "json_schema",
			JSONSchema: &jsonFormat{Name: "response", Schema: schema},
		}
	case c.ResponseMIMEType == "application/json":
		p.ResponseFormat = &responseFormat{Type: "json_object"}
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
