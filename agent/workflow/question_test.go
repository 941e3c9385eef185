package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// asker is a node that asks, and whose output is the answers.
func asker[T any](name string, questions ...string) *workflow.Node {
	return workflow.Func(name, func(ctx context.Context, r *workflow.Run, _ any) ([]T, error) {
		var answers []T
		var open error
		for _, q := range questions {
			a, err := workflow.Ask[T](ctx, r, q, q+"?")
			open = errors.Join(open, err)
			answers = append(answers, a)
		}
		return answers, open
	})
}

func answer(path string, value any) *session.Event { return workflow.Answer("wf@m/"+path, value) }

// both joins the answers of inputs.
func both(inputs ...*session.Event) *session.Event {
	for _, in := range inputs[1:] {
		inputs[0].Content.Parts = append(inputs[0].Content.Parts, in.Content.Parts...)
	}
	return inputs[0]
}

// 62 to 66, 71.
func TestQuestions(t *testing.T) {
	a, b := gives("a", 1), asker[string]("b", "q")
	s := newStage(t)
	g := newGraph(t, chain(start, a, b, takes("c")))
	require.Equal(t, []string{"a@1: 1", "b@1: calls adk_request_input"}, s.steps(g, message("m")))
	require.Empty(t, s.steps(g, nil), "nothing goes on without the answer")
	require.Equal(t, []string{`b@1: ["yes"]`, `c@1: ["yes"]`, `wf: ["yes"]`},
		s.steps(g, answer("b@1#q", "yes")))
	_, err := s.events(g, answer("b@1#q", "no"))
	require.ErrorIs(t, err, runner.ErrNotWaiting, "it was answered, and begins nothing")

	// 63, 64: others run while one waits; a node that asks several waits for all.
	two := asker[int]("two", "x", "y")
	s = newStage(t)
	j := workflow.Join("j")
	g = newGraph(t, chain(start, two, j), chain(start, a, takes("other"), j))
	require.ElementsMatch(
		t,
		[]string{
			"two@1: calls adk_request_input",
			"two@1: calls adk_request_input",
			"a@1: 1",
			"other@1: 1",
		},
		s.steps(g, message("m")),
	)
	require.Empty(t, s.steps(g, answer("two@1#x", 1)))
	require.Equal(t,
		[]string{"two@1: [1,2]", `j@1: {"other":1,"two":[1,2]}`, `wf: {"other":1,"two":[1,2]}`},
		s.steps(g, answer("two@1#y", 2)))
	s = newStage(t)
	s.steps(g, message("m"))
	require.Equal(t, "two@1: [1,2]",
		s.steps(g, both(answer("two@1#x", 1), answer("two@1#y", 2)))[0])

	// Two nodes that wait: each goes on with its own answer.
	s = newStage(t)
	g = newGraph(t, chain(start, asker[string]("l", "q"), j),
		chain(start, asker[string]("r", "q"), j))
	s.steps(g, message("m"))
	require.Equal(t, []string{`r@1: ["R"]`}, s.steps(g, answer("r@1#q", "R")))
	require.Equal(t,
		[]string{`l@1: ["L"]`, `j@1: {"l":["L"],"r":["R"]}`, `wf: {"l":["L"],"r":["R"]}`},
		s.steps(g, answer("l@1#q", "L")))
}

// 65, 66: what an answer may be.
func TestAnswers(t *testing.T) {
	type verdict struct {
		Send bool   `json:"send"`
		Why  string `json:"why,omitempty"`
	}
	respond := func(id string, response map[string]any) *session.Event {
		e := session.Respond(&genai.FunctionCall{ID: id, Name: session.AskTool}, response)
		e.Author = session.User
		return e
	}
	g := newGraph(t, chain(start, asker[verdict]("a", "q")))
	id := "wf@m/a@1#q"
	for name, response := range map[string]map[string]any{
		"result":      {"result": map[string]any{"send": true}},
		"a text":      {"result": `{"send":true}`},
		"the whole":   {"send": true},
		"Go's":        {"response": map[string]any{"send": true}},
		"Go's other":  {"payload": map[string]any{"send": true, "why": ""}},
		"and unknown": {"send": true, "more": 1},
	} {
		s := newStage(t)
		s.steps(g, message("m"))
		steps := s.steps(g, respond(id, response))
		require.Equal(t, `a@1: [{"send":true}]`, steps[0], name)
	}

	// A wrong one is refused, and the question asked again, with the reason.
	s := newStage(t)
	s.steps(g, message("m"))
	events, err := s.events(g,
		respond(id, map[string]any{"result": map[string]any{"send": "maybe"}}))
	require.NoError(t, err)
	again := events[1].FunctionCalls()[0]
	require.Equal(t, id+"#2", again.ID)
	require.Contains(t, again.Args["message"], "q?\n(The answer before was refused: ")
	require.Contains(t, again.Args["message"], "/send")
	require.Equal(t, "object", again.Args["response_schema"].(map[string]any)["type"])
	require.Equal(t, []string{"a@1: calls adk_request_input"},
		s.steps(g, respond(id+"#2", map[string]any{"nonsense": 1})))
	require.Equal(t, `a@1: [{"send":false,"why":"no"}]`,
		s.steps(g, respond(id+"#3", map[string]any{"send": false, "why": "no"}))[0])
}

