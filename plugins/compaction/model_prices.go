package compaction

import (
	"cmp"
	"fmt"
	"math"

	"google.golang.org/genai"
)

// Prices are what a model costs per million tokens, in any currency. The zero Prices are unknown: the cost is 0.
type Prices struct {
	Input  float64 `yaml:"input" json:"input,omitempty" jsonschema:"price of a million tokens that the model is sent"`
	Cached float64 `yaml:"cached" json:"cached,omitempty" jsonschema:"price of a million of those that the provider had cached; that of input if it is not set"`
	Output float64 `yaml:"output" json:"output,omitempty" jsonschema:"price of a million tokens that the model answers or thinks"`
}

func (p Prices) check() error {
	for name, n := range map[string]float64{"input": p.Input, "cached": p.Cached, "output": p.Output} {
		if !(n >= 0 && n < math.Inf(1)) { // nor not a number
			return fmt.Errorf("compaction: the price of %s is %v: it is per million tokens, 0 if it is not known", name, n)
		}
	}
	return nil
}

// Cost returns what a usage costs, in the prices' currency.
func (p Prices) Cost(u *genai.GenerateContentResponseUsageMetadata) float64 {
	if u == nil {
		return 0
	}
	input, output := tokens(u.PromptTokenCount)+tokens(u.ToolUsePromptTokenCount), tokens(u.CandidatesTokenCount)+tokens(u.ThoughtsTokenCount)
	cached := min(tokens(u.CachedContentTokenCount), input)
	return ((input-cached)*p.Input + cached*cmp.Or(p.Cached, p.Input) + output*p.Output) / 1e6
}

// tokens are never fewer than none, whatever a server says.
func tokens(n int32) float64 { return float64(max(0, n)) }
