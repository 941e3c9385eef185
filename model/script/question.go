package script

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/model"
)

// told begins a content by which agent/llm tells a model what others did and said, or what a
// summary stands for. It is nobody's message.
var told = lazyregexp.New(`^(For context:$|For context, a summary |\[[^\]\s]+\] (said: |called |\S+ answered: ))`)

// late is a part of it that says that a call which is not of the model's last turn has its answer
// now.
var late = lazyregexp.New(`^Your earlier call of \S+ \(id (.+)\) has been answered: `)

// question is what rules look at in a request.
type question struct {
	agent, instruction string
	user               string // the user's last message
	told               string // what was told since then, and since the model's last turn
	responses          []*genai.FunctionResponse
}

func read(req *model.Request) question {
	q := question{agent: req.Agent}
	if req.Config != nil {
		q.instruction = text(req.Config.SystemInstruction)
	}
	end := true
	var ids []string // of calls that were answered late
back:
	for _, c := range slices.Backward(req.Contents) {
		ps := parts(c)
		rs := responses(c)
		switch {
		case len(ps) == 0:
		case len(rs) > 0:
			if end {
				q.responses = append(rs, q.responses...)
			}
		case c.Role == genai.RoleModel:
			end = false
		case told.MatchString(ps[0].Text):
			if end {
				q.told = strings.TrimSuffix(lines(ps)+"\n"+q.told, "\n")
				ids = append(ids, lateIDs(ps)...)
			}
		default:
			q.user = text(c)
			break back
		}
	}
	q.responses = append(withIDs(req.Contents, ids), q.responses...)
	return q
}

// lateIDs are those of the calls that were answered late, by what is told.
func lateIDs(told []*genai.Part) (ids []string) {
	for _, p := range told {
		if m := late.FindStringSubmatch(p.Text); m != nil {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// withIDs returns the last response to each of some calls.
func withIDs(contents []*genai.Content, ids []string) (list []*genai.FunctionResponse) {
	for _, c := range slices.Backward(contents) {
		for _, r := range slices.Backward(responses(c)) {
			if n := slices.Index(ids, r.ID); n >= 0 {
				ids = slices.Delete(ids, n, n+1)
				list = append(list, r)
			}
		}
	}
	slices.Reverse(list)
	return list
}

func lines(parts []*genai.Part) string {
	var list []string
	for _, p := range parts {
		list = append(list, p.Text)
	}
	return strings.Join(list, "\n")
}

// names lists the functions whose responses end the contents.
func (q question) names() string {
	var names []string
	for _, r := range q.responses {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// answered reports whether the contents end with a response of the function, "*" being any; a
// failed one, if that is asked.
func (q question) answered(name string, failed bool) bool {
	return slices.ContainsFunc(q.responses, func(r *genai.FunctionResponse) bool {
		return (name == "*" || name == r.Name) && (!failed || r.Response["error"] != nil)
	})
}

// data is what templates read.
func (q question) data(groups map[string]string) map[string]any {
	all := []any{}
	byName := map[string]any{}
	for _, r := range q.responses {
		response, _ := plain(r.Response).(map[string]any)
		all = append(all, map[string]any{"name": r.Name, "id": r.ID, "response": response})
		byName[r.Name] = response
	}
	return map[string]any{
		"agent":     q.agent,
		"user":      q.user,
		"told":      q.told,
		"group":     groups,
		"response":  byName,
		"responses": all,
	}
}

// plain returns a JSON value in which whole numbers are integers, which templates print as such.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, x := range v {
			c[k] = plain(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = plain(x)
		}
		return c
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}

// parts returns a content's parts that are there.
func parts(c *genai.Content) []*genai.Part {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p *genai.Part) bool { return p == nil })
}

func text(c *genai.Content) (text string) {
	for _, p := range parts(c) {
		if !p.Thought {
			text += p.Text
		}
	}
	return text
}

func responses(c *genai.Content) (list []*genai.FunctionResponse) {
	for _, p := range parts(c) {
		if p.FunctionResponse != nil {
			list = append(list, p.FunctionResponse)
		}
	}
	return list
}
