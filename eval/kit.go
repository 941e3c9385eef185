package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

// What the Agent Development Kit writes, with names in snake_case (see snakeCase). What is not known is passed over.
type kitSet struct {
	ID    string    `json:"eval_set_id"`
	Cases []kitCase `json:"eval_cases"`
}

type kitCase struct {
	ID           string          `json:"eval_id"`
	Conversation []kitInvocation `json:"conversation"`
	Scenario     map[string]any  `json:"conversation_scenario"`
	Session      struct {
		State object `json:"state"`
	} `json:"session_input"`
	Final object `json:"final_session_state"`
}

type kitInvocation struct {
	User     json.RawMessage `json:"user_content"`
	Response json.RawMessage `json:"final_response"`
	Between  kitIntermediate `json:"intermediate_data"`
	Older    []kitOlderCall  `json:"expected_tool_use"`
}

// kitIntermediate has what was between in one of two forms: uses and responses, or events.
type kitIntermediate struct {
	Uses      []kitFunction `json:"tool_uses"`
	Responses []kitFunction `json:"tool_responses"`
	Events    []kitEvent    `json:"invocation_events"`
}

type kitFunction struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Args     object `json:"args"`
	Response object `json:"response"`
}

type kitEvent struct {
	Author  string          `json:"author"`
	Content json.RawMessage `json:"content"`
}

// The oldest form of the kit: a list of questions with the calls and the answer that are expected.
type kitOlderTurn struct {
	Query     string         `json:"query"`
	Calls     []kitOlderCall `json:"expected_tool_use"`
	Reference *string        `json:"reference"`
}

type kitOlderCall struct {
	Name   string          `json:"tool_name"`
	Args   object          `json:"tool_input"`
	Output json.RawMessage `json:"mock_tool_output"`
}

// values are names whose values are the user's: nothing in them is a name of the kit's.
var values = []string{
	"args", "response", "state", "final_session_state", "tool_input", "mock_tool_output", "user_content", "final_response", "content",
}

// snakeCase writes the kit's names in snake_case where they are in camelCase.
func snakeCase(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = snakeCase(v[i])
		}
	case map[string]any:
		named := make(map[string]any, len(v))
		for name, value := range v {
			name = capitals.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
			if !slices.Contains(values, name) {
				value = snakeCase(value)
			}
			named[name] = value
		}
		return named
	}
	return v
}

var capitals = lazyregexp.New(`[A-Z]`)

