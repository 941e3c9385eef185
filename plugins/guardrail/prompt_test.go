package guardrail_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A conversation is edited with each call of a model, all of it: what was clean once is not looked
// at again, and nothing else, however many contents the rule has found something in.
func TestPromptIsEditedEachTime(t *testing.T) {
	guard, err := guardrail.New(guardrail.Config{
		Policy: parse(t,
			"rules: [{id: m, stages: [prompt], detect: {pii: [EMAIL_ADDRESS]}, action: redact}]"),
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	inv := &session.Invocation{ID: "i", Key: session.Key{App: "a", User: "u", ID: "s"}}
	for range 3 {
		req := &model.Request{Agent: "bot"}
		for _, text := range []string{
			"nothing",
			"ann@example.com",
			"bob@example.com",
			"nothing, either",
			"cy@example.com",
		} {
			req.Contents = append(req.Contents, genai.NewContentFromText(text, genai.RoleUser))
		}
		_, err := guard.BeforeModel(t.Context(), inv, req)
		require.NoError(t, err)
		var said []string
		for _, c := range req.Contents {
			said = append(said, c.Parts[0].Text)
		}
		require.Equal(
			t,
			[]string{
				"nothing",
				"[EMAIL_ADDRESS]",
				"[EMAIL_ADDRESS]",
				"nothing, either",
				"[EMAIL_ADDRESS]",
			},
			said,
		)
	}
}

// At prompt, too, what cannot be checked passes only where on_error says so, and is marked; what is
// too deep is taken out, of each request.
func TestPromptsThatCannotBeChecked(t *testing.T) {
	ask := func(p *plugin.Plugin, part *genai.Part) (*model.Request, plugin.Outcome) {
		req := &model.Request{
			Agent:    "bot",
			Contents: []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{part}}},
		}
		out, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key}, req)
		require.NoError(t, err)
		return req, out
	}
	for _, onError := range []string{"block", "allow"} {
		p := quiet(t, with(
			t,
			`{on_error: `+onError+`, rules: [{id: r, stages: [prompt], when: 'state.n > 1', action: block}]}`,
		))
		_, out := ask(p, &genai.Part{Text: "x"})
		require.Equal(t, onError == "block", out.Stop)
		require.Equal(t, onError == "allow", out.Unchecked != "")
	}
	var deep any = "x"
	for range 1100 {
		deep = []any{deep}
	}
	p := quiet(t,
		with(t, `rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`))
	for range 2 {
		req, _ := ask(p, &genai.Part{
			FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"a": deep}},
		})
		require.Contains(t, inJSON(req.Contents[0].Parts[0].FunctionCall.Args), "TOO DEEP")
	}
}

// A request is judged by rules about where it stands each time: its agent, and the session's state.
func TestPromptsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		rule, agent string
		state       map[string]any
	}{
		"agent":     {"scope: {agent: desk}", "desk", nil},
		"condition": {`when: 'state?.n == 1'`, "bot", map[string]any{"n": 1}},
	} {
		p := quiet(t, with(
			t,
			`rules: [{id: r, stages: [prompt], `+c.rule+`, detect: {words: [heron]}, action: redact}]`,
		))
		ask := func(agent string, state map[string]any) string {
			req := &model.Request{
				Agent:    agent,
				Contents: []*genai.Content{genai.NewContentFromText("a heron", genai.RoleUser)},
			}
			_, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key, State: state}, req)
			require.NoError(t, err)
			return req.Contents[0].Parts[0].Text
		}
		require.Equal(t, "a heron", ask("bot", nil), name)
		require.Equal(t, "a [WORD]", ask(c.agent, c.state), name)
	}
}

