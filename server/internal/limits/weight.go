package limits

import (
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Weight returns about how many bytes an event has as JSON, with what its structure costs in memory: an event of
// nothing but brackets is heavier than its JSON.
func Weight(e *session.Event) int64 {
	n := 512 + weightOf(e.Content)
	if c := e.Actions.Compaction; c != nil {
		n += weightOf(c.Content)
	}
	for _, object := range []map[string]any{e.Actions.StateDelta, e.CustomMetadata} {
		if len(object) > 0 {
			n += WeightOfValue(object)
		}
	}
	if e.Output != nil {
		n += WeightOfValue(e.Output)
	}
	return n
}

func weightOf(c *genai.Content) (n int64) {
	if c == nil {
		return 0
	}
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		n += 256 + int64(len(p.Text)+len(p.ThoughtSignature))
		if p.InlineData != nil {
			n += int64(len(p.InlineData.Data)) * 4 / 3
		}
		if p.FunctionCall != nil && len(p.FunctionCall.Args) > 0 {
			n += WeightOfValue(p.FunctionCall.Args)
		}
		if p.FunctionResponse != nil && len(p.FunctionResponse.Response) > 0 {
			n += WeightOfValue(p.FunctionResponse.Response)
		}
	}
	return n
}

// WeightOfValue is Weight of a value as JSON has it.
func WeightOfValue(v any) int64 {
	switch v := v.(type) {
	case string:
		return 8 + int64(len(v))
	case []any:
		n := int64(8)
		for _, element := range v {
			n += WeightOfValue(element)
		}
		return n
	case map[string]any:
		n := int64(16)
		for key, value := range v {
			n += 8 + int64(len(key)) + WeightOfValue(value)
		}
		return n
	}
	return 8
}
