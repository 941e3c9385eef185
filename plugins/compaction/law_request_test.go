package compaction_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
)

// request holds one request of a model to what must be true of each. It runs on the model's goroutine.
func (w *world) request(req *model.Request) {
	wrong := func(format string, args ...any) {
		w.actor.wrong = append(
			w.actor.wrong,
			fmt.Sprintf("request %d, of %s in %q: ", w.actor.asked, req.Agent,
				req.Branch)+fmt.Sprintf(
				format,
				args...),
		)
	}
	if n := size(req); n > w.config.Budget {
		wrong("its %d tokens are more than the budget, %d", n, w.config.Budget)
	}
	if err := grammar(req.Contents); err != nil {
		wrong("%v", err)
	}
	data, err := json.Marshal(req.Contents)
	if err != nil {
		wrong("%v", err)
	}
	text := string(data)
	if strings.Contains(text, "SECRET") || strings.Contains(text, "LEAKED") {
		wrong("what was taken out is back")
	}
	if q := w.question; q != "" && !w.forged && !strings.Contains(req.Branch, "@") &&
		!strings.Contains(text, q) {
		wrong("the question %s that is being answered is not in it", q)
	}
	for _, p := range toldPlace.FindAllString(text, -1) {
		if branch := strings.TrimPrefix(p, "in:"); !agent.Sees(req.Branch, branch) {
			wrong("it shows what was said in the branch %q", branch)
		}
	}
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.ThoughtSignature == nil {
				continue
			}
			was := strings.ReplaceAll(w.actor.signed[string(p.ThoughtSignature)], "SECRET",
				"[gone]")
			if got := signedText(p); got != was {
				wrong("a signed part is %s, was %s", got, was)
			}
		}
	}
}

// tokens counts the words of a content, those in calls and responses too, and three for each of these.
func tokens(c *genai.Content) (n int) {
	for _, p := range c.Parts {
		n += len(strings.Fields(p.Text))
		if p.FunctionCall != nil {
			n += 3 + len(strings.Fields(fmt.Sprint(p.FunctionCall.Args)))
		}
		if p.FunctionResponse != nil {
			n += 3 + len(strings.Fields(fmt.Sprint(p.FunctionResponse.Response)))
		}
	}
	return n
}

// size counts the whole of a request, tools included.
func size(req *model.Request) (n int) {
	for _, c := range req.Contents {
		n += tokens(c)
	}
	if req.Config.SystemInstruction != nil {
		n += tokens(req.Config.SystemInstruction)
	}
	if len(req.Config.Tools) > 0 {
		data, err := json.Marshal(req.Config.Tools)
		if err != nil {
			panic(err)
		}
		n += len(strings.Fields(string(data)))
	}
	return n
}

// grammar returns what a provider would refuse: contents that do not begin and end with the user, a
// model that speaks twice, calls that are not followed by their responses, a response without its call.
func grammar(contents []*genai.Content) error {
	if len(contents) == 0 {
		return fmt.Errorf("it is empty")
	}
	ids := func(c *genai.Content) (calls, responses []string) {
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall.ID+" "+p.FunctionCall.Name)
			}
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse.ID+" "+p.FunctionResponse.Name)
			}
		}
		return calls, responses
	}
	before := &genai.Content{Role: genai.RoleModel}
	for i, c := range contents {
		asked, _ := ids(before)
		calls, responses := ids(c)
		switch {
		case len(c.Parts) == 0:
			return fmt.Errorf("content %d has no parts", i)
		case c.Role != genai.RoleUser && c.Role != genai.RoleModel:
			return fmt.Errorf("content %d is of role %q", i, c.Role)
		case c.Role == genai.RoleModel && before.Role == genai.RoleModel:
			return fmt.Errorf("content %d is the model's, after the model's or at the beginning", i)
		case c.Role == genai.RoleModel && len(responses) > 0,
			c.Role == genai.RoleUser && len(calls) > 0:
			return fmt.Errorf("content %d of role %q has calls %v and responses %v", i, c.Role,
				calls, responses)
		case !slices.Equal(asked, responses):
			return fmt.Errorf("content %d has the responses %v after the calls %v", i, responses,
				asked)
		}
		before = c
	}
	if before.Role != genai.RoleUser {
		return fmt.Errorf("it ends with the model")
	}
	return nil
}
