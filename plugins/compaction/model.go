package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// A Model is a Summarizer that asks a language model.
//
// The model is shown the events as a transcript. No event can contain the marks that end the transcript. If
// the transcript is longer than MaxInput allows, it is split into parts, with one request for each part, in
// order; each request has the summary of all parts before it. If an answer is too long, one more request asks
// for a shorter one. An event that is larger than a part is cut in its middle, with a mark.
//
// An answer counts only if the model has finished it (FinishReason STOP), if it consists of text and
// thoughts, and if it is not longer than the request's budget. An answer is never cut, because half a
// sentence can say the opposite. Anything else is an error. Errors quote neither the conversation nor the
// answer. The Summary beside an error says what the requests have cost.
type Model struct {
	// Model is asked without a stream and without tools.
	Model model.Model
	// Name is the name of the model in each request, "" for the default of Model.
	Name string
	// MaxInput is how many tokens one request may have, as Request.Count counts them; 0 is 32,000. The model
	// must have room for the answer beside them.
	MaxInput int
	// Price gives Summary.Cost. If it is zero, the model that answers costs what Prices says, and nothing if
	// it is not there.
	Price prices.Price
	// Prices are those of prices.Default if nil.
	Prices *prices.Table
	// Prompt is the system instruction; if it is "", a default says what to keep. It should say that the
	// conversation is a record and that the model must not follow instructions in it.
	Prompt string
	// Parameters are sent with each request, such as a ThinkingConfig, SafetySettings or a Seed; nil is a
	// Temperature of 0.2. If MaxOutputTokens is 0, it is twice the request's budget, plus 4,096 for thoughts.
	// The system instruction, the tools and the response format of Parameters are ignored.
	Parameters *genai.GenerateContentConfig
}

const (
	defaultInput = 32_000
	thinking     = 4096 // tokens for thoughts beside the answer
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

	// Each part, with the summary of what was before.
	text := r.Prior
	for i, part := range parts {
		text, err = m.ask(ctx, r, spent, summaryPrompt(text, part, r.Instructions, i+1, len(parts), r.Budget))
		if err == nil {
			text, err = m.shorten(ctx, r, spent, text)
		}
		if err != nil {
			return spent, fmt.Errorf("summary by a model, part %d of %d: %w", i+1, len(parts), err)
		}
	}

	// Without parts, the summary before is all there is.
	if len(parts) == 0 {
		text, err = m.shorten(ctx, r, spent, text)
		if err != nil {
			return spent, fmt.Errorf("summary by a model: %w", err)
		}
	}
	spent.Text = text
	return spent, nil
}

// check returns an error if the Model is invalid.
func (m *Model) check() error {
	if m.Model == nil {
		return errors.New("compaction: set the field Model of Model: there is no model to ask")
	}
	if m.MaxInput < 0 {
		return fmt.Errorf("compaction: max_input is %d; it must be a number of tokens, or 0 for %d",
			m.MaxInput, defaultInput)
	}
	if err := m.Price.Check(); err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	return nil
}

// checkFor returns an error if the Model cannot write the summaries of a complete configuration.
func (m *Model) checkFor(c Config) error {
	if err := m.check(); err != nil {
		return err
	}
	k := compactor{Config: c}
	count := k.meter(nil)
	_, err := m.room(&Request{Instructions: c.Instructions, Budget: c.Summary, Count: count.Text})
	return err
}

// shorten returns a summary that is not too long: the text itself, or what the model returns when it is asked
// once to shorten it.
func (m *Model) shorten(ctx context.Context, r *Request, spent *Summary, text string) (string, error) {
	long := r.Count(text)
	if long <= r.Budget {
		return text, nil
	}
	text, err := m.ask(ctx, r, spent, shortenPrompt(text, r.Instructions, long, r.Budget))
	if err != nil {
		return "", fmt.Errorf(
			"the summary has %d tokens, it may have %d, and shortening it failed: %w", long,
			r.Budget, err)
	}
	short := r.Count(text)
	if short > r.Budget {
		return "", fmt.Errorf("the summary has %d tokens, %d when shortened, and may have %d", long,
			short, r.Budget)
	}
	return text, nil
}