// A question's schema may be a value: of package genai, or a map. The answer is a JSON value that
// fits.
func TestAskSchema(t *testing.T) {
	object := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"size":   map[string]any{"type": "integer"},
			"colour": map[string]any{"enum": []any{"red", "blue"}},
		},
		"required": []any{"size"},
	}
	same := &genai.Schema{
		Type: genai.TypeObject,
		Properties: map[string]*genai.Schema{
			"size":   {Type: genai.TypeInteger},
			"colour": {Enum: []string{"red", "blue"}},
		},
		Required: []string{"size"},
	}
	for name, schema := range map[string]any{"a map": object, "of package genai": same} {
		s := newStage(t)
		g := newGraph(t, chain(
			start,
			workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
				return workflow.AskSchema(ctx, r, "q", "?", schema)
			}),
		))
		events, err := s.events(g, message("m"))
		require.NoError(t, err)
		asked, _ := events[1].FunctionCalls()[0].Args["response_schema"].(map[string]any)
		require.Equal(t, "object", asked["type"], name)
		require.Len(t, asked["properties"], 2, name)
		events, err = s.events(g, answer("a@1#q", map[string]any{"size": "large"}))
		require.NoError(t, err)
		require.Contains(t, events[1].FunctionCalls()[0].Args["message"], "refused: /size", name)
		require.Equal(t, `a@1: {"colour":"red","size":3}`,
			s.steps(g, answer("a@1#q#2", map[string]any{"size": 3, "colour": "red"}))[0], name)
	}

	s := newStage(t)
	g := newGraph(t, chain(
		start,
		workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
			return workflow.AskSchema(ctx, r, "q", "?", map[string]any{"type": "objct"})
		}),
	))
	require.Equal(t, "a@1: NODE_FAILED", s.steps(g, message("m"))[0])
}

// The reason of a refusal is about the answer, and not about the object around it.
func TestARefusalSaysWhatIsWrongWithTheAnswer(t *testing.T) {
	s := newStage(t)
	g := newGraph(t, chain(start, asker[int]("a", "q")))
	s.steps(g, message("m"))
	events, err := s.events(g, answer("a@1#q", "many"))
	require.NoError(t, err)
	require.Equal(t, "q?\n(The answer before was refused: is of type string, must be integer)",
		events[1].FunctionCalls()[0].Args["message"])
}

// 67, 70: asked again in a loop, and by two triggers one after the other.
func TestQuestionsAgain(t *testing.T) {
	a := workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (*int, error) {
		word, err := workflow.Ask[string](ctx, r, "q", "?")
		r.Route(word)
		return nil, err
	})
	s := newStage(t)
	g := newGraph(t, chain(start, a), []workflow.Edge{{From: a, To: a, Route: "again"}})
	s.steps(g, message("m"))
	require.Equal(t, []string{"a@1: null route again", "a@2: calls adk_request_input"},
		s.steps(g, answer("a@1#q", "again")))
	require.Equal(t, []string{"a@2: null route on", "wf: null"}, s.steps(g, answer("a@2#q", "on")))

	s = newStage(t)
	g = newGraph(t, chain(start, gives("x", 1), a), chain(start, gives("y", 1), a))
	require.Len(t, s.steps(g, message("m")), 3, "one question")
	require.Equal(t, []string{"a@1: null route r", "a@2: calls adk_request_input"},
		s.steps(g, answer("a@1#q", "r")))
}

// 68, 69: two runs in a session, each with its own questions.
func TestTwoRuns(t *testing.T) {
	s := newStage(t)
	g := newGraph(t, chain(start, takes("a"), asker[string]("b", "q")))
	s.steps(g, message("one"))
	second := session.Message("second")
	second.ID = "two"
	require.Equal(t, []string{`a@1: "second"`, "b@1: calls adk_request_input"}, s.steps(g, second))
	events, err := s.events(g, workflow.Answer("wf@one/b@1#q", "yes"))
	require.NoError(t, err)
	require.Equal(t, "wf@one/b@1", events[1].NodeInfo.Path)
	require.Equal(t, "wf@one", events[2].NodeInfo.Path)
	require.Len(t, events, 3)
	events, err = s.events(g, workflow.Answer("wf@two/b@1#q", "no"))
	require.NoError(t, err)
	require.Equal(t, "wf@two", events[2].NodeInfo.Path)
}

