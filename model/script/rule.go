package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// rule is one entry of a script.
type rule struct {
	Agent       string   `yaml:"agent"`
	User        *pattern `yaml:"user"`
	Told        *pattern `yaml:"told"`
	Instruction *pattern `yaml:"instruction"`
	Response    names    `yaml:"response"`
	Error       names    `yaml:"error"`

	Think  *tmpl    `yaml:"think"`
	Say    *value   `yaml:"say"`
	Call   calls    `yaml:"call"`
	Fail   *failure `yaml:"fail"`
	Finish code     `yaml:"finish"`

	Stream count    `yaml:"stream"`
	Delay  duration `yaml:"delay"`
	Usage  usage    `yaml:"usage"`

	position string // line and column
}

type scriptedCall struct {
	Name string `yaml:"name"`
	Args *value `yaml:"args"`
}

type failure struct {
	Code    code  `yaml:"code"`
	Message *tmpl `yaml:"message"`
	Status  count `yaml:"status"`
}

type usage struct {
	Prompt count `yaml:"prompt"`
	Answer count `yaml:"answer"`
}

// runes is how many characters a chunk has unless the rule says otherwise.
const runes = 16

// check returns what is wrong with the rule as a whole.
func (r *rule) check() error {
	switch {
	case r.Say == nil && len(r.Call) == 0 && r.Fail == nil && r.Finish == "":
		return errors.New("the rule has no answer: it needs say, call, fail or finish")
	case r.Fail != nil && len(r.Call) > 0:
		return errors.New("fail and call exclude each other: an answer that fails calls nothing")
	case r.Fail != nil && r.Finish != "":
		return errors.New("fail and finish exclude each other: an answer that fails is not finished")
	case r.Fail != nil && r.Usage != usage{}:
		return errors.New("fail and usage exclude each other: an answer that fails has no counts")
	case r.Stream > 0 && r.Say == nil && r.Think == nil:
		return errors.New("stream cuts what is said or thought, and the rule has neither")
	}
	return nil
}

// match reports whether the rule is about the question, and returns what its patterns' named groups
// matched.
func (r *rule) match(q question) (groups map[string]string, ok bool) {
	if r.Agent != "" && r.Agent != q.agent ||
		len(r.Response)+len(r.Error) == 0 && len(q.responses) > 0 {
		return nil, false
	}
	for _, name := range r.Response {
		if !q.answered(name, false) {
			return nil, false
		}
	}
	for _, name := range r.Error {
		if !q.answered(name, true) {
			return nil, false
		}
	}
	groups = map[string]string{}
	return groups, r.Instruction.match(q.instruction, groups) && r.Told.match(q.told, groups) &&
		r.User.match(q.user, groups)
}

// pattern is a regular expression; nil matches everything.
type pattern struct{ *regexp.Regexp }

func (p *pattern) match(text string, groups map[string]string) bool {
	if p == nil {
		return true
	}
	found := p.FindStringSubmatch(text)
	for i, name := range p.SubexpNames() {
		if name != "" && found != nil {
			groups[name] = found[i]
		}
	}
	return found != nil
}

// answer fills in the rule's templates.
func (r *rule) answer(ctx context.Context, data map[string]any, id func() string) (*scriptedAnswer, error) {
	a := &scriptedAnswer{
		chunk:  int(cmp.Or(r.Stream, runes)),
		delay:  time.Duration(r.Delay),
		finish: genai.FinishReason(cmp.Or(r.Finish, "STOP")),
		usage: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount:     int32(r.Usage.Prompt),
			CandidatesTokenCount: int32(r.Usage.Answer),
		},
	}
	var err error
	if r.Think != nil {
		if a.thought, err = r.Think.fill(ctx, data); err != nil {
			return nil, fmt.Errorf("think: %w", err)
		}
	}
	if r.Say != nil {
		if a.text, err = r.Say.text(ctx, data); err != nil {
			return nil, fmt.Errorf("say: %w", err)
		}
	}
	for _, c := range r.Call {
		args, err := c.Args.object(ctx, data)
		if err != nil {
			return nil, fmt.Errorf("call of %s: args: %w", c.Name, err)
		}
		a.calls = append(a.calls, &genai.Part{FunctionCall: &genai.FunctionCall{
			ID:   id(),
			Name: c.Name,
			Args: args,
		}})
	}
	if f := r.Fail; f != nil {
		a.fail = &model.Error{Code: cmp.Or(string(f.Code), model.Failed), Status: int(f.Status)}
		if f.Message != nil {
			message, err := f.Message.fill(ctx, data)
			if err != nil {
				return nil, fmt.Errorf("fail: message: %w", err)
			}
			a.fail.Err = errors.New(message)
		}
	}
	return a, nil
}
