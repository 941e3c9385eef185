package guardrail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

const measured = `
rules:
  - {id: words, detect: {words: {BIRD: [heron]}}, action: redact}
  - {id: a, stages: [input], when: user != "root", action: flag, judge: {model: judge, question: %s, timeout: 1m, on_error: allow, threshold: 0.7, sees: %s}}
  - {id: grounded, stages: [output], action: flag, judge: {model: judge, question: g, grounding: true, timeout: 1m, on_error: allow}}`

// measuring is the judge of a rule of a policy with a question.
func measuring(t *testing.T, p *panel, question, sees, rule string) *guardrail.Judge {
	j, ok := guardrail.NewJudge(guardrail.Config{
		Policy: parse(t, fmt.Sprintf(measured, question, sees)),
		Models: only(p.model()),
	}, rule)
	require.True(t, ok)
	t.Cleanup(func() { require.NoError(t, j.Close(ctx)) })
	return j
}

// A rule is measured with the question and the text of a run, and an answer that was kept means the
// same.
func TestMeasuringAsksAsARunDoes(t *testing.T) {
	p := &panel{answers: map[string]string{
		"q": `{"flagged": true, "score": 0.6}`, "g": `{"flagged": true, "score": 1}`,
	}}
	j := measuring(t, p, "q", "edited", "a")
	a, err := j.Ask(ctx, policy.Scope{}, policy.Input, "a heron", nil)
	require.NoError(t, err)
	require.Equal(t, "a [BIRD]", shown(t, p.saw[0], "The text"))
	require.Equal(t, 0.6, a.Score)
	require.False(t, a.Flagged, "it is below the threshold")
	require.True(t, a.Asked)
	require.Positive(t, a.Tokens)
	again, err := j.Ask(ctx, policy.Scope{}, policy.Input, "a heron", nil)
	require.NoError(t, err)
	require.Equal(t, a.Answer, again.Answer)
	require.Zero(t, again.Tokens, "it is remembered, and costs nothing")
	j.Kept = func(question string) (string, bool) { return a.Raw, question == a.Question }
	kept, err := j.Ask(ctx, policy.Scope{}, policy.Input, "a heron", nil)
	require.NoError(t, err)
	require.Equal(t, guardrail.JudgeAnswer{Answer: a.Answer, Question: a.Question}, kept)
	require.Len(t, p.saw, 1)

	isAsked := func(j *guardrail.Judge, scope policy.Scope, stage policy.Stage, results ...string) bool {
		a, err := j.Ask(ctx, scope, stage, "it is 21", results)
		require.NoError(t, err)
		require.Equal(t, a.Asked, a.Question != "")
		return a.Asked
	}
	require.False(t, isAsked(j, policy.Scope{User: "root"}, policy.Input), "its condition is not true")
	require.False(t, isAsked(j, policy.Scope{}, policy.Output), "it is about another stage")
	grounded := measuring(t, p, "q", "edited", "grounded")
	require.False(t, isAsked(grounded, policy.Scope{}, policy.Output), "no tool has answered")
	require.True(t, isAsked(grounded, policy.Scope{}, policy.Output, "21"))
	_, ok := guardrail.NewJudge(
		guardrail.Config{Policy: parse(t, fmt.Sprintf(measured, "q", "edited"))}, "words")
	require.False(t, ok, "it has no judge")
}

// What the policy hides is sent under a key that nobody else has, and the question's id is the same
// each time.
func TestMeasuringHidesUnderASecretKey(t *testing.T) {
	p := &panel{answers: map[string]string{"q": yes}}
	pol := func() *policy.Policy {
		return parse(t, `
rules:
  - {id: vaulted, detect: {pii: [EMAIL_ADDRESS]}, action: vault}
  - {id: hashed, detect: {regexp: {NUMBER: 'E-[0-9]+'}}, action: hash}
  - {id: a, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: allow}}`)
	}
	ids := map[string]bool{}
	for range 2 {
		j, ok := guardrail.NewJudge(guardrail.Config{Policy: pol(), Models: only(p.model())}, "a")
		require.True(t, ok)
		a, err := j.Ask(ctx, policy.Scope{}, policy.Input, "ann@corp.example of E-123456", nil)
		require.NoError(t, err)
		ids[a.Question] = true
		require.NoError(t, j.Close(ctx))
	}
	require.Len(t, ids, 1)
	first := shown(t, p.saw[0], "The text")
	require.Regexp(t, `^\[EMAIL_ADDRESS#\w+\] of \[NUMBER:\w+\]$`, first)
	second := shown(t, p.saw[1], "The text")
	for i := range 2 {
		require.NotEqual(t, strings.Fields(first)[2*i], strings.Fields(second)[2*i])
	}
}

// A condition that cannot be computed is no no.
func TestMeasuringWithAConditionThatFails(t *testing.T) {
	p := &panel{answers: map[string]string{"q": yes}}
	pol := parse(t, `
rules:
  - {id: a, stages: [input], when: 'state.tier > 1', action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: allow}}
  - {id: b, stages: [input], action: flag, judge: {model: judge, question: q, timeout: 1m, on_error: allow}}`)
	for rule, want := range map[string]string{"a": "rule a: when: it cannot be computed", "b": ""} {
		j, ok := guardrail.NewJudge(guardrail.Config{Policy: pol, Models: only(p.model())}, rule)
		require.True(t, ok)
		a, err := j.Ask(ctx, policy.Scope{}, policy.Input, "x", nil)
		require.Equal(t, want == "", a.Asked)
		if want != "" {
			require.ErrorAs(t, err, &judging.NoAnswer{})
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, j.Close(ctx))
	}
}

// An answer that is none comes with what was said in its place, so that it can be kept.
func TestMeasuringKeepsWhatIsNoAnswer(t *testing.T) {
	p := &panel{answers: map[string]string{"q": "Yes."}}
	j := measuring(t, p, "q", "edited", "a")
	a, err := j.Ask(ctx, policy.Scope{}, policy.Input, "x", nil)
	require.ErrorAs(t, err, &judging.NoAnswer{})
	require.Equal(t, "Yes.", a.Raw)
	j.Kept = func(string) (string, bool) { return a.Raw, true }
	_, again := j.Ask(ctx, policy.Scope{}, policy.Input, "x", nil)
	require.Equal(t, err, again)
}

// The id of a question is another if the answer could be, and the same otherwise.
func TestMeasuredQuestionsHaveIDs(t *testing.T) {
	p := &panel{}
	id := func(question, sees, text string) string {
		a, _ := measuring(t, p, question, sees, "a").Ask(ctx, policy.Scope{}, policy.Input, text, nil)
		require.True(t, a.Asked)
		return a.Question
	}
	same := id("q", "edited", "a heron")
	require.Equal(t, same, id("q", "edited", "a heron"))
	require.Equal(t, id("q", "edited", "a egret"), id("q", "original", "a egret"),
		"it is sent the same")
	for _, other := range []string{
		id("p", "edited", "a heron"),
		id("q", "original", "a heron"),
		id("q", "edited", "two herons"),
	} {
		require.NotEqual(t, same, other)
	}
}
