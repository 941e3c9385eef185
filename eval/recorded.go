package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/plughook/plughook/internal/eventtext"
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