// readKit reads an eval set of the kit.
func readKit(data []byte) ([]*Case, error) {
	// Bring all names into one spelling.
	if err := json.Unmarshal(data, &struct{}{}); err != nil { // it knows where the error is
		return nil, err
	}
	tree, err := session.DecodeValue(data)
	if err != nil {
		return nil, err
	}
	data, err = json.Marshal(snakeCase(tree))
	if err != nil {
		return nil, err
	}
	var set kitSet
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}

	if len(set.Cases) == 0 {
		return nil, fmt.Errorf("it has no eval_cases; an eval set is {\"eval_set_id\": …, \"eval_cases\": […]}")
	}

	// Make cases of it.
	var cases []*Case
	for i, k := range set.Cases {
		c := &Case{ID: k.ID, Set: set.ID, State: k.Session.State}
		if c.ID == "" {
			c.ID = fmt.Sprint("case-", i+1)
		}
		switch {
		case len(k.Conversation) > 0:
		case k.Scenario != nil:
			c.Unfit = "a conversation_scenario wants somebody who plays the user, which nobody does here; write a conversation"
		default:
			c.Unfit = "it has no conversation, so there is nothing to run"
		}
		for n := range k.Conversation {
			t, err := k.Conversation[n].turn()
			if err != nil {
				return nil, fmt.Errorf("case %s, invocation %d: %w", c.ID, n+1, err)
			}
			c.Turns = append(c.Turns, t)
		}
		if n := len(c.Turns); n > 0 && len(k.Final) > 0 {
			c.Turns[n-1].Expect.State = k.Final
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// turn returns an invocation as a turn.
func (k *kitInvocation) turn() (*Turn, error) {
	t := &Turn{reference: &reference{}}
	var err error
	if t.Content, err = contentOf(k.User); err != nil {
		return nil, fmt.Errorf("user_content: %w", err)
	}
	if t.Content == nil || len(t.Content.Parts) == 0 {
		return nil, fmt.Errorf("user_content is missing, or has no parts")
	}
	answer, err := contentOf(k.Response)
	if err != nil {
		return nil, fmt.Errorf("final_response: %w", err)
	}
	t.reference.text = textOf(answer)
	t.reference.hasText = t.reference.text != ""
	for _, c := range k.Older {
		t.addOlder(c)
	}
	if err := k.Between.addTo(t); err != nil {
		return nil, err
	}
	if last, says := answerIn(answer); says {
		t.Answers = append(t.Answers, last)
	}
	return t, nil
}

// addTo takes in the calls, results and answers of both forms.
func (k *kitIntermediate) addTo(t *Turn) error {
	calls := k.Uses
	responses := k.Responses
	if len(calls) > 0 { // made at once, as far as this form tells
		var a RecordedAnswer
		for _, c := range calls {
			a.Calls = append(a.Calls, RecordedCall{Name: c.Name, Args: c.Args})
		}
		t.Answers = append(t.Answers, a)
	}
	for _, e := range k.Events {
		content, err := contentOf(e.Content)
		if err != nil {
			return fmt.Errorf("invocation_events: %w", err)
		}
		if content == nil {
			continue
		}
		if a, says := answerIn(content); says && content.Role != genai.RoleUser {
			t.Answers = append(t.Answers, a)
		}
		for _, p := range content.Parts {
			if f := p.FunctionCall; f != nil {
				calls = append(calls, kitFunction{ID: f.ID, Name: f.Name, Args: f.Args})
			}
			if f := p.FunctionResponse; f != nil {
				responses = append(responses, kitFunction{ID: f.ID, Name: f.Name, Response: f.Response})
			}
		}
	}

	// A call has the first response with its id; without ids, the first of its name.
	used := make([]bool, len(responses))
	for _, c := range calls {
		t.reference.calls = append(t.reference.calls, ExpectedCall{Name: c.Name, Args: notNil(c.Args)})
		for i, r := range responses {
			same := c.ID == r.ID && (c.ID != "" || c.Name == r.Name)
			if !used[i] && same {
				used[i] = true
				t.Results = append(t.Results, RecordedResult{Name: c.Name, Args: notNil(c.Args), Result: r.Response})
				break
			}
		}
	}
	return nil
}

func notNil(args map[string]any) map[string]any {
	if args == nil {
		return map[string]any{}
	}
	return args
}

func (t *Turn) addOlder(c kitOlderCall) {
	t.reference.calls = append(t.reference.calls, ExpectedCall{Name: c.Name, Args: notNil(c.Args)})
	output, err := session.DecodeValue(c.Output)
	if err != nil || output == nil { // there is none
		return
	}
	result, ok := output.(map[string]any)
	if !ok {
		result = map[string]any{"result": output}
	}
	t.Results = append(t.Results, RecordedResult{Name: c.Name, Args: notNil(c.Args), Result: result})
}

// readOlder reads the oldest form of the kit, which is one case.
func readOlder(data []byte) ([]*Case, error) {
	var turns []kitOlderTurn
	if err := json.Unmarshal(data, &turns); err != nil {
		return nil, err
	}
	c := &Case{ID: "conversation"}
	if len(turns) == 0 {
		c.Unfit = "the list is empty, so there is nothing to run"
	}
	for i, k := range turns {
		if k.Query == "" {
			return nil, fmt.Errorf("element %d has no query", i+1)
		}
		t := &Turn{User: k.Query, reference: &reference{}}
		if k.Reference != nil {
			t.reference.text = *k.Reference
			t.reference.hasText = *k.Reference != ""
		}
		for _, call := range k.Calls {
			t.addOlder(call)
		}
		c.Turns = append(c.Turns, t)
	}
	return []*Case{c}, nil
}

// contentOf reads a content in any spelling of the kit's, nil if there is none. Parts that are null are left out.
func contentOf(data []byte) (*genai.Content, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	wrapped := append(append([]byte(`{"content":`), data...), '}')
	e, err := session.DecodeEvent(wrapped)
	if err != nil {
		return nil, err
	}
	if e.Content != nil {
		e.Content.Parts = slices.DeleteFunc(e.Content.Parts, func(p *genai.Part) bool { return p == nil })
	}
	return e.Content, nil
}

// textOf returns the texts of a content that are no thoughts.
func textOf(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var texts []string
	for _, p := range c.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
