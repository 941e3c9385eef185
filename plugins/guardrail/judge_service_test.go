package guardrail_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// court is a service that judges.
type court struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []map[string]string
	headers []http.Header
}

// answered returns a court that answers with a text, or what a func makes of a question.
func answered(t testing.TB, answer any) *court {
	c := &court{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q map[string]string
		data, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || json.Unmarshal(data, &q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.asked, c.headers = append(c.asked, q), append(c.headers, r.Header.Clone())
		c.mu.Unlock()
		if f, ok := answer.(func(http.ResponseWriter, *http.Request, map[string]string)); ok {
			f(w, r, q)
			return
		}
		_, _ = io.WriteString(w, answer.(string))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *court) texts() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.asked {
		list = append(list, q["stage"]+": "+q["text"])
	}
	return list
}

// rule is a policy with one rule that asks the court.
func (c *court) rule(t testing.TB, rest, judge string) *policy.Policy {
	return parse(t,
		fmt.Sprintf("rules:\n  - {id: topic, %s, judge: {url: %s, %s}}", rest, c.URL, judge))
}

const patient = "timeout: 1m, on_error: block"

func TestJudgeRefuses(t *testing.T) {
	rule := func(judge, rest string) string {
		return "rules:\n  - id: a\n    judge: {" + judge + "}\n    " + rest + "\n"
	}
	url := "url: https://j.example, timeout: 3s, on_error: block"
	for name, c := range map[string]struct{ file, want string }{
		"nobody": {
			rule("timeout: 3s, on_error: block", "action: block"),
			"p.yaml:3:12: a judge is a service or a model",
		},
		"two": {
			rule(url+", model: m", "action: block"),
			"write either url: or model:",
		},
		"no timeout": {
			rule("url: https://j.example, on_error: block", "action: block"),
			"p.yaml:3:12: a judge needs a timeout",
		},
		"bad timeout": {
			rule("url: https://j.example, timeout: 3, on_error: block", "action: block"),
			`p.yaml:3:46: `,
		},
		"no time": {
			rule("url: https://j.example, timeout: 0s, on_error: block", "action: block"),
			"the timeout is 0s; it must be more than 0",
		},
		"for ever": {
			rule("url: https://j.example, timeout: 1h, on_error: block", "action: block"),
			`at most 10m0s`,
		},
		"no on_error": {
			rule("url: https://j.example, timeout: 3s", "action: block"),
			"p.yaml:3:12: a judge needs on_error",
		},
		"bad on_error": {
			rule("url: https://j.example, timeout: 3s, on_error: open", "action: block"),
			`"open" is not known here`,
		},
		"unencrypted": {
			rule("url: http://j.example, timeout: 3s, on_error: block", "action: block"),
			"p.yaml:3:18: http would send the texts unencrypted",
		},
		"unencrypted, by number": {
			rule("url: 'http://10.0.0.1', timeout: 3s, on_error: block", "action: block"),
			"http would send the texts unencrypted",
		},
		"like this machine": {
			rule("url: http://localhost.example, timeout: 3s, on_error: block", "action: block"),
			"http would send the texts unencrypted",
		},
		"no address": {
			rule("url: j.example, timeout: 3s, on_error: block", "action: block"),
			"this is not the address of a service",
		},
		"another scheme": {
			rule("url: 'file:///etc/passwd', timeout: 3s, on_error: block", "action: block"),
			"this is not the address of a service",
		},
		"a password": {
			rule("url: 'https://u:secret@j.example', timeout: 3s, on_error: block", "action: block"),
			"must not have a user or a password",
		},
		"no question": {
			rule("model: m, timeout: 3s, on_error: block", "action: block"),
			"a model needs question:",
		},
		"a question to an url": {
			rule(url+", question: x", "action: block"),
			"question: is for a model only",
		},
		"a header for a model": {
			rule("model: m, question: x, header_env: X, timeout: 3s, on_error: block", "action: block"),
			"header_env: is for a service at url: only",
		},
		"a detector": {
			rule(url, "detect: {secrets: default}\n    action: block"),
			"a rule with a judge cannot have detect: or tools:",
		},
		"tools": {
			rule(url, "stages: [tool_args]\n    tools: {deny: [x]}"),
			"a rule with a judge cannot have detect: or tools:",
		},
		"a window": {
			rule(url, "window: turn\n    action: block"),
			"a judge sees one text at a time",
		},
		"prompt": {
			rule(url, "stages: [prompt]\n    action: block"),
			"the whole conversation again at each model call",
		},
		"a model that redacts": {
			rule("model: m, question: x, timeout: 3s, on_error: block", "action: redact"),
			"a model answers only yes or no",
		},
		"a type that is none": {
			rule(url, "action: {topic: block}"),
			`the rule never finds the type "topic"`,
		},
		"nothing": {
			rule(url, "action: allow"),
			"a rule that only allows never has an effect",
		},
		"a test of another": {
			rule(url, "action: block") + "tests:\n  - {name: x, stage: input, text: y, want: block, judge: {b: true}}",
			`no rule with a judge has the id "b"`,
		},
		"a misspelt key": {
			rule(url+", timout: 3s", "action: block"),
			`unknown key "timout"; did you mean "timeout"?`,
		},
		"a part of an address": {
			rule("url: 'https://j.example/#x', timeout: 3s, on_error: block", "action: block"),
			"the part after # is not sent",
		},
		"an example to an url": {
			rule(url+", examples: [{text: a, flagged: true}]", "action: block"),
			"examples: is for a model only",
		},
		"grounds for an url": {
			rule(url+", grounding: true", "stages: [output]\n    action: block"),
			"grounding: is for a model only",
		},
		"half an example": {
			rule("model: m, question: x, timeout: 3s, on_error: block, examples: [{text: a}]", "action: block"),
			"p.yaml:3:77: an example needs text:, and flagged: true or false",
		},
		"no threshold": {
			rule(url+", threshold: 0", "action: block"),
			"the threshold is 0; it must be a score above 0 and at most 1",
		},
		"a high threshold": {
			rule(url+", threshold: 50", "action: block"),
			"the threshold is 50",
		},
		"grounds of an input": {
			rule("model: m, grounding: true, timeout: 3s, on_error: block", "stages: [input, output]\n    action: block"),
			"write stages: [output]",
		},
		"an answer of a number": {
			rule(url, "action: block") + "tests:\n  - {name: x, stage: input, text: y, want: block, judge: {a: 1}}",
			"this must be true, false, or the judge's answer as a text",
		},
		"a question about none": {
			rule("model: m, question: '', timeout: 3s, on_error: block", "action: block"),
			"a model needs question:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("p.yaml", []byte(c.file))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestJudgeIsSentRuleStageAndText(t *testing.T) {
	t.Setenv("JUDGE_AUTH", "X-Judge: let-me-in")
	c := answered(t, `{"flagged": false, "other": 1}`)
	p := c.rule(t, "action: block", patient+", header_env: JUDGE_AUTH")
	s := stage(t, guardrail.Config{Policy: p}, call("fetch", map[string]any{"answer": "x", "n": 1}),
		"fine")
	s.run("hello")
	require.Equal(
		t,
		[]string{
			`input: hello`,
			`tool_args: {"answer":"x","n":1}`,
			`tool_result: {"result":"x"}`,
			"output: fine",
		},
		c.texts(),
	)
	require.Equal(t, map[string]string{"rule": "topic", "stage": "input", "text": "hello"},
		c.asked[0])
	require.Equal(t, "let-me-in", c.headers[0].Get("X-Judge"))
	require.Equal(t, "application/json", c.headers[0].Get("Content-Type"))
	require.NotContains(t, s.log.String(), "let-me-in")

	s.run("hello")
	require.Equal(t, []string{"output: no more answers"}, c.texts()[4:],
		"what was answered is remembered; the model has no more answers")
}

func TestJudgeVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		rest, answer string
		model        any
		want         []string
	}{
		"block": {
			"stages: [input], action: block, message: No.",
			`{"flagged": true, "type": "TOPIC", "score": 0.7}`,
			"hi",
			[]string{"plugin/guardrail: No. [DENIED]"},
		},
		"an answer that is blocked": {
			"stages: [output], action: block, message: No.",
			`{"flagged": true}`,
			[]string{"it is ", "so"},
			[]string{"user: é a-b", "plugin/guardrail: No. [DENIED]"},
		},
		"a call that is blocked": {
			"stages: [tool_args], action: block, message: No.",
			`{"flagged": true}`,
			call("send", map[string]any{"to": "a@b.example"}),
			[]string{
				"user: é a-b",
				`bot: send{"to":"a@b.example"}`,
				`plugin/guardrail: send={"error":"No."} [DENIED]`,
				"bot: MODEL",
			},
		},
		"a call that is asked about": {
			"stages: [tool_args], action: ask, message: Well?",
			`{"flagged": true}`,
			call("send", map[string]any{"to": "a@b.example"}),
			[]string{
				"user: é a-b",
				`bot: send{"to":"a@b.example"}`,
				"plugin/guardrail: [c-send: Well?]",
			},
		},
		"a part": {
			"stages: [input], action: redact",
			`{"flagged": true, "type": "X", "findings": [{"start": 3, "end": 4, "score": 0.5}]}`,
			"hi",
			[]string{"user: é [X]-b", "bot:… hi", "bot: hi"},
		},
		"a part of another type": {
			"stages: [input], action: {Y: mask}",
			`{"flagged": true, "findings": [{"start": 3, "end": 6, "type": "Y"}, {"start": 0, "end": 2, "type": "Z"}]}`,
			"hi",
			[]string{"user: é *-*", "bot:… hi", "bot: hi"},
		},
		"a type that is allowed": {
			"stages: [input], action: {OK: allow, \"*\": block}",
			`{"flagged": true, "type": "OK"}`,
			"hi",
			[]string{"user: é a-b", "bot:… hi", "bot: hi"},
		},
		"the lowest score": {
			"stages: [input], action: redact",
			`{"flagged": true, "score": 0}`,
			"hi",
			[]string{"user: [FLAGGED]", "bot:… hi", "bot: hi"},
		},
		"the highest score": {
			"stages: [input], action: redact",
			`{"flagged": true, "score": 1}`,
			"hi",
			[]string{"user: [FLAGGED]", "bot:… hi", "bot: hi"},
		},
		"a part, replaced": {
			"stages: [input], action: replace, with: <x>",
			`{"flagged": true, "findings": [{"start": 3, "end": 4}]}`,
			"hi",
			[]string{"user: é <x>-b", "bot:… hi", "bot: hi"},
		},
		"parts of one type": {
			"stages: [input], action: redact",
			`{"flagged": true, "findings": [{"start": 0, "end": 2}, {"start": 5, "end": 6}]}`,
			"hi",
			[]string{"user: [FLAGGED] a-[FLAGGED]", "bot:… hi", "bot: hi"},
		},
		"in shadow": {
			"stages: [input, output], mode: shadow, action: block",
			`{"flagged": true}`,
			"hi",
			[]string{"user: é a-b", "bot:… hi", "bot: hi"},
		},
		"no part": {
			"stages: [input], action: redact",
			`{"flagged": true}`,
			"hi",
			[]string{"user: [FLAGGED]", "bot:… hi", "bot: hi"},
		},
		"condition": {
			"stages: [input], when: 'text contains \"z\"', action: block",
			`{"flagged": true}`,
			"hi",
			[]string{"user: é a-b", "bot:… hi", "bot: hi"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			court := answered(t, c.answer)
			list := []any{c.model, "MODEL"}
			if text, ok := c.model.(string); ok {
				list = []any{[]string{text}}
			}
			s := stage(t, guardrail.Config{Policy: court.rule(t, c.rest, patient)}, list...)
			require.Equal(t, c.want, s.run("é a-b"))
		})
	}
}

func TestJudgeIsNoted(t *testing.T) {
	court := answered(t, `{"flagged": true, "type": "TOPIC", "score": 0.7}`)
	s := stage(t, guardrail.Config{Policy: court.rule(t, "stages: [input], action: flag", patient)},
		"hi")
	n, ok := guardrail.NoteOf(s.events("canary")[0])
	require.True(t, ok)
	require.Len(t, n.Records, 1)
	r := n.Records[0]
	require.Equal(t, []any{"topic", "TOPIC", policy.Flag, 1, 6, 0.7},
		[]any{r.Rule, r.Type, r.Action, r.Count, r.Length, r.Score})
	require.NotContains(t, s.log.String(), "canary")
}

// faults are what a service can do wrong, and what is said of it.
var faults = map[string]struct {
	timeout string
	do      func(http.ResponseWriter, *http.Request, map[string]string)
	want    string
}{
	"slow": {"20ms", hang, "its judge has not answered within 20ms"},
	"500": {
		"1m",
		func(w http.ResponseWriter, _ *http.Request, q map[string]string) { http.Error(w, q["text"], 500) },
		"HTTP status 500",
	},
	"204": {
		"1m",
		func(w http.ResponseWriter, _ *http.Request, _ map[string]string) { w.WriteHeader(204) },
		"HTTP status 204",
	},
	"garbage":    noVerdict("canary {"),
	"nothing":    noVerdict(""),
	"two":        noVerdict(`{"flagged": false}{"flagged": true}`),
	"twice":      noVerdict(`{"flagged": false, "flagged": true}`),
	"no verdict": {"1m", noVerdict(`{"type": "X"}`).do, "does not say flagged"},
	"a word":     noVerdict(`{"flagged": "no"}`),
	"both": {
		"1m",
		noVerdict(`{"flagged": false, "findings": [{"start": 0, "end": 1}]}`).do,
		"has findings and is not flagged",
	},
	"score": {
		"1m",
		noVerdict(`{"flagged": true, "score": 1.5}`).do,
		"a score that is not from 0 to 1",
	},
	"type": {"1m", noVerdict(`{"flagged": true, "type": "the canary"}`).do, "a wrong type"},
	"outside": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 0, "end": 99}]}`).do,
		"no part of the text",
	},
	"backward": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 2, "end": 1}]}`).do,
		"no part of the text",
	},
	"no end": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 2}]}`).do,
		"no part of the text",
	},
	"no start": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"end": 2}]}`).do,
		"no part of the text",
	},
	"before": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": -1, "end": 2}]}`).do,
		"no part of the text",
	},
	"empty": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 2, "end": 2}]}`).do,
		"no part of the text",
	},
	"half of é": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 1, "end": 4}]}`).do,
		"no part of the text",
	},
	"less": {
		"1m",
		noVerdict(`{"flagged": true, "score": -0.5}`).do,
		"a score that is not from 0 to 1",
	},
	"half an é": {
		"1m",
		noVerdict(`{"flagged": true, "findings": [{"start": 0, "end": 1}]}`).do,
		"no part of the text",
	},
	"huge": {
		"1m",
		noVerdict(`{"flagged": false, "pad": "` + strings.Repeat("x", 1<<20) + `"}`).do,
		"more than 1048576 bytes",
	},
	"redirect": {"1m", func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, "none is followed"},
	"closed": {"1m", hijack(""), "its judge closed the connection"},
	"half": {
		"1m",
		hijack("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"flagged\": false"),
		"its judge closed the connection",
	},
	"not in HTTP": {
		"1m",
		hijack("canary canary canary\r\n\r\n"),
		"its judge did not answer in HTTP",
	},
	"a gzip bomb": {"1m", func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb())
	}, "more than 1048576 bytes"},
}

