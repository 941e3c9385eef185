package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

func TestAnswer(t *testing.T) {
	m := answers("hello ada", "still here")
	b := newBench(
		t,
		llm.Config{Model: m, Instruction: "Be kind to {user:name}. {nothing?}{not a key} {}",
			GenerateContentConfig: &genai.GenerateContentConfig{
				Temperature: genai.Ptr[float32](0.5),
			}},
	)
	_, err := b.svc.Create(ctx, key, map[string]any{"user:name": "Ada"})
	require.NoError(t, err)
	b.says("hi", "user: hi", "bot: hello ada")
	require.Equal(t, "Be kind to Ada. {not a key} {}",
		m.asked[0].Config.SystemInstruction.Parts[0].Text)
	require.EqualValues(t, 0.5, *m.asked[0].Config.Temperature)
	require.Equal(t, "bot", m.asked[0].Agent)
	b.says("and?", "user: and?", "bot: still here")
	require.Equal(t, "user: hi\nmodel: hello ada\nuser: and?", shown(m.asked[1]))
}

func TestInstructionNeedsItsState(t *testing.T) {
	b := newBench(t, llm.Config{Model: answers("no"), Instruction: "You serve {app:shop}."})
	_, err := b.run("hi")
	require.ErrorContains(t, err, "State has no \"app:shop\". Set it, or write {app:shop?}")
}

func TestToolsRunInParallelAndAnswerInOrder(t *testing.T) {
	both := make(chan struct{})
	slow := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "slow"},
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			<-both
			return map[string]any{"n": 1}, nil
		},
	}
	fast := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "fast"},
		Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
			close(both)
			call.Set("seen", call.Get("user:name"))
			return nil, nil
		},
	}
	m := answers(calls("slow", "", "fast", ""), "done")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{slow, fast}})
	b.says(
		"go",
		"user: go",
		"bot: slow(null) fast(null)",
		`bot: slow={"n":1} fast={} {"seen":null}`,
		"bot: done",
	)
	require.Equal(t, "user: go\nmodel: slow(null) fast(null)\nuser: slow={\"n\":1} fast={}",
		shown(m.asked[1]))
}

func TestSerialToolsRunAlone(t *testing.T) {
	running := 0
	alone := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "alone"},
		Serial:      true,
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			running++
			defer func() { running-- }()
			return map[string]any{"beside": running - 1}, nil
		},
	}
	m := answers(calls("alone", "", "alone", "", "alone", ""), "done")
	newBench(
		t,
		llm.Config{Model: m, Tools: []*tool.Tool{alone}},
	).says("go", "user: go", "bot: alone(null) alone(null) alone(null)",
		`bot: alone={"beside":0} alone={"beside":0} alone={"beside":0}`, "bot: done")
}

func TestWhatIsWrongWithACallIsAnsweredToTheModel(t *testing.T) {
	bad := func(name string, run func() (map[string]any, error)) *tool.Tool {
		return &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: name},
			Run:         func(context.Context, *tool.Call) (map[string]any, error) { return run() },
		}
	}
	m := answers(
		calls(
			"echo",
			`{"text":3}`,
			"unknown",
			"",
			"fails",
			"",
			"panics",
			"",
			"nojson",
			"",
			"echo",
			`{"text":"ok"}`,
		),
		"sorry",
	)
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "echo"),
		bad("fails", func() (map[string]any, error) { return nil, errors.New("no luck") }),
		bad("panics", func() (map[string]any, error) { panic("oops") }),
		bad("nojson",
			func() (map[string]any, error) { return map[string]any{"f": func() {}}, nil }),
	}})
	_, err := b.run("go")
	require.NoError(t, err)
	responses := b.live()[2].Content.Parts
	for i, want := range []string{"text", `no function "unknown"`, "no luck", "panic: oops", "JSON does not have"} {
		require.Contains(t, responses[i].FunctionResponse.Response["error"], want)
	}
	require.Equal(t, map[string]any{"result": "echo ok"}, responses[5].FunctionResponse.Response)
}

func TestFailuresAreEvents(t *testing.T) {
	for name, c := range map[string]struct {
		answer any
		want   string
	}{
		"a coded error":      {&model.Error{Code: "RESOURCE_EXHAUSTED", Status: 429, Err: errors.New("quota")}, "bot: !RESOURCE_EXHAUSTED"},
		"any error":          {errors.New("no luck"), "bot: !MODEL_ERROR"},
		"cut short":          {&model.Response{Content: genai.NewContentFromText("so far", "model"), ErrorCode: "MAX_TOKENS"}, "bot: so far !MAX_TOKENS"},
		"blocked":            {&model.Response{ErrorCode: "SAFETY"}, "bot: !SAFETY"},
		"nothing":            {&model.Response{}, "bot: !NO_ANSWER"},
		"no response at all": {[]any{}, "bot: !NO_ANSWER"},
		"cut after partials": {[]any{delta("so "), delta("far"), &model.Error{Code: model.Unfinished}}, "bot: so far !UNFINISHED"},
	} {
		t.Run(name, func(t *testing.T) {
			newBench(t, llm.Config{Model: answers(c.answer)}).says("hi", "user: hi", c.want)
			fallback := onEvent("fallback", func(e *session.Event) plugin.Outcome {
				if e.ErrorCode == "" {
					return plugin.Outcome{}
				}
				return plugin.Outcome{Replace: session.Reply("try later")}
			})
			newBench(t, llm.Config{Model: answers(c.answer)},
				fallback).says("hi", "user: hi", "bot: try later")
		})
	}
}

