package eval

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// What the Agent Development Kit writes. Names below the case are read in snake_case and in camelCase; what is not known
// is passed over.
type kitSet struct {
	ID    string    `json:"eval_set_id"`
	ID2   string    `json:"evalSetId"`
	Cases []kitCase `json:"eval_cases"`
	More  []kitCase `json:"evalCases"`
}

type kitCase struct {
	ID           string          `json:"eval_id"`
	ID2          string          `json:"evalId"`
	Conversation []kitInvocation `json:"conversation"`
	Scenario     json.RawMessage `json:"conversation_scenario"`
	Scenario2    json.RawMessage `json:"conversationScenario"`
	Session      *kitSession     `json:"session_input"`
	Session2     *kitSession     `json:"sessionInput"`
	Final        map[string]any  `json:"final_session_state"`
	Final2       map[string]any  `json:"finalSessionState"`
}

type kitSession struct {
	State map[string]any `json:"state"`
}

type kitInvocation struct {
	User      json.RawMessage  `json:"user_content"`
	User2     json.RawMessage  `json:"userContent"`
	Response  json.RawMessage  `json:"final_response"`
	Response2 json.RawMessage  `json:"finalResponse"`
	Between   *kitIntermediate `json:"intermediate_data"`
	Between2  *kitIntermediate `json:"intermediateData"`
	Older     []kitOlderCall   `json:"expected_tool_use"`
}

type kitIntermediate struct {
	Uses       []kitFunction   `json:"tool_uses"`
	Uses2      []kitFunction   `json:"toolUses"`
	Responses  []kitFunction   `json:"tool_responses"`
	Responses2 []kitFunction   `json:"toolResponses"`
	Events     []kitEventBlock `json:"invocation_events"`
	Events2    []kitEventBlock `json:"invocationEvents"`
}

type kitFunction struct {
	ID       *string        `json:"id"`
	Name     string         `json:"name"`
	Args     map[string]any `json:"args"`
	Response map[string]any `json:"response"`
}

type kitEventBlock struct {
	Content json.RawMessage `json:"content"`
}

// The oldest form of the kit: a list of questions with the calls and the answer that are expected.
type kitOlderTurn struct {
	Query     string         `json:"query"`
	Calls     []kitOlderCall `json:"expected_tool_use"`
	Reference *string        `json:"reference"`
}

type kitOlderCall struct {
	Name   string         `json:"tool_name"`
	Args   map[string]any `json:"tool_input"`
	Output any            `json:"mock_tool_output"`
}

// readKit reads an eval set of the kit.
func readKit(data []byte) ([]*Case, error) {
	var set kitSet
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	var cases []*Case
	for i, k := range append(set.Cases, set.More...) {
		c := &Case{ID: k.ID + k.ID2}
		if c.ID == "" {
			c.ID = fmt.Sprint("case-", i+1)
		}
		if s := either(k.Session, k.Session2); s != nil {
			c.State = s.State
		}
		if len(k.Scenario)+len(k.Scenario2) > 0 && len(k.Conversation) == 0 {
			c.Unfit = "a conversation_scenario wants somebody who plays the user, which nobody does here; write a conversation"
		}
		for n := range k.Conversation {
			t, err := k.Conversation[n].turn()
			if err != nil {
				return nil, fmt.Errorf("case %s, invocation %d: %w", c.ID, n+1, err)
			}
			c.Turns = append(c.Turns, t)
		}
		final := k.Final
		if final == nil {
			final = k.Final2
		}
		if n := len(c.Turns); n > 0 && len(final) > 0 {
			c.Turns[n-1].Expect.State = final
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// turn returns an invocation as a turn.
func (k *kitInvocation) turn() (*Turn, error) {
	t := &Turn{reference: &reference{}}
	var err error
	if t.Content, err = contentOf(append(k.User, k.User2...)); err != nil {
		return nil, fmt.Errorf("user_content: %w", err)
	}
	if t.Content == nil {
		return nil, fmt.Errorf("user_content is missing")
	}
	answer, err := contentOf(append(k.Response, k.Response2...))
	if err != nil {
		return nil, fmt.Errorf("final_response: %w", err)
	}
	t.reference.text = textOf(answer)
	t.reference.hasText = t.reference.text != ""
	for _, c := range k.Older {
		t.addOlder(c)
	}
	if between := either(k.Between, k.Between2); between != nil {
		err = between.addTo(t)
	}
	if last, says := answerIn(answer); says {
		t.Answers = append(t.Answers, last)
	}
	return t, err
}

// addTo takes in the calls and results of both forms.
func (k *kitIntermediate) addTo(t *Turn) error {
	calls := append(k.Uses, k.Uses2...)
	if len(calls) > 0 { // made at once, as far as this form tells
		var a RecordedAnswer
		for _, c := range calls {
			a.Calls = append(a.Calls, RecordedCall{Name: c.Name, Args: c.Args})
		}
		t.Answers = append(t.Answers, a)
	}
	responses := append(k.Responses, k.Responses2...)
	for _, e := range append(k.Events, k.Events2...) {
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
				calls = append(calls, kitFunction{ID: &f.ID, Name: f.Name, Args: f.Args})
			}
			if f := p.FunctionResponse; f != nil {
				responses = append(responses, kitFunction{ID: &f.ID, Name: f.Name, Response: f.Response})
			}
		}
	}
	used := make([]bool, len(responses))
	for _, c := range calls {
		t.reference.calls = append(t.reference.calls, ExpectedCall{Name: c.Name, Args: notNil(c.Args)})
		for i, r := range responses {
			sameID := c.ID != nil && r.ID != nil && *c.ID != "" && *c.ID == *r.ID
			noID := (c.ID == nil || *c.ID == "") && c.Name == r.Name
			if !used[i] && (sameID || noID) {
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
	if c.Output == nil {
		return
	}
	result, ok := c.Output.(map[string]any)
	if !ok {
		result = map[string]any{"result": c.Output}
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

// contentOf reads a content in any spelling of the kit's, nil if there is none.
func contentOf(data []byte) (*genai.Content, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	wrapped := append(append([]byte(`{"content":`), data...), '}')
	e, err := session.DecodeEvent(wrapped)
	if err != nil {
		return nil, err
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
		if p != nil && p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
