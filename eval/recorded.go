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
	i := slices.IndexFunc(r.recorded, func(one RecordedResult) bool {
		return one.Name == name && same(notNil(one.Args), notNil(args))
	})
	if i >= 0 {
		result := maps.Clone(r.recorded[i].Result)
		r.recorded = slices.Delete(r.recorded, i, i+1)
		return result, nil
	}
	why := "nothing is recorded for " + written(name, args)
	if nearest := r.nearest(name, args); nearest != "" {
		why += "; the nearest is " + nearest
	}
	r.missing = append(r.missing, why)
	return nil, fmt.Errorf("%s", why)
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

// RecordedModel answers with what the case has recorded for the turn, in order.
var RecordedModel model.Model = recordedModel{}

type recordedModel struct{}

// turnKey is the key of the turn in the context of its run.
type turnKey struct{}

// errNoAnswer is the error of a recorded model that has answered all it has.
var errNoAnswer = errors.New("no further answer of a model is recorded for this turn")

// Generate implements model.Model.
func (recordedModel) Generate(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		t, _ := ctx.Value(turnKey{}).(*turnRun)
		a, ok := t.nextAnswer()
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

// nextAnswer returns the first answer of the turn that was not given yet.
func (t *turnRun) nextAnswer() (a RecordedAnswer, ok bool) {
	if t == nil {
		return a, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.given >= len(t.Answers) {
		return a, false
	}
	t.given++
	return t.Answers[t.given-1], true
}