func TestJudgeFaults(t *testing.T) {
	t.Setenv("JUDGE_AUTH", "Authorization: Bearer canary")
	for name, c := range faults {
		for _, onError := range []string{"block", "allow"} {
			t.Run(name+", "+onError, func(t *testing.T) {
				court := answered(t, c.do)
				p := court.rule(t, "stages: [input], action: flag",
					"header_env: JUDGE_AUTH, timeout: "+c.timeout+", on_error: "+onError)
				s := stage(t, guardrail.Config{Policy: p}, "hi")
				events := s.events("é canary")
				first := events[0]
				if onError == "block" {
					require.Equal(
						t,
						[]string{
							"plugin/guardrail: This could not be checked against the policy. [DENIED]",
						},
						[]string{line(first)},
					)
					n, _ := guardrail.NoteOf(first)
					require.Equal(t, "UNJUDGED", n.Records[0].Type)
				} else {
					require.Equal(t, []plugin.Note{
						{Plugin: "guardrail", Hook: plugin.OnEvent},
					}, plugin.NotesOf(first).Unchecked)
					require.Equal(t, "bot: hi", line(events[1]))
				}
				require.Contains(t, s.log.String(), c.want)
				require.NotContains(t, s.log.String(), "canary")
			})
		}
	}
}