// 49: a question within a graph, a worker and a child.
func TestQuestionsBelow(t *testing.T) {
	in, err := workflow.New(
		workflow.Graph{Name: "in", Edges: chain(start, gives("x", 1), asker[string]("a", "q"))})
	require.NoError(t, err)
	s := newStage(t)
	g := newGraph(t, chain(start, workflow.Agent(in), takes("z")))
	require.Equal(t, []string{"in@1/x@1: 1", "in@1/a@1: calls adk_request_input"},
		s.steps(g, message("m")))
	require.Equal(t, []string{`in@1/a@1: ["y"]`, `in@1: ["y"]`, `z@1: ["y"]`, `wf: ["y"]`},
		s.steps(g, answer("in@1/a@1#q", "y")))

	s = newStage(t)
	g = newGraph(t,
		chain(start, gives("l", []int{1, 2}), workflow.Each(asker[string]("w", "q"), 1)))
	require.Equal(
		t,
		[]string{
			"l@1: [1,2]",
			"w@1/w@1: calls adk_request_input",
			"w@1/w@2: calls adk_request_input",
		},
		s.steps(g, message("m")),
	)
	require.Equal(t, []string{`w@1/w@2: ["b"]`}, s.steps(g, answer("w@1/w@2#q", "b")))
	require.Equal(t, []string{`w@1/w@1: ["a"]`, `w@1: [["a"],["b"]]`, `wf: [["a"],["b"]]`},
		s.steps(g, answer("w@1/w@1#q", "a")))
}

// 50 to 55: nodes that run others.
func TestDo(t *testing.T) {
	calls := map[string]int{}
	child := workflow.Func("child", func(_ context.Context, r *workflow.Run, in int) (int, error) {
		calls[r.Path]++
		if in < 0 {
			return 0, errors.New("negative")
		}
		return in * 2, nil
	})
	asks := asker[string]("asks", "q")
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		a, err := workflow.Do[int](ctx, r, child, "", 1)
		if err != nil {
			return "", err
		}
		b, err := workflow.Do[int](ctx, r, child, "second", a)
		if err != nil {
			return "", err
		}
		same, err := workflow.Do[int](ctx, r, child, "own", 5)
		again, _ := workflow.Do[int](ctx, r, child, "own", 5)
		if err != nil || same != again {
			return "", fmt.Errorf("%d is not %d (%w)", same, again, err)
		}
		_, err = workflow.Do[int](ctx, r, child, "bad", -1)
		var failed *workflow.Error
		if !errors.As(err, &failed) || failed.Code != workflow.NodeFailed {
			return "", fmt.Errorf("no failure but %w", err)
		}
		_, err = workflow.Do[int](ctx, r, child, "12", 1)
		if err == nil || !strings.Contains(err.Error(), "must not be a number") {
			return "", fmt.Errorf("a number: %w", err)
		}
		words, err := workflow.Do[[]string](ctx, r, asks, "", nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(a, b, same, words), nil
	})
	s := newStage(t)
	g := newGraph(t, chain(start, p))
	want := []string{
		"p@1/child@1: 2",
		"p@1/child@second: 4",
		"p@1/child@own: 10",
		"p@1/child@bad: NODE_FAILED",
		"p@1/asks@1: calls adk_request_input",
	}
	require.Equal(t, want, s.steps(g, message("m")))
	require.Equal(t, []string{`p@1/asks@1: ["yes"]`, `p@1: "2 4 10 [yes]"`, `wf: "2 4 10 [yes]"`},
		s.steps(g, answer("p@1/asks@1#q", "yes")))
	for path, n := range calls {
		require.Equal(t, 1, n, path)
	}

	// An agent has to be listed, so that its events are found.
	talker := workflow.Agent(says("talker", "hi"))
	p = workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		return workflow.Do[string](ctx, r, talker, "", nil)
	})
	events, err := newStage(t).events(newGraph(t, chain(start, p)), message("m"))
	require.NoError(t, err)
	require.Contains(t, events[1].ErrorMessage, "list it in Graph.Children")
	g, err = workflow.New(
		workflow.Graph{Name: "wf", Edges: chain(start, p), Children: []*workflow.Node{talker}})
	require.NoError(t, err)
	require.Contains(t, newStage(t).steps(g, message("m")), `p@1: "hi"`)
}

// What a run says is said once, however often it is made.
func TestSaidOnce(t *testing.T) {
	a := workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		if err := r.Say("before"); err != nil {
			return "", err
		}
		word, err := workflow.Ask[string](ctx, r, "q", "?")
		if err != nil {
			return "", err
		}
		return word, r.Say("after")
	})
	s := newStage(t)
	g := newGraph(t, chain(start, a))
	require.Equal(t, []string{"a@1: says before", "a@1: calls adk_request_input"},
		s.steps(g, message("m")))
	require.Equal(t, []string{"a@1: says after", `a@1: "x"`, `wf: "x"`},
		s.steps(g, answer("a@1#q", "x")))
}

