package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
)

// Tool returns a tool that is executed as t is, or, with Recorded, answers with what its case has recorded.
func (e *Evaluator) Tool(t *tool.Tool) *tool.Tool {
	if !e.Recorded {
		return t
	}
	c := *t
	c.Run = func(_ context.Context, call *tool.Call) (map[string]any, error) {
		r := e.runOf(call.Invocation.Key)
		if r == nil {
			return nil, fmt.Errorf("the session %s is no case's", call.Invocation.Key)
		}
		return r.result(call.Name, call.Args)
	}
	return &c
}

// result returns what is recorded for a call: of several that are alike the first that no call has used.
func (r *caseRun) result(name string, args map[string]any) (map[string]any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.recorded, isFor(name, args))
	if i >= 0 {
		result := maps.Clone(r.recorded[i].Result)
		r.recorded = slices.Delete(r.recorded, i, i+1)
		return result, nil
	}
	why := "nothing is recorded for " + written(name, args)
	if r.isRecorded(name, args) {
		why = "all that is recorded was given for " + written(name, args)
	} else if nearest := r.nearest(name, args); nearest != "" {
		why += "; the nearest is " + nearest
	}
	r.missing = append(r.missing, why)
	return nil, fmt.Errorf("%s", why)
}

// isFor returns a function that reports whether a result is that of a call.
func isFor(name string, args map[string]any) func(RecordedResult) bool {
	return func(r RecordedResult) bool { return r.Name == name && same(notNil(r.Args), notNil(args)) }
}

// isRecorded reports whether the case has a result for a call, also one that was given.
func (r *caseRun) isRecorded(name string, args map[string]any) bool {
	return slices.ContainsFunc(r.Turns, func(t *Turn) bool { return slices.ContainsFunc(t.Results, isFor(name, args)) })
}

// nearest returns the recorded call that is most like a call: of the same tool with most arguments alike.
func (r *caseRun) nearest(name string, args map[string]any) string {
	best, most := "", -1
	for _, one := range r.recorded {
		alike := 0
		if one.Name == name {
			alike += 1000
		}
		for key, value := range args {
			if other, has := one.Args[key]; has && same(other, value) {
				alike++
			}
		}
		if alike > most {
			most = alike
			best = written(one.Name, one.Args)
		}
	}
	return best
}

// written returns a call as people read it.
func written(name string, args map[string]any) string {
	return eventtext.OneLine(name+" "+eventtext.Object(args), 200)
}

// RecordedModel answers with what the case has recorded for the agent that asks, in this turn, in order.
var RecordedModel model.Model = recordedModel{}

type recordedModel struct{}

// turnKey is the key of the turn in the context of its run.
type turnKey struct{}

// errNoAnswer is the error of a recorded model that has answered all it has.
var errNoAnswer = errors.New("no further answer of a model is recorded for this turn")

// Generate implements model.Model.
func (recordedModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		t, _ := ctx.Value(turnKey{}).(*turnRun)
		a, ok := t.nextAnswer(req.Agent)
		if !ok {
			yield(nil, errNoAnswer)
			return
		}
		content := &genai.Content{Role: genai.RoleModel}
		if a.Text != "" {
			content.Parts = append(content.Parts, &genai.Part{Text: a.Text})
		}
		for _, c := range a.Calls {
			content.Parts = append(content.Parts, genai.NewPartFromFunctionCall(c.Name, maps.Clone(notNil(c.Args))))
		}
		yield(&model.Response{Content: content, FinishReason: genai.FinishReasonStop}, nil)
	}
}

// nextAnswer returns the first answer for an agent that was not given yet.
func (t *turnRun) nextAnswer(agent string) (a RecordedAnswer, ok bool) {
	if t == nil {
		return a, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, a := range t.Answers {
		if t.given[i] || a.Agent != "" && a.Agent != agent {
			continue
		}
		if t.given == nil {
			t.given = map[int]bool{}
		}
		t.given[i] = true
		return a, true
	}
	return a, false
}