func TestJudgeThatIsNotThere(t *testing.T) {
	const at = "http://127.0.0.1:1" // where nobody listens
	s := stage(t, guardrail.Config{
		Policy: parse(t, "rules:\n  - {id: a, action: block, judge: {url: '"+at+"', "+patient+"}}"),
	})
	require.Equal(t,
		[]string{"plugin/guardrail: This could not be checked against the policy. [DENIED]"},
		s.run("hello"))
	require.Contains(t, s.log.String(), "its judge cannot be reached: connection refused")
}

func TestJudgeOfAPolicyThatCannotBeUsed(t *testing.T) {
	t.Setenv("NO_HEADER", "canary")
	model := "rules:\n  - {id: a, action: block, judge: {model: m, question: x, timeout: 3s, on_error: block}}"
	url := "rules:\n  - {id: a, action: block, judge: {url: 'https://j.example', header_env: NO_HEADER, timeout: 3s, on_error: block}}"
	_, err := guardrail.New(guardrail.Config{Policy: parse(t, model)})
	require.EqualError(
		t,
		err,
		"guardrail: p.yaml: rule a: its judge is a model, and none can be opened here: the Config has no Models",
	)
	_, err = guardrail.New(guardrail.Config{Policy: parse(t, model), Models: noModels})
	require.EqualError(t, err, "guardrail: p.yaml: rule a: there is no m")
	_, err = guardrail.New(guardrail.Config{Policy: parse(t, url)})
	require.EqualError(
		t,
		err,
		"guardrail: p.yaml: rule a: header_env: the environment variable NO_HEADER has no header: set it to one, as in Authorization: Bearer TOKEN",
	)
}