// A function must not go on over an open question.
func TestQuestionThatIsIgnored(t *testing.T) {
	a := workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		_, _ = workflow.Ask[string](ctx, r, "q", "?")
		return 1, nil
	})
	require.Equal(t,
		[]string{"a@1: calls adk_request_input", "a@1: NODE_FAILED", "wf: NODE_FAILED"},
		newStage(t).steps(newGraph(t, chain(start, a)), message("m")))
}

func newTool(t *testing.T, calls *int, change func(*tool.Tool) *tool.Tool) *workflow.Node {
	type args struct {
		N int `json:"n"`
	}
	tl, err := tool.New("double", "", func(_ context.Context, c *tool.Call, in args) (int, error) {
		*calls++
		c.Set("n", in.N)
		if in.N < 0 {
			return 0, errors.New("negative")
		}
		return in.N * 2, nil
	})
	require.NoError(t, err)
	if change != nil {
		tl = change(tl)
	}
	return workflow.Tool(tl)
}

// Tools as nodes: the call is in the log first, and the response ends the run.
func TestToolNodes(t *testing.T) {
	calls := 0
	n := newTool(t, &calls, nil)
	s := newStage(t)
	require.Equal(t, []string{`a@1: {"n":3}`, "double@1: calls double", "double@1: 6", "wf: 6"},
		s.steps(newGraph(t, chain(start, gives("a", map[string]any{"n": 3}), n)), message("m")))
	state, err := s.svc.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 3.0}, state.State)

	// A tool that fails is tried again with another call; wrong arguments fail it, too.
	n.Retry.Attempts = 2
	require.Equal(
		t,
		[]string{
			`a@1: {"n":-1}`,
			"double@1: calls double",
			"double@1: NODE_FAILED",
			"double@1: calls double",
			"double@1: NODE_FAILED",
			"wf: NODE_FAILED",
		},
		newStage(
			t,
		).steps(newGraph(t, chain(start, gives("a", map[string]any{"n": -1}), n)), message("m")),
	)
	require.Equal(t, 3, calls)
	n.Retry.Attempts = 0
	events, err := newStage(
		t).events(newGraph(t, chain(start, gives("a", map[string]any{"m": -1}), n)), message("m"))
	require.NoError(t, err)
	require.Contains(t, events[len(events)-1].ErrorMessage, "/m: is not known")
	require.Equal(t, []string{`a@1: "text"`, "double@1: NODE_INPUT", "wf: NODE_INPUT"},
		newStage(t).steps(newGraph(t, chain(start, gives("a", "text"), n)), message("m")))

	// A human is asked.
	calls = 0
	held := newTool(t, &calls, func(tl *tool.Tool) *tool.Tool { return tool.Confirm(tl, "sure?") })
	g := newGraph(t, chain(start, gives("a", map[string]any{"n": 3}), held))
	s = newStage(t)
	s.steps(g, message("m"))
	require.Zero(t, calls)
	require.Equal(t, []string{"double@1: 6", "wf: 6"},
		s.steps(g, session.Decision(true, "wf@m/double@1#call")))
	s = newStage(t)
	s.steps(g, message("m"))
	require.Equal(t, []string{"double@1: NODE_FAILED", "wf: NODE_FAILED"},
		s.steps(g, session.Decision(false, "wf@m/double@1#call")))
	require.Equal(t, 1, calls)

	// The answer comes later.
	later := newTool(t, &calls, func(tl *tool.Tool) *tool.Tool {
		tl.LongRunning = true
		tl.Run = func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil }
		return tl
	})
	s = newStage(t)
	g = newGraph(t, chain(start, gives("a", map[string]any{"n": 3}), later))
	s.steps(g, message("m"))
	require.Equal(t, []string{`double@1: "done"`, `wf: "done"`},
		s.steps(g, answer("double@1#call", "done")))

	// An interim answer comes first.
	interim := newTool(t, &calls, func(tl *tool.Tool) *tool.Tool {
		tl.LongRunning = true
		tl.Run = func(context.Context, *tool.Call) (map[string]any, error) {
			return map[string]any{"status": "pending"}, nil
		}
		return tl
	})
	s = newStage(t)
	g = newGraph(t, chain(start, gives("a", map[string]any{"n": 3}), interim))
	s.steps(g, message("m"))
	require.Equal(t, []string{`double@1: "done"`, `wf: "done"`},
		s.steps(g, answer("double@1#call", "done")))

	// A plugin answers, or denies.
	p := &plugin.Plugin{
		Name: "p",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionCalls()) == 0 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					session.Respond(e.FunctionCalls()[0], map[string]any{"error": "denied"}),
				},
			}, nil
		},
	}
	calls = 0
	require.Equal(
		t,
		[]string{
			`a@1: {"n":3}`,
			"double@1: calls double",
			"double@1: NODE_FAILED",
			"wf: NODE_FAILED",
		},
		slices.DeleteFunc(
			newStage(
				t,
				p,
			).steps(newGraph(t, chain(start, gives("a", map[string]any{"n": 3}), newTool(t, &calls, nil))), message("m")),
			func(s string) bool { return strings.HasSuffix(s, "says ") },
		),
	)
	require.Zero(t, calls)
}

