package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

const groundedAnswers = `
rules:
  - {id: mail, stages: [tool_result], detect: {pii: [EMAIL_ADDRESS]}, action: redact}
  - {id: grounded, stages: [output], action: block, message: I am not sure., judge: {model: judge, grounding: true, question: g, timeout: 1m, on_error: block}}`

// shown returns what a panel was shown between markers behind a title.
func shown(t testing.TB, said, title string) string {
	_, rest, ok := strings.Cut(said, title+", between lines with ")
	require.True(t, ok, said)
	marker, rest, _ := strings.Cut(rest, ":\n")
	_, rest, _ = strings.Cut(rest, marker+"\n")
	data, _, _ := strings.Cut(rest, "\n"+marker)
	return data
}

const toolsAnswered = "What the tools have answered, the latest first"

// A judge of grounding is asked about what an agent says once tools have answered in the run, and
// sees these answers as the policy's other rules leave them.
func TestJudgeOfGrounding(t *testing.T) {
	j := &panel{answers: map[string]string{"g": no}}
	s := stage(
		t,
		guardrail.Config{Policy: parse(t, groundedAnswers), Models: only(j.model())},
		"Good morning.", // without a tool
		call("fetch", map[string]any{"answer": "ann@corp.example has 21 degrees"}),
		call("fetch", map[string]any{"answer": "rain"}),
		"It is 30 degrees.",
		"You are welcome.",
	) // the next run has no tool
	s.run("hello")
	require.Empty(t, j.asked, "nothing to be grounded in")
	s.run("weather?")
	require.Equal(t, []string{"g"}, j.asked)
	require.Equal(
		t,
		`fetch({"answer":"rain"}) answered {"result":"rain"}
fetch({"answer":"ann@corp.example has 21 degrees"}) answered {"result":"[EMAIL_ADDRESS] has 21 degrees"}`,
		shown(t, j.saw[0], toolsAnswered),
		"the rule is about answers, so the argument that the model wrote is as it is",
	)
	require.Equal(t, "It is 30 degrees.", shown(t, j.saw[0], "The text"))
	s.run("thanks")
	require.Len(t, j.asked, 1)

	j.answers["g"] = yes
	s = stage(t, guardrail.Config{Policy: parse(t, groundedAnswers), Models: only(j.model())},
		call("fetch", map[string]any{"answer": "21"}), "It is 30 degrees.")
	lines := s.run("weather?")
	require.Equal(t, "plugin/guardrail: I am not sure. [DENIED]", lines[len(lines)-1])
}

// answeredIn is a call in a run, and its answer.
func answeredIn(run, name, answer string) []*session.Event {
	asks := says("bot", &genai.Part{FunctionCall: call(name, map[string]any{"n": 1})})
	answers := session.Respond(asks.FunctionCalls()[0], map[string]any{"R": answer})
	asks.InvocationID = run
	answers.InvocationID = run
	return []*session.Event{asks, answers}
}

// There is a question by default, and thoughts and calls are not judged.
func TestJudgeOfGroundingIsAboutWhatIsSaid(t *testing.T) {
	j := &panel{answers: map[string]string{}}
	p := plug(t, guardrail.Config{Models: only(j.model()), Policy: parse(
		t,
		"rules: [{id: grounded, stages: [output], action: flag, judge: {model: judge, grounding: true, timeout: 1m, on_error: allow}}]",
	)})
	inv := invocation()
	inv.Live = append(
		answeredIn("another", "fetch", "of another run"),
		answeredIn(inv.ID, "fetch", "21")...)
	_, err := p.OnEvent(ctx, inv, says("bot", &genai.Part{Text: "let me think", Thought: true},
		&genai.Part{FunctionCall: call("fetch", nil)}))
	require.NoError(t, err)
	require.Empty(t, j.asked)
	_, err = p.OnEvent(ctx, inv, says("bot", &genai.Part{Text: "it is 21"}))
	require.NoError(t, err)
	require.Len(t, j.asked, 1)
	require.Contains(t, j.asked[0], "that does not follow from what the tools have answered?")
	require.Equal(t, `fetch({"n":1}) answered {"R":"21"}`, shown(t, j.saw[0], toolsAnswered))
}

// What tools have answered is sent up to 32 KiB, the latest first, and the judge is told of the
// rest.
func TestJudgeOfGroundingSeesTheLatest(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int // of the answers, the oldest first
		cut   bool
		shown []string // the letters of the answers that are shown
	}{
		"all":                {[]int{100, 10000}, false, []string{"b", "a"}},
		"not the oldest":     {[]int{10000, 20000, 10000}, true, []string{"c", "b"}},
		"one that is large":  {[]int{100, 50000}, true, []string{"b"}},
		"behind a large one": {[]int{10, 50000, 100}, true, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := &panel{answers: map[string]string{"g": no}}
			p := plug(t,
				guardrail.Config{Policy: parse(t, groundedAnswers), Models: only(j.model())})
			inv := invocation()
			for i, size := range c.sizes {
				text := strings.Repeat(string(rune('a'+i)), size)
				inv.Live = append(inv.Live, answeredIn(inv.ID, "F", text)...)
			}
			_, err := p.OnEvent(ctx, inv, says("bot", &genai.Part{Text: "it is"}))
			require.NoError(t, err)
			title := toolsAnswered
			if c.cut {
				title += " (the rest is left out, and not known)"
			}
			text := shown(t, j.saw[0], title)
			require.LessOrEqual(t, len(text), 32<<10)
			var letters []string
			for line := range strings.Lines(text) {
				_, answer, _ := strings.Cut(line, `"R":"`)
				letters = append(letters, answer[:1])
			}
			require.Equal(t, c.shown, letters)
		})
	}
}
