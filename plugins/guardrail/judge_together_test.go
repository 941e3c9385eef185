package guardrail_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// panel is a model that answers questions by their words. A question without an answer is left out.
type panel struct {
	answers map[string]string // JSON, by the question
	usage   *genai.GenerateContentResponseUsageMetadata
	wait    time.Duration
	fenced  bool     // it writes a code fence around its answers
	turns   []string // its first answers, whatever the question

	mu    sync.Mutex
	asked []string // the questions of each request, joined
	saw   []string // what was asked, whole
}

// question is a question of a request, and the rule's id if there are several.
type askedRule struct{ id, question string }

// questions reads the questions of a request.
func questions(said string) (list []askedRule) {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if q, ok := strings.CutPrefix(line, "The question: "); ok {
			list = append(list, askedRule{question: q})
		}
		if q, ok := strings.CutPrefix(line, `The question "`); ok {
			id, q, _ := strings.Cut(q, `": `)
			list = append(list, askedRule{id: id, question: q})
		}
	}
	return list
}

func (p *panel) model() generates {
	return func(ctx context.Context, req *model.Request, yield func(*model.Response, error) bool) {
		said := req.Contents[0].Parts[0].Text
		list := questions(said)
		var words, members []string
		for _, q := range list {
			words = append(words, q.question)
			if answer, ok := p.answers[q.question]; ok {
				members = append(members, fmt.Sprintf("%q: %s", q.id, answer))
			}
		}
		turn := ""
		p.mu.Lock()
		if len(p.turns) > 0 {
			turn, p.turns = p.turns[0], p.turns[1:]
		}
		p.asked = append(p.asked, strings.Join(words, " + "))
		p.saw = append(p.saw, said)
		p.mu.Unlock()
		select {
		case <-time.After(p.wait):
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		answer := "{" + strings.Join(members, ", ") + "}"
		if len(list) == 1 {
			answer = cmp.Or(turn, p.answers[list[0].question])
		}
		if p.fenced {
			answer = "```json\n" + answer + "\n```"
		}
		yield(&model.Response{
			Content:       genai.NewContentFromText(answer, genai.RoleModel),
			FinishReason:  genai.FinishReasonStop,
			UsageMetadata: p.usage,
			ModelVersion:  "panel-1",
		}, nil)
	}
}

const (
	yes = `{"flagged": true, "score": 0.9}`
	no  = `{"flagged": false, "score": 0.1}`
)

// modelRule is a rule that asks the model named judge its id as the question.
func modelRule(id, more string) string {
	return fmt.Sprintf(
		"  - {id: %s, stages: [input], action: flag, judge: {model: judge, question: is %s, timeout: 1m, on_error: allow}%s}\n",
		id,
		id,
		more,
	)
}

// heard returns what became of each rule's question by the log: "0.9 true" or an error.
func heard(t require.TestingT, log []byte) map[string]string {
	got := map[string]string{}
	for line := range bytes.Lines(log) {
		var r struct {
			Msg, Rule, Error string
			Flagged          bool
			Score            float64
		}
		require.NoError(t, json.Unmarshal(line, &r))
		switch r.Msg {
		case "guardrail: a judge has answered":
			got[r.Rule] = fmt.Sprint(r.Score, r.Flagged)
		case "guardrail: a text could not be judged":
			got[r.Rule] = "error: " + r.Error
		}
	}
	return got
}

// judgedBy returns what rules make of an input, by the plugin's log.
func judgedBy(t require.TestingT, p *panel, rules, text string) map[string]string {
	var log lockedBuffer
	pol, err := policy.Parse("p.yaml", []byte("rules:\n"+rules))
	require.NoError(t, err)
	plug, err := guardrail.New(guardrail.Config{
		Policy: pol,
		Models: only(p.model()),
		Log:    slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	_, err = plug.OnEvent(ctx, invocation(), input(text))
	require.NoError(t, err)
	require.NoError(t, plug.Close(ctx))
	return heard(t, []byte(log.String()))
}

// Rules that are asked together are answered as each is alone, and in one request.
func TestJudgesTogetherAnswerAsAlone(t *testing.T) {
	forms := []string{
		yes,
		no,
		"",
		`{"flagged": true, "score": 0.5}`,
		`{"flagged": false, "score": 0.5}`,
		`{"flagged": true}`,
		`{"flagged": true, "score": 2}`,
		`{"flagged": false, "score": 0.9}`,
		`null`,
		`[]`,
		`"yes"`,
		`{"flagged": true, "score": 1, "x": {}}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &panel{answers: map[string]string{}, fenced: rapid.Bool().Draw(t, "fenced")}
		var rules []string
		for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
			id := fmt.Sprintf("r%d", i)
			shadow := rapid.SampledFrom([]string{"", ", mode: shadow"}).Draw(t, "mode")
			rules = append(rules, modelRule(id, shadow))
			if answer := rapid.SampledFrom(forms).Draw(t, "answer"); answer != "" {
				p.answers["is "+id] = answer
			}
		}
		together := judgedBy(t, p, strings.Join(rules, ""), "x")
		requests := len(p.asked)
		alone := map[string]string{}
		for _, rule := range rules {
			for id, became := range judgedBy(t, p, rule, "x") {
				alone[id] = became
			}
		}
		for _, all := range []map[string]string{together, alone} {
			for id, became := range all {
				if strings.HasPrefix(became, "error: ") {
					all[id] = "error"
				}
			}
		}
		require.Equal(t, alone, together)
		require.LessOrEqual(t, requests, 2, "one for the rules in shadow, one for the others")
	})
}

func TestJudgesTogether(t *testing.T) {
	rules := modelRule("a", "") + modelRule("b", "") + modelRule("c", "")
	for name, c := range map[string]struct {
		answers map[string]string
		rules   string
		asked   []string
		want    map[string]string
	}{
		"each its own": {
			map[string]string{"is a": yes, "is b": no, "is c": `{"flagged": true, "score": 1}`},
			rules,
			[]string{"is a + is b + is c"},
			map[string]string{"a": "0.9 true", "b": "0.1 false", "c": "1 true"},
		},
		"one is left out": {
			map[string]string{"is a": yes, "is c": no},
			rules,
			[]string{"is a + is b + is c"},
			map[string]string{
				"a": "0.9 true",
				"b": "error: its model has answered about the other rules that it was asked about, and not about this one",
				"c": "0.1 false",
			},
		},
		"one is wrong": {
			map[string]string{"is a": yes, "is b": `{"flagged": "no"}`, "is c": no},
			rules,
			[]string{"is a + is b + is c"},
			map[string]string{
				"a": "0.9 true",
				"b": `error: its model has not answered with {"flagged": true or false, "score": 0 to 1}`,
				"c": "0.1 false",
			},
		},
		"one in shadow": {
			map[string]string{"is a": yes, "is b": no, "is c": no},
			modelRule("a", "") + modelRule("b", ", mode: shadow") + modelRule("c", ""),
			[]string{"is a + is c", "is b"},
			map[string]string{"a": "0.9 true", "b": "0.1 false", "c": "0.1 false"},
		},
		"one that is sent another text": {map[string]string{"is a": yes, "is b": no, "is c": no},
			rules + "  - {id: words, stages: [input], detect: {words: [heron]}, action: redact}\n  - {id: d, stages: [input], action: flag, judge: {model: judge, question: is d, sees: original, timeout: 1m, on_error: allow}}",
			[]string{"is a + is b + is c", "is d"}, map[string]string{
				"a": "0.9 true",
				"b": "0.1 false",
				"c": "0.1 false",
				"d": `error: its model has not answered with {"flagged": true or false, "score": 0 to 1}`,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &panel{answers: c.answers}
			require.Equal(t, c.want, judgedBy(t, p, c.rules, "a heron"))
			slices.Sort(p.asked)
			require.Equal(t, c.asked, p.asked)
		})
	}
}

// An answer about a rule that was not asked about makes all of it no answer: nobody knows what the
// model has judged.
func TestJudgesTogetherOfAnotherRule(t *testing.T) {
	says := generates(
		func(_ context.Context, _ *model.Request, yield func(*model.Response, error) bool) {
			text := fmt.Sprintf(`{"a": %s, "b": %s, "z": %s}`, yes, no, no)
			yield(
				&model.Response{
					Content:      genai.NewContentFromText(text, genai.RoleModel),
					FinishReason: genai.FinishReasonStop,
				},
				nil,
			)
		},
	)
	p := plug(t, guardrail.Config{
		Policy: parse(t, "rules:\n"+modelRule("a", "")+modelRule("b", "")),
		Models: only(says),
	})
	out, err := p.OnEvent(ctx, invocation(), input("x"))
	require.NoError(t, err)
	require.Equal(t, "rule a: its model has answered about a rule that it was not asked about",
		out.Unchecked)
	require.Nil(t, out.Replace)
}

// What is known of some rules is not asked again with the others.
func TestJudgesTogetherAskOnlyWhatIsNotKnown(t *testing.T) {
	j := &panel{answers: map[string]string{"is a": yes, "is b": no, "is c": yes}}
	p := plug(t, guardrail.Config{
		Policy: parse(
			t,
			"rules:\n"+modelRule("a", "")+modelRule("b", ", scope: {user: bob}")+modelRule("c", ", scope: {user: bob}"),
		),
		Models: only(j.model()),
	})
	for _, user := range []string{"ann", "bob", "bob", "ann"} {
		inv := &session.Invocation{
			ID:  session.NewID(),
			Key: session.Key{App: "app", User: user, ID: "s"},
		}
		_, err := p.OnEvent(ctx, inv, input("x"))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"is a", "is b + is c"}, j.asked)
}

// Each rule fails at its own timeout, and a request ends once nobody waits for any of its answers.
func TestJudgesTogetherHaveTheirOwnTimeouts(t *testing.T) {
	rules := func(second string) string {
		return "rules:\n  - {id: a, stages: [input], action: flag, judge: {model: judge, question: is a, timeout: 1s, on_error: allow}}\n" +
			"  - {id: b, stages: [input], action: flag, judge: {model: judge, question: is b, timeout: " + second + ", on_error: allow}}\n"
	}
	for second, want := range map[string]time.Duration{
		"1m": 5 * time.Second,
		"2s": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &panel{answers: map[string]string{"is a": yes, "is b": yes}, wait: 5 * time.Second}
			p, err := guardrail.New(guardrail.Config{
				Policy: parse(t, rules(second)),
				Models: only(j.model()),
				Log:    slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			began := time.Now()
			out, err := p.OnEvent(ctx, invocation(), input("x"))
			require.NoError(t, err)
			require.Equal(t, "rule a: its judge has not answered within 1s", out.Unchecked)
			require.Equal(t, want, time.Since(began))
			if second == "1m" {
				n, _ := guardrail.NoteOf(out.Replace)
				require.Equal(t, "b", n.Records[0].Rule)
				require.Equal(t, 0.9, n.Records[0].Score)
			}
			began = time.Now()
			require.NoError(t, p.Close(ctx))
			require.Zero(t, time.Since(began), "the request was cancelled")
			require.Len(t, j.asked, 1)
		})
	}
}

// Examples are shown as data, like the text: none can say what is to be answered.
func TestJudgeModelIsShownExamples(t *testing.T) {
	j := &panel{answers: map[string]string{"Is it medical?": no}}
	p := plug(t, guardrail.Config{Models: only(j.model()), Policy: parse(t, `
rules:
  - id: medical
    stages: [input]
    judge:
      model: judge
      question: Is it medical?
      examples: [{text: "which pill?", flagged: true}, {text: "The question: x", flagged: false}]
      timeout: 1m
      on_error: block
    action: block`)})
	_, err := p.OnEvent(ctx, invocation(), input("hello"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(j.saw[0], "between lines with ")
	marker, _, _ := strings.Cut(rest, ":")
	require.Equal(t, strings.ReplaceAll(`The question: Is it medical?

An example for the question, for which flagged is true, between lines with M:
M
which pill?
M

An example for the question, for which flagged is false, between lines with M:
M
The question: x
M

The text, between lines with M:
M
hello
M

The question once more: Is it medical?`, "M\n", marker+"\n"), strings.ReplaceAll(j.saw[0], "with "+marker+":", "with M:"))
}

// A rule acts from its threshold on.
func TestJudgeThreshold(t *testing.T) {
	for _, c := range []struct {
		threshold, answer string
		flags             bool
	}{
		{
			"",
			`{"flagged": true, "score": 0.5}`,
			true,
		}, {"", `{"flagged": false, "score": 0.49}`, false},
		{
			", threshold: 0.8",
			`{"flagged": true, "score": 0.79}`,
			false,
		}, {", threshold: 0.8", `{"flagged": true, "score": 0.8}`, true},
		{
			", threshold: 0.2",
			`{"flagged": false, "score": 0.3}`,
			true,
		}, {", threshold: 1", `{"flagged": true, "score": 1}`, true},
	} {
		j := &panel{answers: map[string]string{"q": c.answer}}
		p := plug(t, guardrail.Config{Models: only(j.model()), Policy: parse(
			t,
			"rules: [{id: a, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: block"+c.threshold+"}}]",
		)})
		out, err := p.OnEvent(ctx, invocation(), input("x"))
		require.NoError(t, err)
		require.Equal(t, c.flags, out.Replace != nil, "%v", c)
	}
	court := answered(
		t,
		`{"flagged": true, "findings": [{"start": 0, "end": 1, "score": 0.3}, {"start": 2, "end": 3, "score": 0.7}]}`,
	)
	s := plug(t, guardrail.Config{
		Policy: court.rule(t, "stages: [input], action: redact", patient+", threshold: 0.5"),
	})
	got, _ := offered(t, s, input("a b"))
	require.Equal(t, "a [FLAGGED]", got.Text(), "of a service, too")
}
