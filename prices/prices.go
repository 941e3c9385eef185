// Package prices says what models cost. It has one table, the file prices.yaml, whose prices have a date and a
// source. A user's own table takes precedence over it, model by model.
//
// A model is found by the name that its provider reports, to the letter. What a model costs that is not in the table
// is not known, and nothing here guesses it.
//
// A new model, or a new price: change prices.yaml. A new kind of rate: add it to Rates, Price.Check and Price.Cost.
package prices

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/yamlfile"
)

// A Price is what a model costs per million tokens.
type Price struct {
	Rates `yaml:",inline"`
	// Long has other rates for requests with long prompts.
	Long Long `yaml:"long" json:"long,omitzero" jsonschema:"what requests with a long prompt cost, if that is another price"`
}

// Rates are prices of a million tokens each.
type Rates struct {
	Input  float64 `yaml:"input" json:"input,omitempty" jsonschema:"price of a million tokens of prompts"`
	Cached float64 `yaml:"cached" json:"cached,omitempty" jsonschema:"price of a million tokens of prompts that the provider had cached; that of input if not set"`
	Output float64 `yaml:"output" json:"output,omitempty" jsonschema:"price of a million tokens of answers and thoughts"`
}

// Long are the Rates of requests whose prompt has more than Above tokens. They are for all of the request's tokens. If
// Above is 0, there are none.
type Long struct {
	Above int `yaml:"above" json:"above,omitempty" jsonschema:"tokens of a prompt above which these prices are those of the whole request"`
	Rates `yaml:",inline"`
}

// A Table has the prices of models, by the names that their providers report.
type Table struct {
	// Currency is that of all prices, USD if it is empty.
	Currency string `yaml:"currency" json:"currency,omitempty" jsonschema:"currency of all prices, USD if not set; in another one, the prices that Plughook knows are not used"`
	// Date says when the prices held, and Source where they are from. Either may be empty.
	Date   string           `yaml:"date" json:"date,omitempty" jsonschema:"day on which the prices held, for people"`
	Source string           `yaml:"source" json:"source,omitempty" jsonschema:"where the prices are from, for people"`
	Models map[string]Price `yaml:"models" json:"models,omitempty" jsonschema:"prices per million tokens, by the name of the model as its provider reports it"`
}

// usd is the currency of a table that names none.
const usd = "USD"

//go:embed prices.yaml
var builtIn []byte

// Default returns the table of this package. It is shared: do not change it.
var Default = sync.OnceValue(func() *Table {
	t, err := Parse("prices.yaml", builtIn)
	if err != nil {
		panic(err) // a test reads the file
	}
	return t
})

// Parse reads a table: YAML with the keys of Table and Price. Errors name file, line and column.
func Parse(name string, data []byte) (*Table, error) {
	t := &Table{}
	file, err := yamlfile.Read(name, data, t)
	if err != nil {
		return nil, err
	}
	var errs []error
	t.Check(func(model string, err error) {
		errs = append(errs, file.Errorf("models."+model, "%w", err))
	})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	t.Currency = cmp.Or(t.Currency, usd)
	return t, nil
}

// Check tells bad of each model whose price is invalid.
func (t *Table) Check(bad func(model string, err error)) {
	for _, model := range slices.Sorted(maps.Keys(t.Models)) {
		if err := t.Models[model].Check(); err != nil {
			bad(model, err)
		}
	}
}

// With returns a table with the prices of both tables. Where both tables have a model, the price is that of own. If own
// has another currency, With returns own alone, because prices in two currencies cannot be added. A nil table has no
// prices.
func (t *Table) With(own *Table) *Table {
	switch {
	case own == nil:
		return t
	case t == nil || cmp.Or(own.Currency, usd) != cmp.Or(t.Currency, usd):
		own := *own
		own.Currency = cmp.Or(own.Currency, usd)
		return &own
	}
	both := *t
	both.Models = maps.Clone(t.Models)
	maps.Copy(both.Models, own.Models)
	return &both
}

// Cost returns what a request to a model costs, in the table's currency, and false if the table does not have the model.
func (t *Table) Cost(model string, u *genai.GenerateContentResponseUsageMetadata) (float64, bool) {
	if t == nil {
		return 0, false
	}
	p, ok := t.Models[model]
	return p.Cost(u), ok
}

// Check returns an error if a rate is negative or not a finite number, or if Long has rates and no bound.
func (p Price) Check() error {
	for _, rate := range []struct {
		name string
		is   float64
	}{
		{"input", p.Input},
		{"cached", p.Cached},
		{"output", p.Output},
		{"long.input", p.Long.Input},
		{"long.cached", p.Long.Cached},
		{"long.output", p.Long.Output},
	} {
		valid := rate.is >= 0 && rate.is < math.Inf(1) // false for NaN too
		if !valid {
			return fmt.Errorf("the price of %s is %v; it must be the price of a million tokens, 0 or more", rate.name, rate.is)
		}
	}
	if p.Long.Above < 0 || p.Long.Above == 0 && p.Long.Rates != (Rates{}) {
		return fmt.Errorf("long.above is %d; it must be the number of tokens above which a prompt is long", p.Long.Above)
	}
	return nil
}

// Cost returns what one request costs, from the tokens that its provider reports. It is 0 if u is nil. A negative number
// of tokens counts as 0.
func (p Price) Cost(u *genai.GenerateContentResponseUsageMetadata) float64 {
	if u == nil {
		return 0
	}
	input := reported(u.PromptTokenCount) + reported(u.ToolUsePromptTokenCount)
	cached := min(reported(u.CachedContentTokenCount), input)
	output := reported(u.CandidatesTokenCount) + reported(u.ThoughtsTokenCount)
	rates := p.Rates
	if p.Long.Above > 0 && input > float64(p.Long.Above) {
		rates = p.Long.Rates
	}
	sum := (input-cached)*rates.Input + cached*cmp.Or(rates.Cached, rates.Input) + output*rates.Output
	return sum / 1e6
}

// reported returns a number of tokens that a server reports, which may be wrong, but is not negative.
func reported(n int32) float64 { return float64(max(0, n)) }