// A node with Once whose process ended is not run again, unless a person says so.
func TestOnce(t *testing.T) {
	ran := 0
	a := workflow.Func("a",
		func(_ context.Context, r *workflow.Run, _ any) (int, error) { ran++; return ran, nil })
	a.Once = true
	s := newStage(t)
	g := newGraph(t, chain(start, a))
	require.Equal(t, []string{"a@1: calls a", "a@1: 1", "wf: 1"}, s.steps(g, message("m")))

	crash := &fragile{Service: newStage(t).svc}
	appends := 0
	crash.fails = func() int {
		if appends++; appends == 3 { // the input, the call, the end
			return 1
		}
		return 0
	}
	s = newStage(t)
	crash.Service = s.svc
	s.svc = crash
	_, err := s.events(g, message("m"))
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, 2, ran)
	events, err := s.events(g, nil)
	require.NoError(t, err)
	question := events[len(events)-1].FunctionCalls()[0]
	require.Equal(t, "wf@m/a@1#call#cut-off", question.ID)
	require.Contains(t, question.Args["message"],
		"The call wf@m/a@1#call was cut off, and may or may not have had its effects: a {")
	require.Empty(t, s.steps(g, nil), "it waits for the answer")
	require.Equal(t, []string{"a@1: calls adk_request_input"},
		s.steps(g, answer("a@1#call#cut-off", "what?")), "it is asked again")
	require.Equal(t, 2, ran)
	logged := s.live()
	for said, want := range map[string][]string{
		"again":      {"a@1: calls a", "a@1: 3", "wf: 3"},
		"7":          {"a@1: 7", "wf: 7"},
		`{"id":"x"}`: {`a@1: {"id":"x"}`, `wf: {"id":"x"}`},
	} {
		s := newStage(t)
		ran = 2
		_, err := s.svc.Create(t.Context(), key, nil)
		require.NoError(t, err)
		var log []*session.Event
		for _, e := range logged {
			log = append(log, e.Clone())
		}
		_, err = s.svc.Append(t.Context(), session.AppendTarget{Key: key}, log...)
		require.NoError(t, err)
		require.Equal(t, want, s.steps(g, answer("a@1#call#cut-off#2", said)))
		require.Empty(t, s.steps(g, nil))
	}

	// A second call that is cut off, too, is asked about by itself.
	appends = 0 // the answer, the call, the end
	_, err = s.events(g, answer("a@1#call#cut-off#2", "again"))
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, []string{"a@1: calls adk_request_input"}, s.steps(g, nil))
	require.Equal(t, []string{"a@1: 9", "wf: 9"}, s.steps(g, answer("a@1#call#2#cut-off", 9)))
}

// Agents as nodes have a conversation of their own, and its last word is the output.
func TestAgentNodes(t *testing.T) {
	m, err := script.Parse("script", []byte("- say: Dear customer\n"))
	require.NoError(t, err)
	writer, err := llm.New(llm.Config{Name: "writer", Model: m, OutputKey: "draft"})
	require.NoError(t, err)
	s := newStage(t)
	g := newGraph(t, chain(start, gives("a", map[string]any{"topic": "kettle"}),
		workflow.Agent(writer), takes("z")))
	require.Equal(
		t,
		[]string{
			`a@1: {"topic":"kettle"}`,
			`writer@1: says {"topic":"kettle"}`,
			"writer@1: says Dear customer",
			"writer@1: says ",
			`writer@1: "Dear customer"`,
			`z@1: "Dear customer"`,
			`wf: "Dear customer"`,
		},
		s.steps(g, message("m")),
	)
	events, err := s.events(g, nil)
	require.NoError(t, err)
	require.Empty(t, events)
	require.Same(t, writer, agent.Find(g, "writer"))

	// It fails: the agent's own event says why, and the workflow's that the attempt has failed.
	require.Equal(
		t,
		[]string{"bad@1: says hello", "bad@1: BROKEN", "bad@1: NODE_FAILED", "wf: NODE_FAILED"},
		newStage(
			t).steps(newGraph(t, chain(start, workflow.Agent(says("bad", "!oh")))), message("m")),
	)

	// So it is with one for each item, which has the name of the node.
	retried := workflow.Agent(says("bad", "!oh"))
	retried.Retry.Attempts = 2
	require.Equal(
		t,
		[]string{
			"bad@1/bad@1: says hello",
			"bad@1/bad@1: BROKEN",
			"bad@1/bad@1: NODE_FAILED",
			"bad@1/bad@1: BROKEN",
			"bad@1/bad@1: NODE_FAILED",
			"bad@1: NODE_FAILED",
			"wf: NODE_FAILED",
		},
		newStage(t).steps(newGraph(t, chain(start, workflow.Each(retried, 0))), message("m")),
	)
	s = newStage(t)
	g = newGraph(t, chain(start, workflow.Each(retried, 0)))
	s.steps(g, message("m"))
	inv, err := session.Snapshot(t.Context(), s.svc, key)
	require.NoError(t, err)
	require.Equal(t, 2, session.NewWorkflowRuns(inv.Live).Run("wf@m/bad@1/bad@1").Failures)

	// It waits for a human, and goes on when the human has answered.
	s = newStage(t)
	g = newGraph(t, chain(start, workflow.Agent(asks("f")), takes("z")))
	s.steps(g, message("m"))
	require.Empty(t, s.steps(g, nil))
	steps := s.steps(g, yes("f"))
	require.Equal(t, []string{`f@1: "done"`, `z@1: "done"`, `wf: "done"`}, steps[len(steps)-3:])
}