// ask makes one request and adds its cost to spent.
func (m *Model) ask(ctx context.Context, r *Request, spent *Summary, text string) (string, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	size := r.Count(m.prompt()) + r.Count(text)
	if size > m.maxInput() {
		return "", fmt.Errorf("the request has %d tokens, and max_input is %d", size, m.maxInput())
	}
	req := &model.Request{
		Agent:    session.PluginPrefix + Name,
		Model:    m.Name,
		Contents: []*genai.Content{genai.NewContentFromText(text, genai.RoleUser)},
		Config:   m.config(r.Budget),
	}
	for resp, err := range m.Model.Generate(ctx, req) {
		if err != nil {
			return "", withoutQuotes(ctx, err)
		}
		if resp == nil || resp.Partial {
			continue
		}
		spent.Usage = addUsage(spent.Usage, resp.UsageMetadata)
		spent.Model = cmp.Or(resp.ModelVersion, spent.Model)
		spent.Cost += m.cost(spent.Model, resp.UsageMetadata)
		return answerText(resp)
	}
	return "", withoutQuotes(ctx, &model.Error{Code: model.NoAnswer})
}

// cost returns what a request to a model has cost, 0 if that is not known.
func (m *Model) cost(name string, u *genai.GenerateContentResponseUsageMetadata) float64 {
	if m.Price != (prices.Price{}) {
		return m.Price.Cost(u)
	}
	cost, _ := cmp.Or(m.Prices, prices.Default()).Cost(name, u)
	return cost
}

// config returns the parameters of a request for a summary with a budget.
func (m *Model) config(budget int) *genai.GenerateContentConfig {
	c := genai.GenerateContentConfig{Temperature: genai.Ptr[float32](temperature)}
	if m.Parameters != nil {
		c = *m.Parameters
	}
	c.SystemInstruction = genai.NewContentFromText(m.prompt(), genai.RoleUser)
	c.Tools = nil
	c.ToolConfig = nil
	c.CachedContent = ""
	c.ResponseMIMEType = ""
	c.ResponseSchema = nil
	c.ResponseJsonSchema = nil
	c.ResponseModalities = nil
	c.CandidateCount = 0
	if c.MaxOutputTokens == 0 {
		c.MaxOutputTokens = int32(min(2*budget+thinking, math.MaxInt32))
	}
	return &c
}

func (m *Model) prompt() string { return cmp.Or(m.Prompt, prompt) }

func (m *Model) maxInput() int { return cmp.Or(m.MaxInput, defaultInput) }

// answerText returns the text of a finished answer, or an error that says why there is none.
func answerText(r *model.Response) (string, error) {
	if r.ErrorCode != "" || r.FinishReason != genai.FinishReasonStop {
		return "", fmt.Errorf("the model has not finished its answer: %s",
			codeOnly(cmp.Or(r.ErrorCode, string(r.FinishReason))))
	}
	var b strings.Builder
	if r.Content != nil {
		for _, p := range r.Content.Parts {
			if p == nil || p.Thought {
				continue
			}
			isCall := p.FunctionCall != nil || p.FunctionResponse != nil
			isCode := p.ExecutableCode != nil || p.CodeExecutionResult != nil
			isFile := p.InlineData != nil || p.FileData != nil
			if isCall || isCode || isFile {
				return "", errors.New("the model has answered with a call or a file, not with text")
			}
			b.WriteString(p.Text)
		}
	}
	text := strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
	if text == "" {
		return "", errors.New("the model has answered without text")
	}
	return text, nil
}

// withoutQuotes returns an error that says why a request failed, without the server's message: that may quote
// the conversation.
func withoutQuotes(ctx context.Context, err error) error {
	var coded *model.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &coded) && coded.Status != 0:
		return fmt.Errorf("the model failed: %s (HTTP status %d)", codeOnly(coded.Code), coded.Status)
	case errors.As(err, &coded):
		return fmt.Errorf("the model failed: %s", codeOnly(coded.Code))
	}
	return fmt.Errorf("the model failed: %s", model.Failed)
}

// codePattern matches error codes, which quote nothing.
var codePattern = lazyregexp.New(`^[0-9A-Za-z_]{1,64}$`)

// codeOnly returns a code if it looks like one.
func codeOnly(code string) string {
	switch {
	case code == "":
		return "no reason was given"
	case !codePattern.MatchString(code):
		return "a reason that is not a code"
	}
	return code
}
