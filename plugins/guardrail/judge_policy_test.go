package guardrail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

func TestNobodyIsAskedByAPolicyItself(t *testing.T) {
	p := parse(t, `
rules:
  - {id: topic, stages: [input], action: block, message: No., judge: {url: 'https://j.example', timeout: 3s, on_error: block}}
  - {id: parts, stages: [output], action: redact, judge: {url: 'https://j.example', timeout: 3s, on_error: block}, when: 'text != "y"'}
  - {id: secrets, detect: {secrets: default}, action: redact}
tests:
  - {name: flagged, stage: input, text: x, want: block, rule: topic, judge: {topic: true}}
  - {name: not flagged, stage: input, text: x, want: allow, judge: {topic: false}}
  - {name: of another stage, stage: output, text: x, want: allow, judge: {topic: true, parts: false}}
  - {name: all of it, stage: output, text: x, want: redact, after: "[FLAGGED]", judge: {parts: true}}
  - {name: not asked, stage: output, text: y, want: allow, judge: {parts: true}}
`)
	for _, r := range selftest.Run(p) {
		require.Empty(t, r.Failure, r.Test.Name)
	}
	require.Equal(t, policy.Allow, p.Judge(policy.Input, policy.Scope{}, "x").Action)
	judges := p.Judges()
	require.Len(t, judges, 2)
	require.Equal(t, "topic", judges[0].Rule)
	require.False(t, judges[0].Parts)
	require.Equal(t, "parts", judges[1].Rule)
	require.True(t, judges[1].Parts)
	require.Empty(t, p.Local().Judges())
	s := stage(t, guardrail.Config{Policy: p.Local()}, "hi")
	require.Equal(t, []string{"user: x", "bot: hi"}, s.run("x"))
}

// A test may have the answer of a judge as it came, also one that is none.
func TestPoliciesAreTestedWithRecordedAnswers(t *testing.T) {
	p := parse(t, `
rules:
  - {id: model, stages: [input], action: block, judge: {model: m, question: q, timeout: 3s, on_error: block, threshold: 0.7}}
  - {id: open, stages: [output], action: block, judge: {model: m, question: q, timeout: 3s, on_error: allow}}
  - {id: parts, stages: [tool_result], action: {A: redact}, judge: {url: 'https://j.example', timeout: 3s, on_error: block}}
  - {id: words, detect: {words: {BIRD: [heron]}}, action: redact}
  - {id: call, stages: [tool_args], action: block, judge: {url: 'https://j.example', timeout: 3s, on_error: block}}
tests:
  - {name: yes, stage: input, text: x, judge: {model: '{"flagged": true, "score": 0.9}'}, want: block, rule: model}
  - {name: not sure enough, stage: input, text: x, judge: {model: '{"flagged": true, "score": 0.6}'}, want: allow}
  - {name: no, stage: input, text: x, judge: {model: '{"flagged": false, "score": 0}'}, want: allow}
  - {name: prose, stage: input, text: x, judge: {model: 'Yes, it is.'}, want: error}
  - {name: prose is blocked, stage: input, text: x, judge: {model: 'Yes, it is.'}, want: block, rule: model}
  - {name: contradiction, stage: input, text: x, judge: {model: '{"flagged": false, "score": 1}'}, want: error}
  - {name: prose passes, stage: output, text: x, judge: {open: 'Yes, it is.'}, want: allow}
  - {name: prose that passes is an error, stage: output, text: x, judge: {open: ''}, want: error}
  - {name: a part, stage: tool_result, text: x y, judge: {parts: '{"flagged": true, "findings": [{"start": 2, "end": 3, "type": "A"}]}'}, want: redact, after: "x [A]"}
  - {name: a part behind what is redacted, stage: tool_result, text: heron y, judge: {parts: '{"flagged": true, "findings": [{"start": 7, "end": 8, "type": "A"}]}'}, want: redact, after: "[BIRD] [A]"}
  - {name: outside, stage: tool_result, text: x, judge: {parts: '{"flagged": true, "findings": [{"start": 2, "end": 3}]}'}, want: error}
  - {name: a call, stage: tool_args, tool: t, args: {a: a heron flies}, judge: {call: '{"flagged": true, "findings": [{"start": 20, "end": 21}]}'}, want: block, rule: call}
  - {name: wrong, stage: input, text: x, judge: {model: '{"flagged": true, "score": 1}'}, want: error}
`)
	var failures []string
	for _, r := range selftest.Run(p) {
		failures = append(failures, r.Failure)
	}
	require.Equal(t,
		append(make([]string, 12), "it is block by model, not an error: the text could be judged"),
		failures)
}