// The output of an agent with a schema is the value of its answer, and a graph that stands behind
// other agents in a node has paths below the node's.
func TestOutputsOfAgents(t *testing.T) {
	m, err := script.Parse("script", []byte("- say: '{\"town\":\"Oslo\"}'\n"))
	require.NoError(t, err)
	finder, err := llm.New(
		llm.Config{Name: "finder", Model: m, Output: map[string]any{"type": "object"}})
	require.NoError(t, err)
	type place struct {
		Town string `json:"town"`
	}
	z := workflow.Func("z",
		func(_ context.Context, _ *workflow.Run, in place) (string, error) { return in.Town, nil })
	steps := newStage(t).steps(newGraph(t, chain(start, workflow.Agent(finder), z)), message("m"))
	require.Equal(t, []string{`finder@1: {"town":"Oslo"}`, `z@1: "Oslo"`, `wf: "Oslo"`},
		steps[len(steps)-3:])

	in, err := workflow.New(
		workflow.Graph{Name: "in", Edges: chain(start, asker[string]("a", "q"))})
	require.NoError(t, err)
	team := workflow.Sequential("team", "", says("first", "hi"), in)
	s := newStage(t)
	g := newGraph(t, chain(start, workflow.Agent(team)))
	s.steps(g, message("m"))
	w := session.NewWorkflowRuns(s.live()).Workflow("wf@m")
	require.NotNil(t, w)
	var question string
	for _, n := range w.Nodes {
		for _, q := range n.Waits() {
			question = q.Call.ID
		}
	}
	require.Equal(t, "wf@m/team@1/in@m/a@1#q", question)
	require.Empty(t, s.steps(g, nil))
	steps = s.steps(g, workflow.Answer(question, "yes"))
	require.Equal(
		t,
		[]string{
			`team@1/in@m/a@1: ["yes"]`,
			`team@1/in@m: ["yes"]`,
			`team@1: ["yes"]`,
			`wf: ["yes"]`,
		},
		steps,
	)
}

func (s *stage) live() []*session.Event {
	inv, err := session.Snapshot(s.t.Context(), s.svc, key)
	require.NoError(s.t, err)
	return inv.Live
}

// 72: an agent's answer that a crash left without the end is taken, and the model not asked again.
func TestAgentIsNotAskedTwice(t *testing.T) {
	asked := 0
	a := does("a", func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
		asked++
		yield(session.Reply("answer"), nil)
	})
	appends := 0
	s := newStage(t)
	s.svc = &fragile{Service: s.svc, fails: func() int {
		if appends++; appends == 4 { // the input, the request, the answer, the end
			return 1
		}
		return 0
	}}
	g := newGraph(t, chain(start, workflow.Agent(a)))
	_, err := s.events(g, message("m"))
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, []string{`a@1: "answer"`, `wf: "answer"`}, s.steps(g, nil))
	require.Equal(t, 1, asked)
}

// A workflow in other agents: one after the other, in a loop, and called by a model.
func TestWorkflowInOthers(t *testing.T) {
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, asker[string]("a", "q"))})
	require.NoError(t, err)
	root := workflow.Sequential("root", "", says("before", "hi"), g, says("after", "bye"))
	s := newStage(t)
	s.steps(root, message("m"))
	lines, err := s.run(root, nil)
	require.NoError(t, err)
	require.NotContains(t, lines, "after: bye", "the workflow still waits")
	events, err := s.events(root, answer("a@1#q", "yes"))
	require.NoError(t, err)
	require.Equal(t, "bye", events[len(events)-1].Text())
	require.Len(t, events, 4)

	// In a loop each round is a run of its own.
	g, err = workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, gives("a", 1))})
	require.NoError(t, err)
	events, err = newStage(t).events(workflow.Loop("root", "", 2, g), message("m"))
	require.NoError(t, err)
	require.Equal(t, "wf@m", events[2].NodeInfo.Path)
	require.Equal(t, "wf@m-2", events[4].NodeInfo.Path)

	// An attempt that failed and one that did not: the step has not failed.
	flaky := workflow.Func("a", func(_ context.Context, r *workflow.Run, _ any) (int, error) {
		if r.Attempt == 1 {
			return 0, errors.New("no")
		}
		return 1, nil
	})
	flaky.Retry.Attempts = 2
	g = newGraph(t, chain(start, flaky))
	events, err = newStage(
		t).events(workflow.Sequential("root", "", g, says("after", "bye")), message("m"))
	require.NoError(t, err)
	require.Equal(t, "bye", events[len(events)-1].Text())
}