func TestStreaming(t *testing.T) {
	b := newBench(t, llm.Config{Model: answers([]any{delta("hel"), delta("lo"), said("hello")})})
	b.cfg.Streaming = session.SSE
	b.says("hi", "user: hi", "bot…: hel", "bot…: lo", "bot: hello")
}

func TestLimits(t *testing.T) {
	again := func(*model.Request) any { return calls("echo", `{"text":"x"}`) }
	b := newBench(t, llm.Config{
		Model:         answers(again, again, again),
		Tools:         []*tool.Tool{echo(t, "echo")},
		MaxModelCalls: 2,
	})
	lines, err := b.run("go")
	require.NoError(t, err)
	require.Equal(t, "bot: !MODEL_CALL_LIMIT", lines[len(lines)-1])

	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, llm.Config{
			Model:   answers(calls("hang", "")),
			Tools:   []*tool.Tool{hangs()},
			Timeout: time.Millisecond,
		})
		b.says(
			"go",
			"user: go",
			"bot: hang(null)",
			`bot: hang={"error":"ended: context deadline exceeded"}`,
			"bot: !TIME_LIMIT",
		)
	})
}

func TestPluginsAnswerCalls(t *testing.T) {
	deny := onEvent("guard", func(e *session.Event) plugin.Outcome {
		var out plugin.Outcome
		for _, c := range session.Calls([]*session.Event{e}) {
			if c.Name == "delete" {
				out.Emit = append(out.Emit,
					session.Respond(c.FunctionCall, map[string]any{"error": "denied by policy"}))
			}
		}
		return out
	})
	m := answers(calls("echo", `{"text":"a"}`, "delete", `{"text":"b"}`), "done")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "echo"), echo(t, "delete")}},
		deny)
	b.says(
		"go",
		"user: go",
		`bot: echo({"text":"a"}) delete({"text":"b"})`,
		`plugin/guard: delete={"error":"denied by policy"}`,
		`bot: echo={"result":"echo a"}`,
		"bot: done",
	)
	require.Equal(t, `user: go
model: echo({"text":"a"}) delete({"text":"b"})
user: echo={"result":"echo a"} delete={"error":"denied by policy"}`, shown(m.asked[1]), "one content, in the order of the calls")
}

func TestAPluginMakesTheModelGoOn(t *testing.T) {
	told := onEvent("critic", func(e *session.Event) plugin.Outcome {
		if e.Text() != "bad" {
			return plugin.Outcome{}
		}
		return plugin.Outcome{Emit: []*session.Event{session.Message("Do better.")}}
	})
	m := answers("bad", "good")
	newBench(t, llm.Config{Model: m},
		told).says("hi", "user: hi", "bot: bad", "plugin/critic: Do better.", "bot: good")
	require.Equal(t, "user: hi\nmodel: bad\nuser: Do better.", shown(m.asked[1]))
}

func TestAWithheldAnswerEndsTheTurn(t *testing.T) {
	gone := onEvent(
		"gone",
		func(e *session.Event) plugin.Outcome { return plugin.Outcome{Withhold: e.Author == "bot"} },
	)
	m := answers("a", "b", "c")
	newBench(t, llm.Config{Model: m}, gone).says("hi", "user: hi")
	require.Len(t, m.asked, 1)
}

func TestSkipSummarizationIsTheAnswer(t *testing.T) {
	final := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "final"},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			c.Actions.SkipSummarization = true
			return map[string]any{"answer": 42}, nil
		},
	}
	newBench(
		t,
		llm.Config{Model: answers(calls("final", "")), Tools: []*tool.Tool{final}},
	).says("hi", "user: hi", "bot: final(null)", `bot: final={"answer":42}`)
}

func TestThoughtSignaturesTravelByteForByte(t *testing.T) {
	signed := &model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: "hm", Thought: true}, {Text: "", ThoughtSignature: []byte{0, 255, 10}},
		{
			FunctionCall: &genai.FunctionCall{
				ID:   "a",
				Name: "echo",
				Args: map[string]any{"text": "x"},
			},
			ThoughtSignature: []byte("sig\x00\xfe"),
		},
		{
			FunctionCall: &genai.FunctionCall{
				ID:   "b",
				Name: "echo",
				Args: map[string]any{"text": "y"},
			},
		},
	}}}
	m := answers(signed, "done")
	_, err := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "echo")}}).run("go")
	require.NoError(t, err)
	require.Equal(t, signed.Content, m.asked[1].Contents[1])
}