// A test of a text that a judge would be asked about fails if the answer of that judge is not in
// it: it would pass, or fail, for want of an answer. What would not be asked in a run needs none.
func TestATestNeedsTheAnswersOfItsJudges(t *testing.T) {
	p := parse(t, `
limits: {max_bytes: 100, over_limit: flag}
rules:
  - {id: model, mode: shadow, stages: [input], action: block, judge: {model: m, question: q, timeout: 3s, on_error: allow}}
  - {id: service, stages: [input, tool_args], action: flag, judge: {url: 'https://j.example', timeout: 3s, on_error: block}, when: 'text != "y"'}
  - {id: facts, stages: [output], action: flag, judge: {model: m, grounding: true, timeout: 3s, on_error: allow}}
  - {id: words, detect: {words: [heron]}, action: block}
tests:
  - {name: none, stage: input, text: x, want: allow}
  - {name: one of two, stage: input, text: x, want: flag, judge: {service: true}}
  - {name: no error, stage: input, text: x, want: error, judge: {service: false}}
  - {name: a call, stage: tool_args, tool: t, args: {a: b}, want: allow}
  - {name: a text in a call, stage: tool_args, tool: t, text: x, args: {a: b}, want: allow}
  - {name: grounding, stage: output, text: x, want: allow}
  - {name: a condition is false, stage: input, text: y, want: allow, judge: {model: false}}
  - {name: both, stage: input, text: x, want: allow, judge: {model: false, service: false}}
  - {name: blocked by another rule, stage: input, text: a heron, want: block, rule: words}
  - {name: blocked by another judge, stage: input, text: x, want: block, rule: model, judge: {model: true}}
  - {name: too long, stage: input, text: `+strings.Repeat("x", 101)+`, want: flag}
  - {name: nobody judges it, stage: tool_result, text: x, want: allow}
  - {name: no text, stage: output, want: allow}
`)
	missing := map[string]string{
		"none":             "model",
		"one of two":       "model",
		"no error":         "model",
		"a call":           "service",
		"a text in a call": "service",
		"grounding":        "facts",
	}
	for _, r := range selftest.Run(p) {
		rule := missing[r.Test.Name]
		if rule == "" {
			require.Empty(t, r.Failure, r.Test.Name)
			continue
		}
		require.Contains(t, r.Failure, "the rule "+rule+" asks a judge about ", r.Test.Name)
		require.Contains(t, r.Failure, "write one into the test: judge: {"+rule+": true}",
			r.Test.Name)
		require.Regexp(t, `\(.*:\d+:\d+\)$`, r.Failure)
	}
	results := selftest.Run(p)
	require.Contains(t, results[0].Failure, `about "x"`)
	require.Contains(t, results[3].Failure, `about "{\"a\":\"b\"}"`)
}

// A judge on this machine may be asked without TLS.
func TestJudgesOnThisMachine(t *testing.T) {
	for _, host := range []string{
		"localhost",
		"localhost:8080",
		"127.0.0.1:1",
		"127.1.2.3",
		"[::1]:80",
	} {
		parse(
			t,
			"rules:\n  - {id: a, action: block, judge: {url: 'http://"+host+"/x', timeout: 3s, on_error: block}}",
		)
	}
}

// The models that a policy asks are named once, for who has to open them.
func TestModelsOfAPolicy(t *testing.T) {
	const more = ", question: x, timeout: 3s, on_error: block}, action: block}"
	p := parse(
		t,
		"rules: [{id: w, detect: {words: [x]}, action: flag}, {id: s, judge: {url: 'https://j.example', timeout: 3s, on_error: block}, action: block}, {id: a, judge: {model: m"+more+", {id: b, judge: {model: n"+more+", {id: c, judge: {model: m"+more+"]",
	)
	require.Equal(t, []string{"m", "n"}, p.Models())
	require.Empty(t, policy.Default().Models())
}

// In a policy in shadow judges are asked, and nothing waits for them: not a stream, nor a run.
func TestJudgesOfAPolicyInShadow(t *testing.T) {
	court := answered(t, `{"flagged": true}`)
	p := parse(t, fmt.Sprintf(
		"mode: shadow\nrules:\n  - {id: topic, stages: [input, output], action: block, judge: {url: %s, %s}}",
		court.URL,
		patient,
	))
	s := stage(t, guardrail.Config{Policy: p}, []string{"a cat ", "runs"})
	require.Equal(t, []string{"user: hello", "bot:… a cat ", "bot:… runs", "bot: a cat runs"},
		s.run("hello"))
	require.NoError(t, s.runner.Close(ctx))
	require.Contains(t, court.texts(), "input: hello")
	require.Contains(t, s.log.String(), `"action":"allow","would_action":"block"`)
	court = answered(t, hang)
	p = parse(t, fmt.Sprintf(
		"mode: shadow\nrules:\n  - {id: topic, stages: [input], action: block, judge: {url: %s, timeout: 20ms, on_error: allow}}",
		court.URL,
	))
	s = stage(t, guardrail.Config{Policy: p}, "hi")
	require.Empty(t, plugin.NotesOf(s.events("hello")[0]).Unchecked)
	require.NoError(t, s.runner.Close(ctx))
	require.Contains(t, s.log.String(), "its judge has not answered within 20ms")
}