// A model calls a workflow like a tool: the run has the name of the call, and its output is the
// response.
func TestWorkflowAsTool(t *testing.T) {
	g, err := workflow.New(
		workflow.Graph{Name: "wf", Edges: chain(start, takes("a"), asker[string]("b", "q"))})
	require.NoError(t, err)
	m, err := script.Parse("script", []byte(
		"- response: wf\n  say: 'It said {{index .response.wf.result 0}}.'\n- call: {name: wf, args: {request: the kettle}}\n",
	))
	require.NoError(t, err)
	desk, err := llm.New(llm.Config{Name: "desk", Model: m, AgentTools: []agent.Agent{g}})
	require.NoError(t, err)
	s := newStage(t)
	events, err := s.events(desk, message("m"))
	require.NoError(t, err)
	var question string
	for _, e := range events {
		for _, c := range e.FunctionCalls() {
			if c.Name == session.AskTool {
				question = c.ID
			}
		}
		if e.NodeInfo != nil && strings.HasSuffix(e.NodeInfo.Path, "/a@1") {
			require.Equal(t, "the kettle", e.Output)
		}
	}
	require.NotEmpty(t, question)
	events, err = s.events(desk, workflow.Answer(question, "yes"))
	require.NoError(t, err)
	require.Equal(t, "It said yes.", events[len(events)-1].Text())
}

// A crash, a rewind, and the same input again.
func TestGoingOn(t *testing.T) {
	ran := map[string]int{}
	step := func(name string) *workflow.Node {
		return workflow.Func(
			name,
			func(_ context.Context, r *workflow.Run, _ any) (string, error) { ran[r.Path]++; return name, nil },
		)
	}
	g := newGraph(t, chain(start, step("a"), step("b"), step("c")))
	appends := 0
	s := newStage(t)
	s.svc = &fragile{Service: s.svc, fails: func() int {
		if appends++; appends == 3 {
			return 1
		}
		return 0
	}}
	_, err := s.events(g, message("m"))
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, []string{`a@1: "a"`, `b@1: "b"`, `c@1: "c"`, `wf: "c"`},
		s.steps(g, message("m")), "the log's first, then the rest")
	require.Equal(t, map[string]int{"wf@m/a@1": 1, "wf@m/b@1": 2, "wf@m/c@1": 1}, ran)

	// Nothing runs after a rewind until somebody asks.
	back := &session.Event{
		Author:  "plugin/rewind",
		Actions: session.Actions{Rewind: &session.Rewind{To: 3}},
	}
	_, err = s.svc.Append(t.Context(), session.AppendTarget{Key: key, After: 5}, back)
	require.NoError(t, err)
	require.Equal(t, []string{`c@1: "c"`, `wf: "c"`}, s.steps(g, nil))

	// The input is in the log, and no node has begun.
	back = &session.Event{
		Author:  "plugin/rewind",
		Actions: session.Actions{Rewind: &session.Rewind{To: 1}},
	}
	_, err = s.svc.Append(t.Context(), session.AppendTarget{Key: key, After: 8}, back)
	require.NoError(t, err)
	require.Equal(t, `a@1: "a"`, s.steps(g, nil)[0])
}

// A graph that was changed under a run that waits; and how the run is ended.
func TestChangedGraph(t *testing.T) {
	s := newStage(t)
	old := newGraph(t, chain(start, takes("a"), asker[string]("b", "q"), takes("c")))
	s.steps(old, message("m"))
	changed := newGraph(t, chain(start, takes("a"), takes("c")))
	for range 2 {
		events, err := s.events(changed, nil)
		require.NoError(t, err)
		last := events[len(events)-1]
		require.Equal(t, workflow.NodeGone, last.ErrorCode)
		require.Contains(t, last.ErrorMessage, "wf@m/b@1, and the node b is not in the graph")
	}
	events, err := s.events(changed, workflow.Abandon("wf@other"))
	require.NoError(t, err)
	require.Contains(t, events[1].ErrorMessage, "has no open run wf@other")
	events, err = s.events(changed, workflow.Abandon("wf@m"))
	require.NoError(t, err)
	require.Equal(t, workflow.Abandoned, events[len(events)-1].ErrorCode)
	w := session.NewWorkflowRuns(events).Workflow("wf@m")
	require.True(t, w.Ended)
	require.Empty(t, s.steps(changed, nil))
	require.Equal(t, []string{`a@1: "hello"`, `c@1: "hello"`, `wf: "hello"`},
		s.steps(changed, message("n")))
}

