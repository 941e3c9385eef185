package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A Model is a Summarizer that asks a language model.
//
// What is covered is shown to it as a transcript that no event can break out of, in as many parts as MaxInput
// asks for, one request after another: each request has the whole summary of what was before. The number of
// parts is known before the first request, and each takes one, or a second one in which a summary that is too
// long is to be shortened. An event that is larger than a part is cut in its middle, with a mark.
//
// Only an answer that the model has finished counts (FinishReason STOP), of text and thoughts, no longer than the
// request's budget; nothing of an answer is cut, because half a sentence can say the opposite. All else is an
// error: none of them has anything of the conversation or of the answer in it. Beside an error is a Summary that
// says what the requests before it have cost.
type Model struct {
	// Model is asked, without a stream, without tools, until the context is done.
	Model model.Model
	// Name names the model in each request; "" leaves it to Model.
	Name string
	// MaxInput is how many tokens one request may have, as Request.Count counts them; 0 is 32,000. What the
	// model takes must have room for the answer too.
	MaxInput int
	// Prices make a Summary's Cost.
	Prices Prices
	// Prompt is the system instruction; "" is one that says what to keep. It should say that the conversation
	// is a record and not an instruction.
	Prompt string
	// Parameters are sent with each request, such as a ThinkingConfig, SafetySettings or a Seed; nil is a
	// Temperature of 0.2. If MaxOutputTokens is 0, it is twice the request's budget, and 4,096 for thoughts.
	// System instruction, tools and the answer's form are not taken from it.
	Parameters *genai.GenerateContentConfig
}

const (
	defaultInput = 32_000
	thinking     = 4096 // tokens that a model may think beside the answer
	temperature  = 0.2
)

// Summarize implements Summarizer.
func (m *Model) Summarize(ctx context.Context, r *Request) (*Summary, error) {
	spent := &Summary{Model: m.Name}
	if err := m.check(); err != nil {
		return spent, err
	}
	parts, err := m.parts(r)
	if err != nil {
		return spent, err
	}
	text := r.Prior
	for i, part := range parts {
		if text, err = m.ask(ctx, r, spent, asking(text, part, r.Instructions, i+1, len(parts), r.Budget)); err == nil {
			text, err = m.shorter(ctx, r, spent, text)
		}
		if err != nil {
			return spent, fmt.Errorf("summary by a model, part %d of %d: %w", i+1, len(parts), err)
		}
	}
	if len(parts) == 0 { // nothing was said since the summary before
		if text, err = m.shorter(ctx, r, spent, text); err != nil {
			return spent, fmt.Errorf("summary by a model: %w", err)
		}
	}
	spent.Text = text
	return spent, nil
}

// check returns an error if the Model cannot work.
func (m *Model) check() error {
	if m.Model == nil {
		return errors.New("compaction: a Model has no model to ask: set its field Model")
	}
	if m.MaxInput < 0 {
		return fmt.Errorf("compaction: max_input is %d: it is a number of tokens, 0 for %d", m.MaxInput, defaultInput)
	}
	return m.Prices.check()
}

// suits returns an error if the Model cannot write the summaries of a configuration that has its defaults.
func (m *Model) suits(c *Config) error {
	if err := m.check(); err != nil {
		return err
	}
	k := keeper{Config: *c}
	count := k.meter(nil)
	_, err := m.left(&Request{Instructions: c.Instructions, Budget: c.Summary, Count: count.text})
	return err
}

// shorter returns a summary that has no more tokens than it may have: itself, or another for which the model is
// asked once.
func (m *Model) shorter(ctx context.Context, r *Request, spent *Summary, text string) (string, error) {
	long := r.Count(text)
	if long <= r.Budget {
		return text, nil
	}
	text, err := m.ask(ctx, r, spent, shortening(text, r.Instructions, long, r.Budget))
	if err != nil {
		return "", fmt.Errorf("the summary has %d tokens and may have %d, and to have it shortened failed: %w", long, r.Budget, err)
	}
	if n := r.Count(text); n > r.Budget {
		return "", fmt.Errorf("the summary has %d tokens, shortened %d, and may have %d", long, n, r.Budget)
	}
	return text, nil
}

// ask makes one request, if it has no more tokens than it may have.
func (m *Model) ask(ctx context.Context, r *Request, spent *Summary, text string) (string, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if n := r.Count(m.prompt()) + r.Count(text); n > m.maxInput() {
		return "", fmt.Errorf("the request has %d tokens, and max_input is %d", n, m.maxInput())
	}
	req := &model.Request{Agent: session.PluginPrefix + Name, Model: m.Name, Contents: []*genai.Content{genai.NewContentFromText(text, genai.RoleUser)}, Config: m.config(r.Budget)}
	for resp, err := range m.Model.Generate(ctx, req) {
		switch {
		case err != nil:
			return "", failed(ctx, err)
		case resp == nil || resp.Partial:
			continue
		}
		spent.Usage, spent.Model = added(spent.Usage, resp.UsageMetadata), cmp.Or(resp.ModelVersion, spent.Model)
		spent.Cost += m.Prices.Cost(resp.UsageMetadata)
		return finished(resp)
	}
	return "", failed(ctx, &model.Error{Code: model.NoAnswer})
}

// config returns the parameters of a request.
func (m *Model) config(budget int) *genai.GenerateContentConfig {
	c := genai.GenerateContentConfig{Temperature: genai.Ptr[float32](temperature)}
	if m.Parameters != nil {
		c = *m.Parameters
	}
	c.SystemInstruction = genai.NewContentFromText(m.prompt(), genai.RoleUser)
	c.Tools, c.ToolConfig, c.CachedContent = nil, nil, ""
	c.ResponseMIMEType, c.ResponseSchema, c.ResponseJsonSchema, c.ResponseModalities, c.CandidateCount = "", nil, nil, nil, 0
	if c.MaxOutputTokens == 0 {
		c.MaxOutputTokens = int32(min(2*budget+thinking, math.MaxInt32))
	}
	return &c
}

func (m *Model) prompt() string { return cmp.Or(m.Prompt, prompt) }

func (m *Model) maxInput() int { return cmp.Or(m.MaxInput, defaultInput) }