// What a plugin has seen makes no difference to what it makes of a prompt.
func TestPromptIsJudgedAsIfForTheFirstTime(t *testing.T) {
	part := rapid.Custom(func(t *rapid.T) *genai.Part {
		text := rapid.SampledFrom([]string{
			"nothing",
			"ann@example.com",
			"hush",
			"hu",
			"sh",
			"hush ann@example.com",
			"",
		}).
			Draw(t, "text")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return &genai.Part{
				FunctionCall: &genai.FunctionCall{
					ID:   "c",
					Name: "f",
					Args: map[string]any{text: text, "n": 1.0},
				},
			}
		case 1:
			return &genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					ID:       "c",
					Name:     "f",
					Response: map[string]any{"r": []any{text, `{"a":"` + text + `"}`}},
				},
			}
		case 2:
			return &genai.Part{Text: text, Thought: true}
		}
		return &genai.Part{Text: text}
	})
	content := rapid.Custom(func(t *rapid.T) *genai.Content {
		return &genai.Content{
			Role:  rapid.SampledFrom([]string{genai.RoleUser, genai.RoleModel}).Draw(t, "role"),
			Parts: rapid.SliceOfN(part, 0, 3).Draw(t, "parts"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		rules := []string{}
		for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
			rules = append(rules, fmt.Sprintf(
				"{id: r%d, stages: [%s], %s}",
				i,
				rapid.SampledFrom([]string{"prompt", "prompt, output"}).Draw(t, "stages"),
				rapid.SampledFrom([]string{
					"detect: {pii: [EMAIL_ADDRESS]}, action: redact",
					"detect: {words: [hush]}, action: flag",
					"detect: {words: [hush]}, action: mask, mode: shadow",
					"detect: {words: [hush]}, action: block, scope: {agent: bot}",
					"detect: {pii: [EMAIL_ADDRESS]}, action: hash, trust: untrusted",
					"detect: {length: {bytes: 10}}, action: flag",
				}).
					Draw(t, "rule"),
			))
		}
		drawn, err := policy.Parse("p.yaml", []byte("rules: ["+strings.Join(rules, ", ")+"]"))
		if err != nil {
			t.Skip(err)
		}
		guard := func() *plugin.Plugin {
			g, err := guardrail.New(guardrail.Config{
				Policy: drawn,
				Key:    make([]byte, 16),
				Log:    slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			return g
		}
		used := guard()
		contents := rapid.SliceOfN(content, 1, 5).Draw(t, "contents")
		inv := &session.Invocation{
			ID:    "i",
			Key:   session.Key{App: "a", User: "u", ID: "s"},
			State: map[string]any{},
		}
		for range 4 {
			if rapid.Bool().Draw(t, "tainted") {
				inv.State = map[string]any{"guardrail:taint": []any{"web"}}
			}
			req := &model.Request{
				Agent:    rapid.SampledFrom([]string{"bot", "desk"}).Draw(t, "agent"),
				Contents: contents[:rapid.IntRange(1, len(contents)).Draw(t, "n")],
			}
			one, two := req.Clone(), req.Clone()
			out, err := used.BeforeModel(context.Background(), inv, one)
			require.NoError(t, err)
			fresh, err := guard().BeforeModel(context.Background(), inv, two)
			require.NoError(t, err)
			require.Equal(t, fresh.Withhold, out.Withhold)
			require.Equal(t, two.Contents, one.Contents)
		}
	})
}

// All of a request is at prompt: what a model has called before, and what was answered.
func TestPromptIsOneStage(t *testing.T) {
	parts := []*genai.Part{
		{FunctionCall: call("f", map[string]any{"a": "heron"})},
		{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"a": "heron"},
			},
		},
		{Text: "heron"},
	}
	for stage, want := range map[string]int{
		"prompt":                                0,
		"prompt, tool_args":                     0,
		"tool_args, tool_result, output, input": len(parts),
	} {
		p := quiet(t, with(t,
			`rules: [{id: r, stages: [`+stage+`], detect: {words: [heron]}, action: redact}]`))
		req := &model.Request{
			Agent:    "bot",
			Contents: []*genai.Content{{Role: genai.RoleModel, Parts: parts}},
			Config:   &genai.GenerateContentConfig{},
		}
		_, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key}, req)
		require.NoError(t, err)
		require.Equal(t, want, strings.Count(inJSON(req.Contents), "heron"), stage)
	}
}

// What was clean in one request is looked at again where it stands elsewhere, or in a session that
// has seen more.
func TestPromptsAreJudgedWhereTheyStand(t *testing.T) {
	content := func(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) }
	for name, c := range map[string]struct {
		rule   string
		first  []*genai.Content
		second []*genai.Content
		taint  bool
		want   string
	}{
		"in a session that has seen more": {
			`trust: untrusted, detect: {words: [heron]}, action: redact`,
			[]*genai.Content{content("a heron")},
			[]*genai.Content{content("a heron")},
			true,
			"a [WORD]",
		},
		"after another text": {
			`window: turn, detect: {words: [blue heron]}, action: redact`,
			[]*genai.Content{content("heron")},
			[]*genai.Content{content("it is blue"), content("heron")},
			false,
			"[WORD]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := quiet(t, with(t, `rules: [{id: r, stages: [prompt], `+c.rule+`}]`))
			inv := &session.Invocation{ID: "i", Key: key, State: map[string]any{}}
			ask := func(contents []*genai.Content) string {
				req := &model.Request{Agent: "bot", Contents: contents}
				_, err := p.BeforeModel(ctx, inv, req)
				require.NoError(t, err)
				last := req.Contents[len(req.Contents)-1]
				return last.Parts[0].Text
			}
			require.Equal(t, c.first[0].Parts[0].Text, ask(c.first))
			if c.taint {
				inv.State["guardrail:taint"] = []any{"web"}
			}
			require.Equal(t, c.want, ask(c.second))
			_, err := p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(t, err)
		})
	}
}