// Who leaves, or whose time is over, leaves the run as it is.
func TestCancelledRun(t *testing.T) {
	began := make(chan struct{})
	a := workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		if r.Invocation().ID != "m" || r.Attempt > 1 {
			return 1, nil
		}
		select {
		case <-began:
			return 1, nil
		default:
		}
		close(began)
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
	g := newGraph(t, chain(start, a))
	s := newStage(t)
	left, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	r := s.runner(g)
	var last error
	for _, err := range r.Run(left, key, message("m"), session.RunConfig{Create: true}) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.NoError(t, r.Close(context.Background()))
	require.Equal(t, []string{"a@1: 1", "wf: 1"}, s.steps(g, nil))
}

// A graph in a graph, and a worker, have their time, too; a question that a plugin withholds fails
// the run.
func TestTimeBelow(t *testing.T) {
	slow := workflow.Func(
		"slow",
		func(ctx context.Context, _ *workflow.Run, _ any) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
	)
	in, err := workflow.New(workflow.Graph{Name: "in", Edges: chain(start, slow)})
	require.NoError(t, err)
	n := workflow.Agent(in)
	n.Timeout = 10 * time.Millisecond
	require.Equal(t, []string{"in@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"},
		newStage(t).steps(newGraph(t, chain(start, n)), message("m")))

	slow.Timeout = 10 * time.Millisecond
	require.Equal(t,
		[]string{"slow@1/slow@1: NODE_TIMEOUT", "slow@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"},
		newStage(t).steps(newGraph(t, chain(start, workflow.Each(slow, 0))), message("m")))

	p := &plugin.Plugin{
		Name: "p",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{Withhold: len(e.FunctionCalls()) > 0}, nil
		},
	}
	a := asker[string]("a", "q")
	a.Retry.Attempts = 3
	events, err := newStage(t, p).events(newGraph(t, chain(start, a)), message("m"))
	require.NoError(t, err)
	require.Len(t, events, 3, "it is not tried again")
	require.Contains(t, events[1].ErrorMessage, "a plugin has withheld the question")
	require.Equal(t, workflow.NodeWithheld, events[1].ErrorCode)
}

// An answer to a question that nobody waits for is refused, and is not in the log: the command line and the
// server tell the same error.
func TestAnswersThatComeTooLate(t *testing.T) {
	g := newGraph(t, chain(start, asker[int]("n", "q"), asker[int]("last", "q")))
	s := newStage(t)
	give := func(input *session.Event) error {
		_, err := s.events(g, input)
		return err
	}
	require.NoError(t, give(message("m")))
	require.ErrorIs(t, give(answer("other@1#q", 1)), runner.ErrNotWaiting, "it never was")
	require.NoError(t, give(answer("n@1#q", "no number")))
	for name, input := range map[string]*session.Event{
		"asked anew":      answer("n@1#q", 1),
		"with a good one": both(answer("n@1#q#2", 1), answer("n@1#q", 1)),
		"twice":           both(answer("n@1#q#2", 1), answer("n@1#q#2", 2)),
		"with a message":  both(session.Message("and this"), answer("n@1#q", 1)),
	} {
		before := s.live()
		err := give(input)
		require.ErrorIs(t, err, runner.ErrNotWaiting, name)
		require.Equal(t, before, s.live(), name)
		require.NotContains(t, err.Error(), "no number")
	}
	require.ErrorContains(t, give(answer("n@1#q", 1)), `those that do: "wf@m/n@1#q#2" (adk_request_input)`)
	require.NoError(t, give(answer("n@1#q#2", 1)))
	require.ErrorIs(t, give(answer("n@1#q#2", 1)), runner.ErrNotWaiting, "it was answered")
	require.NoError(t, give(answer("last@1#q", 1)))
	require.ErrorContains(t, give(answer("last@1#q", 1)), "no call does")
}

// A node that does not heed its context, and returns after its time, has failed: what it has set does not count.
func TestOutputAfterTheTime(t *testing.T) {
	for _, once := range []bool{false, true} {
		n := workflow.Func("a", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
			r.Set("k", r.Attempt)
			if r.Attempt == 1 {
				<-ctx.Done()
			}
			return "done", nil
		})
		n.Once = once
		n.Timeout = time.Second // the second attempt needs less
		n.Retry.Attempts = 2
		s := newStage(t)
		events, err := s.events(newGraph(t, chain(start, n)), message("m"))
		require.NoError(t, err)
		i := slices.IndexFunc(events, func(e *session.Event) bool { return e.ErrorCode != "" })
		require.Equal(t, workflow.NodeTimeout, events[i].ErrorCode)
		require.Contains(t, events[i].ErrorMessage, "it did not finish within")
		require.Nil(t, events[i].Actions.StateDelta)
		require.Equal(t, "done", events[len(events)-1].Output)
		inv, err := session.Snapshot(t.Context(), s.svc, key)
		require.NoError(t, err)
		require.Equal(t, 2.0, inv.State["k"])
	}
}