func TestCallsWithoutAnIDGetOne(t *testing.T) {
	r := calls("echo", `{"text":"x"}`, "echo", `{"text":"y"}`)
	for _, p := range r.Content.Parts {
		p.FunctionCall.ID = ""
	}
	b := newBench(t, llm.Config{Model: answers(r, "done"), Tools: []*tool.Tool{echo(t, "echo")}})
	b.says(
		"go",
		"user: go",
		`bot: echo({"text":"x"}) echo({"text":"y"})`,
		`bot: echo={"result":"echo x"} echo={"result":"echo y"}`,
		"bot: done",
	)
	require.Regexp(t, "^plughook-", b.live()[1].Content.Parts[0].FunctionCall.ID)
	require.Empty(t, r.Content.Parts[0].FunctionCall.ID, "the model's own response is not changed")
}

func TestOutput(t *testing.T) {
	schema := map[string]any{
		"type":       "object",
		"required":   []any{"city"},
		"properties": map[string]any{"city": map[string]any{"type": "string"}},
	}
	m := answers(`{"city":"Paris"}`)
	b := newBench(t, llm.Config{Model: m, Output: schema, OutputKey: "place"})
	b.says("where?", "user: where?", `bot: {"city":"Paris"}`, `bot: {"place":{"city":"Paris"}}`)
	require.Equal(t, map[string]any{"city": "Paris"}, b.state()["place"])
	require.Equal(t, schema, m.asked[0].Config.ResponseJsonSchema)

	b = newBench(t, llm.Config{Model: answers(`{"town":1}`), Output: schema, OutputKey: "place"})
	b.says("where?", "user: where?", `bot: {"town":1} !INVALID_OUTPUT`)
	require.Empty(t, b.state())

	m = answers(calls("echo", "{}"), calls("set_model_response", `{"city":3}`),
		calls("set_model_response", `{"city":"Rome"}`))
	b = newBench(t, llm.Config{
		Model:     m,
		Output:    schema,
		OutputKey: "place",
		Tools:     []*tool.Tool{echo(t, "echo")},
	})
	lines, err := b.run("where?")
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{
			`bot: set_model_response={"result":"ok"}`,
			`bot: {"city":"Rome"}`,
			`bot: {"place":{"city":"Rome"}}`,
		},
		lines[len(lines)-3:],
	)
	require.Nil(t, m.asked[0].Config.ResponseJsonSchema)
}

func TestTheOutputKeyHasWhatPluginsHaveLeftOfTheAnswer(t *testing.T) {
	redact := onEvent("redact", func(e *session.Event) plugin.Outcome {
		if e.Text() != "the key is 1234" {
			return plugin.Outcome{}
		}
		return plugin.Outcome{Replace: session.Reply("the key is ****")}
	})
	b := newBench(t, llm.Config{Model: answers("the key is 1234"), OutputKey: "answer"}, redact)
	_, err := b.run("hi")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"answer": "the key is ****"}, b.state())
}

func TestBlindAgentsSeeTheInvocationOnly(t *testing.T) {
	m := answers("one", "two")
	b := newBench(t, llm.Config{Model: m, NoHistory: true})
	b.says("first", "user: first", "bot: one")
	b.says("second", "user: second", "bot: two")
	require.Equal(t, "user: second", shown(m.asked[1]))
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]llm.Config{
		"Model is nil":                 {Name: "a"},
		"must not be named":            {Name: "a.b", Model: answers()},
		"functions are named":          {Name: "a", Model: answers(), Tools: []*tool.Tool{echo(t, "x"), echo(t, "x")}},
		"agents are named":             {Name: "a", Model: answers(), SubAgents: nil, AgentTools: nil},
		"InstructionFunc are both set": {Name: "a", Model: answers(), Instruction: "x", InstructionFunc: func(context.Context, *session.Invocation) (string, error) { return "", nil }},
		"a tool is nil":                {Name: "a", Model: answers(), Tools: []*tool.Tool{nil}},
		"must not be negative":         {Name: "a", Model: answers(), MaxModelCalls: -1},
		"Run is nil":                   {Name: "a", Model: answers(), Tools: []*tool.Tool{{Declaration: &genai.FunctionDeclaration{Name: "x"}}}},
	} {
		if want == "agents are named" {
			sub := build(t, llm.Config{Name: "a", Model: answers()})
			c.SubAgents = append(c.SubAgents, sub)
		}
		_, err := llm.New(c)
		require.ErrorContains(t, err, want)
	}
}
