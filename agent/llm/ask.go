package llm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

const maxModelCalls = 100

func (a *llmAgent) limit() int { return cmp.Or(a.MaxModelCalls, maxModelCalls) }

// ask asks the model and yields what it says. It reports whether the turn goes on.
func (t *turn) ask() bool {
	if t.over() {
		return t.expired()
	}
	for _, l := range []struct {
		agent *llmAgent
		asked int
	}{{t.agent, t.asked}, {t.root, *t.all}} {
		if limit := l.agent.limit(); l.asked >= limit {
			t.fail(ModelCallLimit, fmt.Errorf("agent %s: models were asked %d times in this run, which is its limit", l.agent.Name(), limit))
			return false
		}
	}
	t.asked, *t.all = t.asked+1, *t.all+1
	req, err := t.host.BeforeModel(t.ctx, func(inv *session.Invocation) (*model.Request, error) { return t.request(inv) })
	switch {
	case errors.Is(err, agent.ErrEnded):
		t.yield(nil, err)
		return false
	case err != nil && t.over():
		return t.expired()
	case err != nil:
		t.yield(nil, err)
		return false
	case req == nil: // the log has an answer instead
		return true
	}
	return t.generate(req)
}

// generate passes on what the model says.
func (t *turn) generate(req *model.Request) bool {
	var soFar model.Collector
	for r, err := range t.agent.Model.Generate(t.ctx, req) {
		switch {
		case t.over():
			return t.expired()
		case err != nil:
			return t.failedModel(err, soFar.Whole())
		case r == nil:
			continue
		case r.Partial:
			soFar.Add(r)
			e := t.said(r)
			e.Partial, e.Content = true, withoutCalls(r.Content)
			if e.Content != nil && !t.yield(e, nil) {
				return false
			}
			continue
		}
		e := t.said(r)
		t.identify(e)
		t.calling = len(e.FunctionCalls()) > 0
		t.checkOutput(e)
		return t.put(e)
	}
	if t.over() {
		return t.expired()
	}
	return t.failedModel(&model.Error{Code: model.NoAnswer, Err: errors.New("the model has said nothing")}, soFar.Whole())
}

// failedModel yields a failed call of the model, with what it had said.
func (t *turn) failedModel(err error, soFar *model.Response) bool {
	e := t.said(soFar)
	e.Content = withoutCalls(soFar.Content)
	e.ErrorCode, e.ErrorMessage = model.Failed, err.Error()
	var coded *model.Error
	if errors.As(err, &coded) && coded.Code != "" {
		e.ErrorCode = coded.Code
		if coded.Err != nil { // the code is said already
			e.ErrorMessage = coded.Err.Error()
		}
	}
	return t.put(e)
}

// said returns a response as an event.
func (t *turn) said(r *model.Response) *session.Event {
	e := r.Event()
	e.Author, e.Branch, e.Partial = t.agent.Name(), t.host.Branch, false
	if e.ErrorCode == "" && (e.Content == nil || len(e.Content.Parts) == 0) && !r.Partial {
		e.ErrorCode, e.ErrorMessage = model.NoAnswer, "the model has said nothing"
	}
	if e.Content != nil && e.Content.Role == "" {
		c := *e.Content
		c.Role = genai.RoleModel
		e.Content = &c
	}
	return e
}

// identify gives every call an id that no other call in the live view has: an answer must not be taken for
// that of another call. In a branch the id ends with the branch, for agents beside it may call at this moment.
func (t *turn) identify(e *session.Event) {
	if len(e.FunctionCalls()) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, other := range t.host.Now().Live {
		for _, call := range other.FunctionCalls() {
			taken[call.ID] = true
		}
	}
	content := *e.Content
	content.Parts = slices.Clone(e.Content.Parts)
	for i, p := range content.Parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		part, call := *p, *p.FunctionCall
		call.ID = t.free(call.ID, taken)
		taken[call.ID] = true
		part.FunctionCall, content.Parts[i] = &call, &part
	}
	e.Content = &content
}

// free returns an id that is not taken. It has neither a dot nor an @, for it becomes part of a branch.
func (t *turn) free(id string, taken map[string]bool) string {
	if id == "" {
		return model.CallIDPrefix + session.NewID()
	}
	if t.host.Branch != "" {
		id += "-" + strings.ReplaceAll(t.host.Branch, "_", "__")
	}
	id = strings.NewReplacer(".", "_", "@", "_").Replace(id)
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

// withoutCalls returns the content without function calls, nil if nothing is left.
func withoutCalls(c *genai.Content) *genai.Content {
	if c == nil {
		return nil
	}
	rest := &genai.Content{Role: c.Role}
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall == nil {
			rest.Parts = append(rest.Parts, p)
		}
	}
	if len(rest.Parts) == 0 {
		return nil
	}
	return rest
}
