package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/eval"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

const answers = `
- response: add
  error: add
  say: I cannot.
- response: add
  say: It is {{.response.add.sum}}.
- user: add (?P<a>\d+) and (?P<b>\d+)
  call: {name: add, args: {a: '{{.group.a}}', b: '{{.group.b}}'}}
- user: twice
  call:
    - {name: add, args: {a: "1", b: "1"}}
    - {name: add, args: {a: "2", b: "2"}}
- say: Say what to add.
`

type numbers struct {
	A string `json:"a"`
	B string `json:"b"`
}

type sum struct {
	Sum string `json:"sum"`
}

// evaluate runs the cases of a file with an agent that adds.
func evaluate(t *testing.T, name, file string, change func(*eval.Evaluator)) *eval.Result {
	t.Helper()
	cases, err := eval.Read(name, []byte(file))
	require.NoError(t, err)
	result, err := evaluator(t, change).Run(t.Context(), cases)
	require.NoError(t, err)
	return result
}

func evaluator(t *testing.T, change func(*eval.Evaluator)) *eval.Evaluator {
	t.Helper()
	e := &eval.Evaluator{App: "adder", User: "ann", Sessions: memory.New()}
	if change != nil {
		change(e)
	}
	m, err := script.Parse("answers", []byte(answers))
	require.NoError(t, err)
	add, err := tool.New("add", "adds", func(_ context.Context, _ *tool.Call, n numbers) (sum, error) {
		return sum{n.A + "+" + n.B}, nil
	})
	require.NoError(t, err)
	a, err := llm.New(llm.Config{Name: "adder", Model: m, Tools: []*tool.Tool{e.Tool(add)}})
	require.NoError(t, err)
	polite := &plugin.Plugin{
		Name: "polite",
		OnEvent: func(_ context.Context, _ *session.Invocation, event *session.Event) (plugin.Outcome, error) {
			if event.Author == session.User && event.Text() == "you fool" {
				return plugin.Deny("Please be polite.", "rule 7"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(runner.Options{
		Agent:    a,
		Sessions: e.Sessions,
		Plugins:  []*plugin.Plugin{polite},
		Trace:    e.Trace,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	e.Runner = r
	return e
}

// Each expectation passes where it is met, and says what it has met instead.
func TestExpectations(t *testing.T) {
	for name, row := range map[string]struct{ turn, why string }{
		"calls":                  {`{user: add 1 and 2, expect: {calls: [{name: add, args: {a: "1", b: "2"}}]}}`, ""},
		"calls, other arguments": {`{user: add 1 and 2, expect: {calls: [{name: add, args: {a: "1", b: "3"}}]}}`, `call 1: want add {"a":"1","b":"3"}, got add {"a":"1","b":"2"}`},
		"calls, any arguments":   {`{user: add 1 and 2, expect: {calls: [{name: add}]}}`, ""},
		"calls, a subset":        {`{user: add 1 and 2, expect: {calls: [{name: add, args: {b: "2"}, match: subset}]}}`, ""},
		"calls, exactly":         {`{user: add 1 and 2, expect: {calls: [{name: add, args: {b: "2"}}]}}`, `got add {"a":"1","b":"2"}`},
		"calls, a pattern":       {`{user: add 12 and 2, expect: {calls: [{name: add, args: {a: '\d+'}, match: pattern}]}}`, ""},
		"calls, half a pattern":  {`{user: add 12 and 2, expect: {calls: [{name: add, args: {a: '\d'}, match: pattern}]}}`, `got add`},
		"calls, one too many":    {`{user: twice, expect: {calls: [{name: add}]}}`, `call 2: want none, got add {"a":"2","b":"2"}`},
		"calls, one too few":     {`{user: add 1 and 2, expect: {calls: [{name: add}, {name: add}]}}`, `call 2: want add; made were: add {"a":"1","b":"2"}`},
		"calls, in order":        {`{user: twice, expect: {order: in_order, calls: [{name: add, args: {a: "2", b: "2"}}]}}`, ""},
		"calls, out of order":    {`{user: twice, expect: {order: in_order, calls: [{name: add, args: {a: "2", b: "2"}}, {name: add, args: {a: "1", b: "1"}}]}}`, `call 2, add {"a":"1","b":"1"}, was not made in this order`},
		"calls, in any order":    {`{user: twice, expect: {order: any_order, calls: [{name: add, args: {a: "2", b: "2"}}, {name: add, args: {a: "1", b: "1"}}]}}`, ""},
		"calls, not there":       {`{user: twice, expect: {order: any_order, calls: [{name: subtract}]}}`, `subtract was not made`},
		"calls, none":            {`{user: hi, expect: {calls: []}}`, ""},
		"calls, none, but one":   {`{user: add 1 and 2, expect: {calls: []}}`, `want none, got add`},
		"no calls":               {`{user: hi, expect: {no_calls: true}}`, ""},
		"no calls, but one":      {`{user: add 1 and 2, expect: {no_calls: true}}`, `want none, got add`},
		"text":                   {`{user: add 1 and 2, expect: {text: {equals: It is 1+2., contains: [is], without: [not], pattern: '^It'}}}`, ""},
		"text, equals":           {`{user: hi, expect: {text: {equals: Hi.}}}`, `want "Hi."; the answer is "Say what to add."`},
		"text, contains":         {`{user: hi, expect: {text: {contains: [what, why]}}}`, `"why" is not in it`},
		"text, without":          {`{user: hi, expect: {text: {without: [what]}}}`, `"what" is in it`},
		"text, pattern":          {`{user: hi, expect: {text: {pattern: '^what'}}}`, `the pattern ^what does not match`},
		"text, schema":           {`{user: hi, expect: {text: {schema: {type: object}}}}`, `it is no JSON`},
		"denied":                 {`{user: you fool, expect: {denied: true}}`, ""},
		"denied, but not":        {`{user: hi, expect: {denied: true}}`, "nothing was denied"},
		"not denied, but":        {`{user: you fool, expect: {denied: false}}`, "was denied"},
		"plugin":                 {`{user: you fool, expect: {plugins: [{plugin: polite, did: stopped, reason: rule \d}]}}`, ""},
		"plugin, another reason": {`{user: you fool, expect: {plugins: [{plugin: polite, reason: rule 8}]}}`, "rule 7"},
		"plugin, nothing":        {`{user: hi, expect: {plugins: [{plugin: polite}]}}`, "it did nothing"},
		"nodes":                  {`{user: hi, expect: {nodes: [triage]}}`, "the node triage did not run"},
		"waits":                  {`{user: hi, expect: {waits: [add]}}`, "add does not wait"},
		"state":                  {`{user: hi, expect: {state: {n: 1}}}`, ""},
		"state, another":         {`{user: hi, expect: {state: {n: 2}}}`, "want 2, got 1"},
		"tokens":                 {`{user: hi, expect: {tokens: 100000}}`, ""},
		"tokens, too many":       {`{user: hi, expect: {tokens: 1}}`, "at most 1 tokens"},
		"cost, not known":        {`{user: hi, expect: {cost: 1}}`, "the price of"},
		"latency":                {`{user: hi, expect: {latency: 1ns}}`, "at most 1ns"},
	} {
		t.Run(name, func(t *testing.T) {
			file := "cases:\n  - id: x\n    state: {n: 1}\n    turns:\n      - " + row.turn + "\n"
			c := evaluate(t, "f.yaml", file, nil).Cases[0]
			require.Equal(t, row.why == "", c.Passed, "%v", c.Why())
			if row.why != "" {
				require.Len(t, c.Why(), 1)
				require.Contains(t, c.Why()[0], row.why)
			}
		})
	}
}

// The scores of an eval set are the kit's: calls by their order, answers by ROUGE-1, and both as averages over the turns.
func TestKitSets(t *testing.T) {
	for name, row := range map[string]struct {
		invocation string
		scores     map[string]float64
	}{
		"tool_uses": {
			`{"user_content": {"parts": [{"text": "add 1 and 2"}]}, "final_response": {"parts": [{"text": "It is 1+2."}]},
			  "intermediate_data": {"tool_uses": [{"id": null, "name": "add", "args": {"a": "1", "b": "2"}}]}}`,
			map[string]float64{eval.ToolTrajectory: 1, eval.ResponseMatch: 1}},
		"invocation_events in camelCase": {
			`{"userContent": {"parts": [{"text": "add 1 and 2"}]}, "intermediateData": {"invocationEvents": [
			  {"author": "a", "content": {"parts": [{"functionCall": {"name": "add", "args": {"a": "1", "b": "2"}}}]}}]}}`,
			map[string]float64{eval.ToolTrajectory: 1}},
		"no call is expected": {
			`{"user_content": {"parts": [{"text": "add 1 and 2"}]}, "final_response": {"parts": [{"text": null}]}}`,
			map[string]float64{eval.ToolTrajectory: 0}},
		"half of the words": {
			`{"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "Say what I added!"}]}}`,
			map[string]float64{eval.ToolTrajectory: 1, eval.ResponseMatch: 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			set := `{"eval_set_id": "s", "eval_cases": [{"eval_id": "dir/a test", "conversation": [` + row.invocation + `]}]}`
			c := evaluate(t, "s.evalset.json", set, nil).Cases[0]
			scores := map[string]float64{}
			for _, s := range c.Scores {
				scores[s.Name] = s.Score
			}
			require.Len(t, scores, len(row.scores))
			for name, want := range row.scores {
				require.InDelta(t, want, scores[name], 1e-9, name)
			}
		})
	}

	// The oldest form, and a case that nobody can run.
	older := `[{"query": "add 1 and 2", "expected_tool_use": [{"tool_name": "add", "tool_input": {"a": "1", "b": "2"}}], "reference": "It is 1+2"}]`
	require.True(t, evaluate(t, "x.test.json", older, nil).Cases[0].Passed)
	scenario := `{"eval_cases": [{"eval_id": "s", "conversation_scenario": {"starting_prompt": "hi"}}]}`
	c := evaluate(t, "x.evalset.json", scenario, nil).Cases[0]
	require.False(t, c.Passed)
	require.Contains(t, c.Error, "write a conversation")
}

// With recorded tools nothing is executed: a call gets what is recorded for it, once, or fails and names the nearest.
func TestRecordedTools(t *testing.T) {
	recorded := func(e *eval.Evaluator) { e.Recorded = true }
	c := evaluate(t, "f.yaml", `
cases:
  - id: x
    turns:
      - user: add 1 and 2
        results: [{name: add, args: {b: "2", a: "1"}, result: {sum: "3"}}]
        expect: {text: {equals: It is 3.}}
      - user: add 1 and 2
`, recorded).Cases[0]
	require.Equal(t, []string{`turn 2, recorded tools: 0.00 of 1.00: all that is recorded was given for add {"a":"1","b":"2"}`}, c.Why())
	c = evaluate(t, "f.yaml", `
cases:
  - id: x
    turns:
      - user: add 1 and 2
        results: [{name: other, args: {a: "1"}, result: {}}, {name: add, args: {a: "7", b: "8"}, result: {}}, {name: add, args: {a: "1", b: "3"}, result: {}}]
`, recorded).Cases[0]
	require.Contains(t, c.Why()[0], `the nearest is add {"a":"1","b":"3"}`)
	c = evaluate(t, "f.yaml", `
cases:
  - id: x
    turns:
      - user: add 1 and 2
        results: [{name: add, args: {a: "1", b: "2"}, result: {sum: "3"}}]
      - user: add 1 and 2
`, recorded).Cases[0]
	require.Contains(t, c.Why()[0], `all that is recorded was given for add {"a":"1","b":"2"}`)
}

// Sessions of cases that pass are deleted, those of others stay; a case runs as often as it is asked for.
func TestSessionsAndRates(t *testing.T) {
	var e *eval.Evaluator
	result := evaluate(t, "f.yaml", `
cases:
  - {id: right, turns: [{user: hi}]}
  - {id: wrong, turns: [{user: hi, expect: {denied: true}}]}
`, func(made *eval.Evaluator) {
		e = made
		e.Repeat = 3
		e.Workers = 4
	})
	require.Equal(t, []eval.Rate{
		{File: "f.yaml", Case: "right", Passed: 3, Runs: 3}, {File: "f.yaml", Case: "wrong", Runs: 3}}, result.Rates())
	left := 0
	for s, err := range e.Sessions.List(t.Context(), "adder", "ann") {
		require.NoError(t, err)
		require.Contains(t, s.ID, "eval-wrong-")
		left++
	}
	require.Equal(t, 3, left)
}

// Without a user, no case finds what another one has left in its user's state.
func TestEachCaseHasItsUser(t *testing.T) {
	result := evaluate(t, "f.yaml", `
cases:
  - {id: one, state: {"user:n": 1}, turns: [{user: hi}]}
  - {id: two, turns: [{user: hi, expect: {state: {"user:n": null}}}]}
`, func(e *eval.Evaluator) { e.User = "" })
	for _, c := range result.Cases {
		require.True(t, c.Passed, "%v", c.Why())
	}
}

// What is wrong with a file is said with its name and where it stands.
func TestBadFiles(t *testing.T) {
	for name, row := range map[string]struct{ file, want string }{
		"a.yaml": {"cases:\n  - id: x\n    turns:\n      - {user: hi, expect: {txt: {}}}\n", `a.yaml:4:29: unknown key "txt"`},
		"b.yaml": {"cases: []\n", "there are no cases"},
		"c.yaml": {"cases:\n  - {id: x, turns: [{user: hi, expect: {text: {pattern: '('}}}]}\n", "c.yaml:2:"},
		"d.yaml": {"cases:\n  - {id: x, turns: [{user: a}]}\n  - {id: x, turns: [{user: b}]}\n", `two cases have the id "x"`},
		"e.yaml": {"criteria: {safety_v9: 1}\ncases:\n  - {id: x, turns: [{user: a}]}\n", "e.yaml:1:"},
		"f.json": {"{\n\"eval_cases\": [\n{]", "f.json: line 3: "},
		"g.csv":  {"input,wants\nhi,there\n", `there is no column "wants"`},
		"i.csv":  {"input,calls\nhi,\"[{\"\"name\"\": \"\"f\"\", \"\"match\"\": \"\"some\"\"}]\"\n", `i.csv:2: calls[0].match: "some" is none of`},
		"j.csv":  {"input,input\nhi,you\n", `two columns have the name "input"`},
		"k.json": {`{"eval_cases": [{"eval_id": 7}]}`, "eval_cases.eval_id: a JSON number does not fit there"},
		"l.yaml": {"cases:\n  - {id: x, turns: [{user: hi, expect: {latency: -1s}}]}\n", "l.yaml:2:"},
		"m.yaml": {"criteria: {response_match_score: 7}\ncases: [{id: x, turns: [{user: hi}]}]\n", "from 0 to 1"},
		"n.yaml": {"cases:\n  - {id: x, turns: [{user: hi, expect: {waits: []}}]}\n", "n.yaml:2:48: the list is empty, so it expects nothing"},
		"o.yaml": {"criteria: {tool_trajectory_avg_score: null}\ncases: [{id: x, turns: [{user: hi}]}]\n", "not null"},
		"p.yaml": {"cases: [{id: x, timeout: -1s, turns: [{user: hi}]}]\n", "p.yaml:1:26: it is a time, such as 30s"},
		"q.csv":  {"input,calls\nhi,\"[{\"\"name\"\": \"\"f\"\", \"\"arg\"\": {}}]\"\n", `q.csv:2: calls: it is names, or JSON such as [{"name": "f", "args": {}, "match": "subset"}]: json: unknown field "arg"`},
		"r.csv":  {"input,calls\nhi,[] []\n", "there is more after it"},
		"s.csv":  {"input,state\nhi,[1]\n", `s.csv:2: state: [1] is no JSON object such as {"key": 1}`},
		"t.json": {`{"cases": []}`, "t.json: it has no eval_cases"},
		"u.json": {"null", "u.json: it has no eval_cases"},
		"v.CSV":  {"input,wants\nhi,there\n", `there is no column "wants"`},
		"h.csv":  {"input,denied\nhi,perhaps\n", "h.csv:2: denied: "},
	} {
		_, err := eval.Read(name, []byte(row.file))
		require.ErrorContains(t, err, row.want, name)
		require.ErrorContains(t, err, name)
	}
}

// Whole numbers keep all their digits, in every form of file, and others of their size are others.
func TestLargeNumbers(t *testing.T) {
	const n = "9007199254740993" // a float64 would be …992
	for name, file := range map[string]string{
		"a.yaml": `cases: [{id: x, state: {n: ` + n + `}, turns: [{user: hi, expect: {state: {n: ` + n + `}}}]}]`,
		"a.json": `{"eval_cases": [{"eval_id": "x", "session_input": {"state": {"n": ` + n + `}}, "final_session_state": {"n": ` + n + `},
			"conversation": [{"user_content": {"parts": [{"text": "hi"}]}}]}]}`,
		"a.csv": "input,state\nhi,\"{\"\"n\"\": " + n + "}\"\n",
	} {
		cases, err := eval.Read(name, []byte(file))
		require.NoError(t, err)
		state, err := json.Marshal(cases[0].State)
		require.NoError(t, err)
		require.Equal(t, `{"n":`+n+`}`, string(state), name)
		c := evaluate(t, name, file, nil).Cases[0]
		require.True(t, c.Passed, "%s: %v", name, c.Why())
	}
	c := evaluate(t, "b.yaml", `cases: [{id: x, state: {n: `+n+`}, turns: [{user: hi, expect: {state: {n: 9007199254740992}}}]}]`, nil).Cases[0]
	require.False(t, c.Passed)

	cases, err := eval.Read("c.csv", []byte("input,calls\nhi,\"[{\"\"name\"\": \"\"f\"\", \"\"args\"\": {\"\"n\"\": "+n+"}}]\"\n"))
	require.NoError(t, err)
	require.Equal(t, json.Number(n), cases[0].Turns[0].Expect.Calls[0].Args["n"])
}

// A case that takes longer than its timeout fails; the others go on.
func TestTimeout(t *testing.T) {
	cases, err := eval.Read("f.yaml", []byte(`
cases:
  - {id: own, timeout: 10ms, turns: [{user: wait}, {user: hi}]}
  - {id: given, turns: [{user: wait}]}
  - {id: good, timeout: 1h, turns: [{user: hi}]}
`))
	require.NoError(t, err)
	e := evaluator(t, func(e *eval.Evaluator) { e.Timeout = 20 * time.Millisecond })
	e.Runner = waiting{e.Runner}
	result, err := e.Run(t.Context(), cases)
	require.NoError(t, err)
	require.Equal(t, "turn 1: the case took longer than its timeout, 10ms", result.Cases[0].Error)
	require.Equal(t, "turn 1: the case took longer than its timeout, 20ms", result.Cases[1].Error)
	require.True(t, result.Cases[2].Passed, "%v", result.Cases[2].Why())
}

// waiting lets a run wait until it is ended, if the user says so.
type waiting struct{ runs runs }

func (w waiting) Run(ctx context.Context, key session.Key, e *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error] {
	if e.Text() != "wait" {
		return w.runs.Run(ctx, key, e, cfg)
	}
	return func(yield func(*session.Event, error) bool) {
		<-ctx.Done()
		yield(nil, context.Cause(ctx))
	}
}

// All questions together take no more than one answer above the bound, and a judge that cannot be opened is told before.
func TestJudgeBounds(t *testing.T) {
	rubrics := `{"rubric_id": "a", "rubric_content": {"text_property": "A."}}, {"rubric_id": "b", "rubric_content": {"text_property": "B."}},
		{"rubric_id": "c", "rubric_content": {"text_property": "C."}}`
	criteria, err := eval.ReadCriteria("c.json", []byte(`{"criteria": {"rubric_based_final_response_quality_v1": {"threshold": 0,
		"judge_model_options": {"judge_model": "x"}, "rubrics": [`+rubrics+`]}}}`))
	require.NoError(t, err)
	m := &judgeModel{tokens: 6000}
	j := &eval.Judge{Tokens: 10_000, Models: func(string) (model.Model, error) { return m, nil }}
	cases, err := eval.Read("f.yaml", []byte("cases:\n  - {id: a, turns: [{user: hi}]}\n  - {id: b, turns: [{user: hi}]}\n"))
	require.NoError(t, err)
	for _, c := range cases {
		c.Criteria = criteria
	}
	require.NoError(t, j.Check(cases))
	result, err := evaluator(t, func(e *eval.Evaluator) { e.Judge = j }).Run(t.Context(), cases)
	require.NoError(t, err)
	require.Equal(t, 2, m.asked)
	for _, c := range result.Cases {
		require.Contains(t, c.Error, "the 10000 tokens that judges may take are used")
	}
	require.NoError(t, j.Close(context.Background()))

	closed := &eval.Judge{Models: func(name string) (model.Model, error) { return nil, errors.New("there is no model " + name) }}
	require.ErrorContains(t, closed.Check(cases), "rubric_based_final_response_quality_v1: there is no model gemini:x")
	_, err = eval.ReadCriteria("c.json", []byte(`{"criteria": {"rubric_based_tool_use_quality_v1": {"threshold": 1, "rubrics": [{"rubric_id": "a"}]}}}`))
	require.ErrorContains(t, err, `rubric "a" has no rubric_content`)
	_, err = eval.ReadCriteria("c.json", []byte(`{"criteria": [1]}`))
	require.EqualError(t, err, "c.json: line 1: criteria: a JSON array does not fit there")
}

// judgeModel says yes to texts with a word.
type judgeModel struct {
	asked  int
	tokens int32 // of an answer
}

func (m *judgeModel) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	m.asked++
	text, _ := json.Marshal(req.Contents)
	answer := `{"flagged": false, "score": 0.1}`
	if req.Config != nil && len(text) > 0 && containsText(req, "It is 1+2.") {
		answer = `{"flagged": true, "score": 0.9}`
	}
	return func(yield func(*model.Response, error) bool) {
		r := &model.Response{Content: genai.NewContentFromText(answer, genai.RoleModel), FinishReason: genai.FinishReasonStop}
		r.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: m.tokens}
		yield(r, nil)
	}
}

func containsText(req *model.Request, text string) bool {
	data, _ := json.Marshal(req.Contents)
	return json.Valid(data) && strings.Contains(string(data), text)
}

// A criterion that is judged asks the model once for each answer, and an answer that is kept is not asked for again.
func TestJudges(t *testing.T) {
	criteria, err := eval.ReadCriteria("test_config.json", []byte(`{"criteria": {
		"final_response_match_v2": {"threshold": 1, "judge_model_options": {"judge_model": "gemini-x"}},
		"rubric_based_final_response_quality_v1": {"threshold": 0.5, "judge_model_options": {"judge_model": "gemini-x"},
			"rubrics": [{"rubric_id": "short", "rubric_content": {"text_property": "It is short."}}]}}}`))
	require.NoError(t, err)
	m := &judgeModel{tokens: 10}
	kept := map[string]string{}
	judge := func() *eval.Judge {
		return &eval.Judge{
			Models: func(name string) (model.Model, error) {
				require.Equal(t, "gemini:gemini-x", name)
				return m, nil
			},
			Kept: func(q string) (string, bool) { raw, ok := kept[q]; return raw, ok },
			Keep: func(a guardrail.JudgeAnswer) error { kept[a.Question] = a.Raw; return nil },
		}
	}
	cases := func() []*eval.Case {
		list, err := eval.Read("s.evalset.json", []byte(`{"eval_cases": [
			{"eval_id": "right", "conversation": [{"user_content": {"parts": [{"text": "add 1 and 2"}]}, "final_response": {"parts": [{"text": "one plus two"}]}}]},
			{"eval_id": "wrong", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "Hi!"}]}}]}]}`))
		require.NoError(t, err)
		for _, c := range list {
			c.Criteria = criteria
		}
		return list
	}
	for range 2 {
		j := judge()
		e := evaluator(t, func(e *eval.Evaluator) { e.Judge = j })
		result, err := e.Run(t.Context(), cases())
		require.NoError(t, err)
		require.True(t, result.Cases[0].Passed, "%v", result.Cases[0].Why())
		require.False(t, result.Cases[1].Passed)
		require.Contains(t, result.Cases[1].Why()[0], "final_response_match_v2: 0.00 of 1.00: turn 1: the judge says no")
		require.NoError(t, j.Close(context.Background()))
	}
	require.Equal(t, 4, m.asked)

	// Without a judge nothing can be said.
	result, err := evaluator(t, nil).Run(t.Context(), cases())
	require.NoError(t, err)
	require.Contains(t, result.Cases[0].Error, "no judge is given")
}

// A session that was recorded passes as a case, with what its tools have answered.
func TestRecord(t *testing.T) {
	e := evaluator(t, nil)
	key := session.Key{App: "adder", User: "ann", ID: "s"}
	_, err := e.Sessions.Create(t.Context(), key, map[string]any{"n": 1.0})
	require.NoError(t, err)
	for _, text := range []string{"hi", "add 3 and 4", "twice"} {
		for _, err := range e.Runner.Run(t.Context(), key, session.Message(text), session.RunConfig{}) {
			require.NoError(t, err)
		}
	}
	s, err := e.Sessions.Get(t.Context(), key)
	require.NoError(t, err)
	var log []*session.Event
	for event, err := range e.Sessions.Read(t.Context(), key, session.Selection{}) {
		require.NoError(t, err)
		log = append(log, event)
	}
	c, withheld := eval.Record(s, log)
	require.Zero(t, withheld)
	require.Len(t, c.Turns, 3)
	require.Equal(t, map[string]any{"n": 1.0}, c.State)

	// Inputs that a plugin has withheld are counted, with an id of the client's or without one.
	for _, id := range []string{"rude", ""} {
		for _, err := range e.Runner.Run(t.Context(), key, &session.Event{
			ID: id, Author: session.User, Content: session.Message("you fool").Content}, session.RunConfig{}) {
			require.NoError(t, err)
		}
	}
	log = nil
	for event, err := range e.Sessions.Read(t.Context(), key, session.Selection{}) {
		require.NoError(t, err)
		log = append(log, event)
	}
	_, withheld = eval.Record(s, log)
	require.Equal(t, 2, withheld)
	result, err := evaluator(t, func(e *eval.Evaluator) { e.Recorded = true }).Run(t.Context(), []*eval.Case{c})
	require.NoError(t, err)
	require.True(t, result.Cases[0].Passed, "%v", result.Cases[0].Why())
}

// A recorded case is written as it is, whatever its texts and numbers are, or not at all.
func TestCaseInYAML(t *testing.T) {
	odd := []string{"a\tb", "a\r\nb", "\n", "\t x\n y", "\x1b[31mred", "? what", ".inf", "1e-7", "\u2028", "", " a "}
	numbers := []any{1e-7, 1e21, json.Number("100000000000000000000"), json.Number("9007199254740993"), 0.5}
	c := &eval.Case{ID: "x", State: map[string]any{"n": numbers}}
	for _, text := range odd {
		value := map[string]any{text: text, "n": numbers, "list": []any{text, []any{}, map[string]any{}}}
		c.Turns = append(c.Turns, &eval.Turn{
			User:    "x" + text,
			Results: []eval.RecordedResult{{Name: "f", Args: value, Result: value}},
			Answers: []eval.RecordedAnswer{{Agent: "a", Text: text, Calls: []eval.RecordedCall{{Name: "f", Args: value}}}},
			Expect:  eval.Expect{Calls: []eval.ExpectedCall{{Name: "f", Args: value}}, Text: &eval.ExpectedText{Equals: &text}},
		})
	}
	text, err := c.YAML()
	require.NoError(t, err)
	cases, err := eval.Read("f.yaml", text)
	require.NoError(t, err)
	want, err := json.Marshal(c)
	require.NoError(t, err)
	got, err := json.Marshal(cases[0])
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Contains(t, string(got), "9007199254740993")

	// What is too deep for the reader is told.
	deep := any("x")
	for range 150 {
		deep = []any{deep}
	}
	_, err = (&eval.Case{ID: "x", State: map[string]any{"deep": deep}, Turns: []*eval.Turn{{User: "hi"}}}).YAML()
	require.ErrorContains(t, err, "cannot be written in YAML: case.yaml:")
}

// Two results are compared by case, by score and by the first event at which they part.
func TestCompare(t *testing.T) {
	before := &eval.Result{Cases: []eval.CaseResult{
		{File: "f", Case: "a", Passed: true, Events: []string{"user: hi", "bot: hello"}, Scores: []eval.Score{{Name: "x", Score: 1}}},
		{File: "f", Case: "b", Passed: true, Events: []string{"user: hi"}},
	}}
	after := &eval.Result{Cases: []eval.CaseResult{
		{File: "f", Case: "a", Events: []string{"user: hi", "bot: bye"}, Scores: []eval.Score{{Name: "x", Score: 0.5}}},
		{File: "f", Case: "b", Passed: true, Events: []string{"user: hi"}},
	}}
	compare := func(before, after *eval.Result) []eval.Difference {
		list, err := eval.Compare(t.Context(), before, after)
		require.NoError(t, err)
		return list
	}
	list := compare(before, after)
	require.Len(t, list, 1)
	d := list[0]
	require.True(t, d.Worse())
	was, is := 1.0, 0.5
	require.Equal(t, []eval.ScoreDifference{{Name: "x", Was: &was, Is: &is}}, d.Scores)
	require.Equal(t, 2, d.Event)
	require.Equal(t, []string{"bot: hello", "bot: bye"}, []string{d.Before, d.After})
	require.Empty(t, compare(before, before))

	// A case that has passed and is gone is worse.
	gone := compare(before, &eval.Result{Cases: after.Cases[:1]})[1]
	require.Equal(t, "b", gone.Case)
	require.Nil(t, gone.Is)
	require.True(t, gone.Worse())

	// Whoever interrupts it is heeded.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := eval.Compare(ctx, before, after)
	require.ErrorIs(t, err, context.Canceled)
}

// Fifty thousand cases are compared in a moment: work that grew with the square would outlast the tests.
func TestCompareMany(t *testing.T) {
	r := &eval.Result{}
	for i := range 50_000 {
		scores := []eval.Score{{Name: "x", Score: 1}}
		r.Cases = append(r.Cases, eval.CaseResult{File: "f", Case: fmt.Sprint(i), Passed: true, Scores: scores})
	}
	r.Cases[0].Scores = nil
	for i := range 50_000 {
		r.Cases[0].Scores = append(r.Cases[0].Scores, eval.Score{Turn: i + 1, Name: "x"})
	}
	require.Len(t, r.Rates(), 50_000)
	list, err := eval.Compare(t.Context(), r, r)
	require.NoError(t, err)
	require.Empty(t, list)
}

// A case that runs nothing does not pass, and null stands for nothing.
func TestCasesWithoutTurns(t *testing.T) {
	for file, why := range map[string]string{
		`{"eval_cases": [{"eval_id": "typo", "conversaton": [{"user_content": {"parts": [{"text": "hi"}]}}]}]}`: "it has no conversation",
		`{"eval_cases": [null]}`: "it has no conversation",
		`[]`:                     "the list is empty",
	} {
		c := evaluate(t, "f.json", file, nil).Cases[0]
		require.False(t, c.Passed, file)
		require.Contains(t, c.Error, why)
	}
	c := evaluate(t, "f.json", `{"eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"parts": [null, {"text": "hi"}]},
		"final_response": {"parts": [null]}, "intermediate_data": {"invocation_events": [{"content": {"parts": [null]}}, {"content": null}]}}]}]}`, nil).Cases[0]
	require.True(t, c.Passed, "%v", c.Why())
}

// A state that no session can begin with fails its case; what has ended when the evaluation is cut off is in its result.
func TestOneCaseEndsNoOther(t *testing.T) {
	result := evaluate(t, "f.yaml", `
cases:
  - {id: bad, state: {"": 1}, turns: [{user: hi}]}
  - {id: good, turns: [{user: hi}]}
`, nil)
	require.Contains(t, result.Cases[0].Error, "state: ")
	require.True(t, result.Cases[1].Passed)

	cases, err := eval.Read("f.yaml", []byte("cases:\n  - {id: first, turns: [{user: hi}]}\n  - {id: second, turns: [{user: hi}]}\n  - {id: third, turns: [{user: hi}]}\n"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	e := evaluator(t, nil)
	e.Runner = cancelling{e.Runner, cancel, new(int)}
	result, err = e.Run(ctx, cases)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, result.Cases, 2)
	require.True(t, result.Cases[0].Passed)
	require.Contains(t, result.Cases[1].Error, "it was cut off")
	require.NotEmpty(t, result.Cases[1].Session)
}

// cancelling cancels in the second run.
type cancelling struct {
	runs   runs
	cancel context.CancelFunc
	n      *int
}

type runs interface {
	Run(context.Context, session.Key, *session.Event, session.RunConfig) iter.Seq2[*session.Event, error]
}

func (c cancelling) Run(ctx context.Context, key session.Key, e *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error] {
	if *c.n++; *c.n == 2 {
		c.cancel()
	}
	return c.runs.Run(ctx, key, e, cfg)
}

// A run that fails ends its case, and the next case goes on.
func TestAFailedRun(t *testing.T) {
	e := &eval.Evaluator{App: "x", User: "u", Sessions: memory.New(), Runner: failing{}}
	cases, err := eval.Read("f.yaml", []byte("cases:\n  - {id: a, turns: [{user: hi}, {user: you}]}\n  - {id: b, turns: [{approve: [f]}]}\n"))
	require.NoError(t, err)
	result, err := e.Run(t.Context(), cases)
	require.NoError(t, err)
	require.Equal(t, "turn 1: the model is gone", result.Cases[0].Error)
	require.Contains(t, result.Cases[1].Error, `no call waits that "f" could name`)
}

type failing struct{}

func (failing) Run(context.Context, session.Key, *session.Event, session.RunConfig) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("the model is gone")) }
}