func TestJudgeIsNotAskedAboutWhatIsTooLong(t *testing.T) {
	court := answered(t, `{"flagged": true}`)
	p := parse(
		t,
		"limits: {max_bytes: 30}\nrules:\n  - {id: topic, stages: [tool_args], action: flag, judge: {url: "+court.URL+", "+patient+"}}",
	)
	s := stage(t, guardrail.Config{Policy: p},
		call("send", map[string]any{"to": "a@b.example", "text": "0123456789"}), "ok")
	lines := s.run("x")
	require.Contains(t, lines[2], "too long for the policy to check")
	require.Empty(t, court.texts())
	require.Empty(t, s.tools)
}

// A judge is sent UTF-8, with as many bytes as the text has: what it finds is where it says.
func TestJudgeOfBytesThatAreNoText(t *testing.T) {
	court := answered(t, `{"flagged": true, "type": "X", "findings": [{"start": 4, "end": 6}]}`)
	p := plug(t,
		guardrail.Config{Policy: court.rule(t, "stages: [input], action: redact", patient)})
	got, _ := offered(t, p, input("\xff \xc3 é \xe2\x82"))
	require.Equal(t, "\xff \xc3 [X] \xe2\x82", got.Text())
	require.Equal(t, []string{"input: ? ? é ??"}, court.texts())
}

// What other rules have found in a text that is judged counts once.
func TestJudgedTextsAreNotedOnce(t *testing.T) {
	court := answered(t, `{"flagged": false}`)
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: word, detect: {words: [heron]}, action: flag}
  - {id: parts, judge: {url: %s, %s}, action: redact}
  - {id: topic, judge: {url: %s, %s}, action: block}
  - {id: all, stages: [tool_args], when: tool.name != "", action: flag}`, court.URL, patient, court.URL, patient))})
	for want, e := range map[string]*session.Event{
		"word: 1":         input("a heron"),
		"word: 1, all: 1": says("bot", &genai.Part{FunctionCall: call("fetch", map[string]any{"a": "heron"})}),
	} {
		got, _ := offered(t, p, e)
		n, _ := guardrail.NoteOf(got)
		var counts []string
		for _, r := range n.Records {
			counts = append(counts, fmt.Sprintf("%s: %d", r.Rule, r.Count))
		}
		require.Equal(t, want, strings.Join(counts, ", "))
	}
}
