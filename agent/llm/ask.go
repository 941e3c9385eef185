package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// maxModelCalls is the limit if Config.MaxModelCalls is 0.
const maxModelCalls = 100

func (a *llmAgent) limit() int { return cmp.Or(a.MaxModelCalls, maxModelCalls) }

// ask asks the model and yields its answer. It reports whether the loop goes on.
func (lp *loop) ask() bool {
	if lp.ctx.Err() != nil {
		return lp.expired()
	}
	limited := lp.agent
	asked := lp.asked
	if asked < limited.limit() {
		limited = lp.root
		asked = *lp.all
	}
	if asked >= limited.limit() {
		lp.fail(ModelCallLimit, fmt.Errorf("agent %s: models were asked %d times in this run, which is its limit", limited.Name(), limited.limit()))
		return false
	}
	lp.asked++
	*lp.all++
	req, err := lp.host.BeforeModel(lp.ctx, lp.request)
	switch {
	case errors.Is(err, agent.ErrEnded):
		lp.yield(nil, err)
		return false
	case err != nil && lp.ctx.Err() != nil:
		return lp.expired()
	case err != nil:
		lp.yield(nil, err)
		return false
	case req == nil: // a plugin has answered in the log
		return true
	}
	return lp.generate(req)
}

// generate yields what the model answers. It reports whether the loop goes on.
func (lp *loop) generate(req *model.Request) bool {
	var soFar model.Collector
	provider, name := "", req.Model
	if named, is := lp.agent.Model.(model.Named); is {
		var own string
		provider, own = named.Named()
		name = cmp.Or(name, own)
	}
	ctx, span := telemetry.Chat(lp.ctx, provider, name, req.Contents)
	defer func() { span.End(telemetry.Failure(context.Cause(lp.ctx))) }() // if it did not end before
	for r, err := range lp.agent.Model.Generate(ctx, req) {
		switch {
		case lp.ctx.Err() != nil:
			return lp.cutShort(soFar.Whole())
		case err != nil:
			span.End(failureOf(err))
			return lp.failedModel(err, soFar.Whole())
		case r == nil:
			continue
		case r.Partial:
			soFar.Add(r)
			e := lp.responseEvent(r)
			e.Partial = true
			e.Content = withoutCalls(r.Content)
			if e.Content != nil && !lp.yield(e, nil) {
				return false
			}
			continue
		}
		span.Answered(answerOf(r))
		span.End(r.ErrorCode)
		e := lp.responseEvent(r)
		lp.identify(e)
		lp.calling = len(e.FunctionCalls()) > 0
		lp.checkOutput(e)
		return lp.put(e)
	}
	if lp.ctx.Err() != nil {
		return lp.cutShort(soFar.Whole())
	}
	span.End(model.NoAnswer)
	return lp.failedModel(&model.Error{Code: model.NoAnswer,
		Err: errors.New("the model has said nothing")}, soFar.Whole())
}

// answerOf returns what a span tells of a response.
func answerOf(r *model.Response) telemetry.Answer {
	a := telemetry.Answer{
		Model:        r.ModelVersion,
		FinishReason: string(r.FinishReason),
		Message:      r.Content,
	}
	if u := r.UsageMetadata; u != nil {
		a.Input = int64(u.PromptTokenCount)
		a.Output = int64(u.CandidatesTokenCount + u.ThoughtsTokenCount)
		a.Cached = int64(u.CachedContentTokenCount)
	}
	return a
}

// failureOf names the failure of a model: its code, if it has one.
func failureOf(err error) string {
	var coded *model.Error
	if errors.As(err, &coded) && coded.Code != "" {
		return coded.Code
	}
	return telemetry.Failure(err)
}

// cutShort ends a loop whose context is done while the model answers. If that is because of the agent's
// own time limit, what the model had said is kept. It returns false.
func (lp *loop) cutShort(soFar *model.Response) bool {
	limit := lp.limited()
	if limit == nil || limit.agent != lp.agent {
		return lp.expired()
	}
	e := lp.brokenOff(soFar)
	e.ErrorCode = TimeLimit
	e.ErrorMessage = limit.Error()
	lp.yield(e, nil)
	return false
}

// brokenOff returns an event with what the model had said when its answer broke off. It is marked as
// interrupted if that is anything.
func (lp *loop) brokenOff(soFar *model.Response) *session.Event {
	e := lp.responseEvent(soFar)
	e.Content = withoutCalls(e.Content)
	e.Interrupted = e.Content != nil
	return e
}

// failedModel yields the error of the model, with what it had said before.
func (lp *loop) failedModel(err error, soFar *model.Response) bool {
	e := lp.brokenOff(soFar)
	e.ErrorCode = model.Failed
	e.ErrorMessage = err.Error()
	var coded *model.Error
	if errors.As(err, &coded) && coded.Code != "" {
		e.ErrorCode = coded.Code
		if coded.Err != nil { // without the code, which is in ErrorCode
			e.ErrorMessage = coded.Err.Error()
		}
	}
	return lp.put(e)
}

// responseEvent returns an event of the agent with a response of its model.
func (lp *loop) responseEvent(r *model.Response) *session.Event {
	e := r.Event()
	e.Author = lp.agent.Name()
	e.Branch = lp.host.Branch
	e.Partial = false
	empty := e.Content == nil || len(e.Content.Parts) == 0
	if e.ErrorCode == "" && empty && !r.Partial {
		e.ErrorCode = model.NoAnswer
		e.ErrorMessage = "the model has said nothing"
	}
	if e.Content != nil && e.Content.Role == "" {
		c := *e.Content
		c.Role = genai.RoleModel
		e.Content = &c
	}
	return e
}

// identify gives every call an ID that no other call in the live view has, so that a response
// belongs to one call only. In a branch the ID ends with the branch, since agents in other branches
// may make calls at the same time.
func (lp *loop) identify(e *session.Event) {
	if len(e.FunctionCalls()) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, other := range lp.host.Now().Live {
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
		part := *p
		call := *p.FunctionCall
		call.ID = lp.free(call.ID, taken)
		taken[call.ID] = true
		part.FunctionCall = &call
		content.Parts[i] = &part
	}
	e.Content = &content
}

// free returns an ID that is not taken. It has no dots and no @, since it becomes part of a branch.
func (lp *loop) free(id string, taken map[string]bool) string {
	if id == "" {
		return model.CallIDPrefix + session.NewID()
	}
	if lp.host.Branch != "" {
		id += "-" + strings.ReplaceAll(lp.host.Branch, "_", "__")
	}
	id = strings.NewReplacer(".", "_", "@", "_").Replace(id)
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

// withoutCalls returns a content without its function calls, nil if it has nothing else.
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
