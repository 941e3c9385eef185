package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func said(role genai.Role, text string) *genai.Content {
	return genai.NewContentFromText(text, role)
}

func called(names ...string) *genai.Content {
	c := &genai.Content{Role: genai.RoleModel}
	for _, name := range names {
		c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: name}})
	}
	return c
}

func answered(name string, response map[string]any, more ...*genai.Part) *genai.Content {
	return &genai.Content{
		Role: genai.RoleUser,
		Parts: append(
			[]*genai.Part{
				{
					FunctionResponse: &genai.FunctionResponse{
						ID:       "id of " + name,
						Name:     name,
						Response: response,
					},
				},
			},
			more...),
	}
}

func part(name string, response map[string]any) *genai.Part {
	return answered(name, response).Parts[0]
}

func ask(
	t testing.TB,
	m model.Model,
	req *model.Request,
) (partials []*model.Response, whole *model.Response, err error) {
	t.Helper()
	for r, e := range m.Generate(t.Context(), req) {
		require.True(t, whole == nil && err == nil, "nothing comes after the end")
		switch {
		case e != nil:
			require.Nil(t, r)
			err = e
		case r.Partial:
			partials = append(partials, r)
		default:
			whole = r
		}
	}
	require.True(t, whole == nil != (err == nil), "it ends with one whole response or an error")
	return partials, whole, err
}

func parse(t testing.TB, text string) model.Model {
	t.Helper()
	m, err := script.Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	return m
}

// answer is what the script answers, in short.
func answer(t testing.TB, text string, req *model.Request) string {
	t.Helper()
	_, r, err := ask(t, parse(t, text), req)
	if err != nil {
		return err.Error()
	}
	return short(r.Content)
}

func short(c *genai.Content) string {
	var list []string
	if c != nil {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				args, _ := json.Marshal(p.FunctionCall.Args)
				list = append(list, fmt.Sprint("call ", p.FunctionCall.ID, " ", p.FunctionCall.Name,
					" ", string(args)))
			case p.Thought:
				list = append(list, "("+p.Text+")")
			default:
				list = append(list, p.Text)
			}
		}
	}
	return strings.Join(list, " | ")
}

func Example() {
	m, err := script.Load("testdata/weather.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	weather := []*genai.Content{said("user", "What is the weather in New York?")}
	both := append(weather, called("get_weather", "get_alerts"))
	req := func(contents ...*genai.Content) *model.Request { return &model.Request{Contents: contents} }
	for _, req := range []*model.Request{
		req(weather...),
		req(append(both, answered("get_weather", map[string]any{"celsius": 21.0}, part("get_alerts", map[string]any{"alerts": []any{}})))...),
		req(append(both, answered("get_weather", map[string]any{"celsius": 21.0}, part("get_alerts", map[string]any{"error": "no such city"})))...),
		req(said("user", "Book me a flight")),
		req(said("user", "crash")),
		req(said("user", "long")),
		{Agent: "clerk", Contents: []*genai.Content{said("user", "Hello")}, Config: &genai.GenerateContentConfig{SystemInstruction: said("user", "Answer in JSON.")}},
		req(said("user", "Hello")),
	} {
		for r, err := range m.Generate(context.Background(), req) {
			if err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(short(r.Content), "-", r.FinishReason)
		}
	}
	// Output:
	// (The user wants to know about New York.) | call call-1 get_weather {"city":"New York","days":1} | call call-2 get_alerts {"city":"New York"} - STOP
	// It is 21 degrees, with 0 alerts. - STOP
	// I could not find out everything; no such city. - STOP
	// call call-1 transfer_to_agent {"agent_name":"booking"} - STOP
	// model: UNAVAILABLE: the model is overloaded
	// Once upon a time - MAX_TOKENS
	// {"subject":"Hello","urgent":false} - STOP
	// You said “Hello”. - STOP
}

// The example in the package comment is the one that runs above.
func TestThePackageCommentHasTheExample(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	example, err := os.ReadFile("testdata/weather.yaml")
	require.NoError(t, err)
	var indented strings.Builder
	for line := range strings.Lines(string(example)) {
		if line != "\n" {
			line = "\t" + line
		}
		indented.WriteString(line)
	}
	require.Contains(t, f.Doc.Text(), indented.String())
}

func TestRulesMatch(t *testing.T) {
	hi := said("user", "hi there")
	ok := map[string]any{"ok": true}
	failed := map[string]any{"error": "no"}
	told := &genai.Content{
		Role:  genai.RoleUser,
		Parts: []*genai.Part{{Text: "For context:"}, {Text: "[other] said: bye"}},
	}
	toldResponse := said("user", `[other] f answered: {"ok":true}`)
	summary := said("user", "For context, a summary of the conversation so far; it is a record")
	model1 := func(agent string, contents ...*genai.Content) *model.Request {
		return &model.Request{Agent: agent, Contents: contents}
	}
	instructed := model1("a", hi)
	instructed.Config = &genai.GenerateContentConfig{
		SystemInstruction: said("user", "You are kind."),
	}
	for name, tc := range map[string]struct {
		rule string
		req  *model.Request
		want bool
	}{
		"no condition":                           {"", model1("a", hi), true},
		"no condition, no contents":              {"", model1("a"), true},
		"no condition is not about responses":    {"", model1("a", hi, called("f"), answered("f", ok)), false},
		"agent":                                  {"agent: a", model1("a", hi), true},
		"another agent":                          {"agent: a", model1("b", hi), false},
		"user":                                   {"user: hi", model1("a", hi), true},
		"user, in part":                          {"user: ^there", model1("a", hi), false},
		"user, whole":                            {"user: ^hi there$", model1("a", hi), true},
		"user's last":                            {"user: hi", model1("a", hi, said("model", "yes"), said("user", "bye")), false},
		"user's last, before the model's":        {"user: hi", model1("a", hi, said("model", "hello"), said("model", "and")), true},
		"user is not what was told":              {"user: bye", model1("a", hi, told), false},
		"user before what was told":              {"user: hi", model1("a", hi, told), true},
		"user is not a response":                 {"user: hi", model1("a", said("user", "x"), called("f"), answered("f", ok, &genai.Part{Text: "hi"})), false},
		"user and response":                      {"{user: hi, response: f}", model1("a", hi, called("f"), answered("f", ok)), true},
		"another user and response":              {"{user: bye, response: f}", model1("a", hi, called("f"), answered("f", ok)), false},
		"response":                               {"response: f", model1("a", hi, called("f"), answered("f", ok)), true},
		"response is the end":                    {"response: f", model1("a", hi, called("f"), answered("f", ok), hi), false},
		"response before what was told":          {"response: f", model1("a", hi, called("f"), answered("f", ok), told), true},
		"told":                                   {"told: bye", model1("a", hi, told), true},
		"told, not by the user":                  {"told: hi", model1("a", hi, told), false},
		"told before the model's last turn":      {"told: bye", model1("a", hi, told, said("model", "yes")), false},
		"told before the user's message":         {"told: bye", model1("a", told, hi), false},
		"what is told has lines":                 {"told: '^For context:\\n.*bye\\n.*answered.*}$'", model1("a", hi, told, toldResponse), true},
		"user before a response that was told":   {"user: hi", model1("a", hi, told, toldResponse), true},
		"user is not a summary":                  {"user: context", model1("a", summary), false},
		"a user may begin like that":             {"user: live", model1("a", said("user", "For context: I live here")), true},
		"response of another":                    {"response: f", model1("a", hi, called("g"), answered("g", ok)), false},
		"response of any":                        {"response: '*'", model1("a", hi, called("g"), answered("g", ok)), true},
		"response of any, and there is none":     {"response: '*'", model1("a", hi), false},
		"responses":                              {"response: [f, g]", model1("a", hi, called("f", "g"), answered("f", ok, part("g", ok))), true},
		"responses in contents of their own":     {"response: [g, f]", model1("a", hi, called("f", "g"), answered("f", ok), answered("g", ok)), true},
		"responses and others":                   {"response: [f]", model1("a", hi, called("f", "g"), answered("f", ok, part("g", ok))), true},
		"one of the responses":                   {"response: [f, g]", model1("a", hi, called("f"), answered("f", ok)), false},
		"responses of an earlier turn":           {"response: [f, g]", model1("a", hi, called("f"), answered("f", ok), called("g"), answered("g", ok)), false},
		"failed response":                        {"response: f", model1("a", hi, called("f"), answered("f", failed)), true},
		"error":                                  {"error: f", model1("a", hi, called("f"), answered("f", failed)), true},
		"error of another":                       {"{response: f, error: g}", model1("a", hi, called("f", "g"), answered("f", failed, part("g", ok))), false},
		"error of any":                           {"error: '*'", model1("a", hi, called("f", "g"), answered("f", failed, part("g", ok))), true},
		"no error":                               {"error: f", model1("a", hi, called("f"), answered("f", ok)), false},
		"instruction":                            {"instruction: kind", instructed, true},
		"another instruction":                    {"instruction: rude", instructed, false},
		"no instruction":                         {"instruction: kind", model1("a", hi), false},
		"nil contents and parts are passed over": {"user: hi", model1("a", hi, nil, &genai.Content{Role: "model", Parts: []*genai.Part{nil}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			rule := "{say: yes!}\n"
			switch {
			case strings.HasPrefix(tc.rule, "{"):
				rule = strings.TrimSuffix(tc.rule, "}") + ", say: yes!}\n"
			case tc.rule != "":
				rule = "{" + tc.rule + ", say: yes!}\n"
			}
			got := answer(t, "- "+rule, tc.req)
			if tc.want {
				require.Equal(t, "yes!", got)
			} else {
				require.Contains(t, got, "model: INVALID_ARGUMENT: f.yaml has no rule for")
			}
		})
	}
}

func TestTheFirstRuleThatMatchesAnswers(t *testing.T) {
	hi := &model.Request{Contents: []*genai.Content{said("user", "hi")}}
	require.Equal(t, "2",
		answer(t, "- {user: bye, say: '1'}\n- {user: hi, say: '2'}\n- {user: hi, say: '3'}\n", hi))
}

func TestNoRule(t *testing.T) {
	m := parse(t, "- {user: bye, say: x}\n")
	req := &model.Request{
		Agent: "bot",
		Contents: []*genai.Content{
			said("user", "hi"),
			called("f"),
			answered("f", nil, part("g", nil)),
		},
	}
	_, _, err := ask(t, m, req)
	var failed *model.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "INVALID_ARGUMENT", failed.Code)
	require.Equal(t, 400, failed.Status)
	require.EqualError(
		t,
		err,
		`model: INVALID_ARGUMENT: f.yaml has no rule for responses of f, g to the user's text "hi" (agent "bot"); add one, or one without conditions at the end`,
	)
}

func TestAnswers(t *testing.T) {
	req := func(contents ...*genai.Content) *model.Request {
		return &model.Request{Agent: "bot", Contents: contents}
	}
	hi := req(said("user", "say <hi> to 3"))
	response := req(said("user", "x"), called("f", "f"), answered("f",
		map[string]any{"n": 1e6, "x": 1.5, "list": []any{1.0, nil}, "a-b": "q"},
		part("f", map[string]any{"n": 7.0})))
	one := req(said("user", "x"), called("f"),
		answered("f", map[string]any{"n": 1e6, "x": 1.5, "list": []any{1.0, nil}, "a-b": "q"}))
	for name, tc := range map[string]struct {
		rule string
		req  *model.Request
		want string
	}{
		"text":                       {"say: hello", hi, "hello"},
		"user and agent":             {"say: '{{.agent}}: {{.user}}'", hi, "bot: say <hi> to 3"},
		"groups":                     {"{user: '<(?P<what>\\w+)>(?P<no>z)?', say: '[{{.group.what}}{{.group.no}}]'}", hi, "[hi]"},
		"think":                      {"{think: 'hm {{.user}}', say: ok}", hi, "(hm say <hi> to 3) | ok"},
		"think alone with a call":    {"{think: hm, call: {name: f}}", hi, "(hm) | call bot-1 f null"},
		"calls":                      {"call: [{name: f, args: {a: '{{.agent}}', n: 1, b: [true, null, '{{.user}}'], c: {d: x}}}, {name: g}]", hi, `call bot-1 f {"a":"bot","b":[true,null,"say \u003chi\u003e to 3"],"c":{"d":"x"},"n":1} | call bot-2 g null`},
		"ids count":                  {"{response: f, call: {name: f}}", response, "call bot-3 f null"},
		"args of text":               {"{response: f, call: {name: f, args: '{\"n\": {{.response.f.n}}, \"t\": {{json .user}}}'}}", one, `call bot-2 f {"n":1000000,"t":"x"}`},
		"response":                   {"{response: f, say: '{{.response.f.n}} {{.response.f.x}} {{json .response.f.list}} {{index .response.f \"a-b\"}}'}", one, `1000000 1.5 [1,null] q`},
		"the last response":          {"{response: f, say: '{{.response.f.n}}'}", response, "7"},
		"all responses":              {"{response: f, say: '{{range .responses}}{{.name}} {{.id}} {{.response.n}};{{end}}'}", response, "f id of f 1000000;f id of f 7;"},
		"numbers compare":            {"{response: f, say: '{{if gt .response.f.n 5}}many{{end}}'}", response, "many"},
		"a key that may not be":      {"{response: f, say: '{{with index .response.f \"error\"}}{{.}}{{else}}fine{{end}}'}", response, "fine"},
		"json":                       {"say: {b: '{{.user}}', a: [1, 2.5, true, null]}", hi, `{"a":[1,2.5,true,null],"b":"say <hi> to 3"}`},
		"json of a long number":      {"say: {n: 1152921504606846977}", hi, `{"n":1152921504606846977}`},
		"json list":                  {"say: [1]", hi, "[1]"},
		"json number":                {"say: 42", hi, "42"},
		"lines":                      {"say: |\n    a\n    b\n", hi, "a\nb\n"},
		"transfer":                   {"call: {name: transfer_to_agent, args: {agent_name: b}}", hi, `call bot-1 transfer_to_agent {"agent_name":"b"}`},
		"no answer":                  {"say: ''", hi, "model: NO_ANSWER: the rule's texts came out empty"},
		"failure":                    {"fail: {code: UNAVAILABLE, message: 'no {{.agent}}', status: 503}", hi, "model: UNAVAILABLE: no bot"},
		"failure without a code":     {"fail: {message: no}", hi, "model: MODEL_ERROR: no"},
		"failure without anything":   {"fail: {}", hi, "model: MODEL_ERROR"},
		"a template's key is absent": {"say: '{{.group.city}}'", hi, `model: INVALID_ARGUMENT: f.yaml:2:3: say: template: template:1:8: executing "template" at <.group.city>: map has no entry for key "city"`},
		"a call's too":               {"call: {name: f, args: {a: '{{.nope}}'}}", hi, `model: INVALID_ARGUMENT: f.yaml:2:3: call of f: args: a: template: template:1:2: executing "template" at <.nope>: map has no entry for key "nope"`},
		"args that are no object":    {"call: {name: f, args: '[1]'}", hi, "model: INVALID_ARGUMENT: f.yaml:2:3: call of f: args: the text is no JSON object: [1]"},
		"args that are null":         {"call: {name: f, args: 'null'}", hi, "model: INVALID_ARGUMENT: f.yaml:2:3: call of f: args: the text is no JSON object: null"},
	} {
		t.Run(name, func(t *testing.T) {
			got := answer(t, "# a comment\n- "+tc.rule+"\n", tc.req)
			got, _, _ = strings.Cut(got, "\njson:")
			require.Equal(t, tc.want, got)
		})
	}
}

func TestFinishUsageAndVersion(t *testing.T) {
	req := &model.Request{
		Contents: []*genai.Content{
			said("user", "12345678"),
			called("f"),
			answered("f", map[string]any{"a": 1.0}),
		},
		Config: &genai.GenerateContentConfig{SystemInstruction: said("user", "1234")},
	}
	_, r, err := ask(
		t,
		parse(t,
			"- {response: f, think: abc d, say: abcdefghi, call: {name: fgh, args: {b: 1}}}\n"),
		req,
	)
	require.NoError(t, err)
	require.Equal(t, genai.FinishReasonStop, r.FinishReason)
	require.Equal(t, "script", r.ModelVersion)
	require.Empty(t, r.ErrorCode)
	// 8 + 4 characters of text, f and f{"a":1}; abcdefghi and fgh{"b":1}
	require.Equal(
		t,
		&genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount:     6,
			CandidatesTokenCount: 5,
			ThoughtsTokenCount:   2,
			TotalTokenCount:      13,
		},
		r.UsageMetadata,
	)

	_, r, err = ask(t,
		parse(t, "- {response: f, finish: SAFETY, usage: {prompt: 10, answer: 3}}\n"), req)
	require.NoError(t, err)
	require.Equal(
		t,
		&model.Response{
			FinishReason: "SAFETY",
			ErrorCode:    "SAFETY",
			ErrorMessage: r.ErrorMessage,
			ModelVersion: "script",
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
				PromptTokenCount:     10,
				CandidatesTokenCount: 3,
				TotalTokenCount:      13,
			},
		},
		r,
	)
	require.NotEmpty(t, r.ErrorMessage)
}

// A call has the same id whenever the same request is made, and another one elsewhere.
func TestIDs(t *testing.T) {
	m := parse(t, "- call: {name: f}\n")
	id := func(agent, branch string, before int) string {
		req := &model.Request{Agent: agent, Branch: branch}
		for range before {
			req.Contents = append(req.Contents, called("g"), answered("g", nil))
		}
		req.Contents = append(req.Contents, said("user", "hi"))
		_, r, err := ask(t, m, req)
		require.NoError(t, err)
		return r.Content.Parts[0].FunctionCall.ID
	}
	seen := map[string]bool{}
	for _, agent := range []string{"", "a", "b"} {
		for _, branch := range []string{"", "x", "x.y"} {
			for before := range 3 {
				once := id(agent, branch, before)
				require.Equal(t, once, id(agent, branch, before))
				require.False(t, seen[once], once)
				seen[once] = true
			}
		}
	}
}

// Partial responses, joined, are what the whole one says, and none is longer than it may be.
func TestPartialsAreTheWhole(t *testing.T) {
	m := parse(t, "- {think: '{{.agent}}', say: '{{.user}}', stream: 3, call: {name: f}}\n")
	rapid.Check(t, func(rt *rapid.T) {
		req := &model.Request{
			Stream: true,
			Agent:  rapid.StringOfN(rapid.Rune(), 0, 20, -1).Draw(rt, "thought"),
			Contents: []*genai.Content{
				said("user", rapid.StringOfN(rapid.Rune(), 0, 50, -1).Draw(rt, "text")),
			},
		}
		partials, whole, err := ask(t, m, req)
		require.NoError(rt, err)
		var c model.Collector
		for _, p := range partials {
			require.True(rt, p.Partial)
			require.LessOrEqual(rt, len([]rune(p.Content.Parts[0].Text)), 3)
			c.Add(p)
		}
		parts := whole.Content.Parts
		require.Equal(rt, req.Agent+req.Contents[0].Parts[0].Text, text(parts))
		if joined := c.Whole().Content; joined != nil {
			require.Equal(rt, joined.Parts, parts[:len(parts)-1])
			require.Equal(rt, joined.Role, whole.Content.Role)
		} else {
			require.Len(rt, parts, 1)
		}

		req.Stream = false
		none, same, err := ask(t, m, req)
		require.NoError(rt, err)
		require.Empty(rt, none)
		require.Equal(rt, whole, same)
	})
}

func text(parts []*genai.Part) (text string) {
	for _, p := range parts {
		text += p.Text
	}
	return text
}

func TestAStreamFailsAfterItsChunks(t *testing.T) {
	m := parse(t, "- {say: abcdef, stream: 4, fail: {code: UNAVAILABLE}}\n")
	partials, _, err := ask(t, m, &model.Request{Stream: true})
	require.Len(t, partials, 2)
	require.EqualError(t, err, "model: UNAVAILABLE")
	partials, _, err = ask(t, m, &model.Request{})
	require.Empty(t, partials)
	require.EqualError(t, err, "model: UNAVAILABLE")
}

func TestDelay(t *testing.T) {
	m := parse(t, "- {say: abcdef, stream: 2, delay: 3s}\n")
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var at []time.Duration
			for _, err := range m.Generate(t.Context(), &model.Request{Stream: stream}) {
				require.NoError(t, err)
				at = append(at, time.Since(began))
			}
			if stream {
				require.Equal(t,
					[]time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second},
					at)
			} else {
				require.Equal(t, []time.Duration{3 * time.Second}, at)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var got []string
		for r, err := range m.Generate(ctx, &model.Request{Stream: true}) {
			if err != nil {
				require.Equal(t, context.DeadlineExceeded, err)
				got = append(got, "end")
				continue
			}
			got = append(got, short(r.Content))
		}
		require.Equal(t, []string{"ab", "end"}, got)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for r, err := range parse(t, "- say: x\n").Generate(ctx, &model.Request{}) {
		require.Nil(t, r)
		require.Equal(t, context.Canceled, err)
	}
	n := 0
	for range parse(t, "- {say: abcdef, stream: 1}\n").Generate(t.Context(), &model.Request{Stream: true}) {
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
	_, _, err := ask(t, parse(t, "- say: '{{range 2000000}}.{{end}}'\n"), &model.Request{})
	require.ErrorContains(t, err, "more than 1048576 bytes")
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "f.yaml:1:1: the script has no rules",
		"# nothing":                           "f.yaml:1:1: the script has no rules",
		"[]":                                  "f.yaml:1:1: the script has no rules",
		"say: x":                              "f.yaml:1:1: a script is a list of rules",
		"- hello":                             "f.yaml:1:3: keys and values are wanted here",
		"- [":                                 "f.yaml:1:3: ",
		"- say: x\n---\n- say: y":             "f.yaml:3:1: a second document",
		"- user: hi\n  sya: x":                `f.yaml:2:3: unknown key "sya"; did you mean "say"?`,
		"- user: hi\n  zzzzzz: x":             `f.yaml:2:3: unknown key "zzzzzz"; there are agent, call, delay, error, fail, finish, instruction, response, say, stream, think, told, usage, user`,
		"- say: x\n  say: y":                  "f.yaml:2:3: ",
		"- user:\n  say: x":                   "f.yaml:1:3: user has no value",
		"- user: hi":                          "f.yaml:1:3: the rule has no answer",
		"- think: hi":                         "f.yaml:1:3: the rule has no answer",
		"- {user: '(', say: x}":               "f.yaml:1:10: error parsing regexp",
		"- {user: 5, say: x}":                 "f.yaml:1:10: a text is wanted here",
		"- say: '{{'":                         "f.yaml:1:8: template: template:1: ",
		"- say: {a: ['{{end}}']}":             "f.yaml:1:13: template: template:1: ",
		"- say: {a: .nan}":                    "f.yaml:1:12: it is no JSON value",
		"- say: &a x":                         "f.yaml:1:8: anchors, aliases and tags are not supported",
		"- say: !!str 5":                      "f.yaml:1:8: anchors, aliases and tags are not supported",
		"- {say: x, <<: {a: b}}":              "f.yaml:1:12: anchors, aliases and tags",
		"- {response: [], say: x}":            "f.yaml:1:14: the list is empty",
		"- {response: [''], say: x}":          "f.yaml:1:15: the name is empty",
		"- {response: [f, {}], say: x}":       "f.yaml:1:18: a text is wanted",
		"- call: []":                          "f.yaml:1:9: the list is empty",
		"- call: f":                           "f.yaml:1:9: keys and values",
		"- call: {args: {}}":                  "f.yaml:1:9: the call has no name",
		"- call: {name: f, arg: {}}":          `f.yaml:1:19: unknown key "arg"; did you mean "args"?`,
		"- call: {name: f, args: [1]}":        "f.yaml:1:9: args of f are keys and values",
		"- fail: {cod: X}":                    `f.yaml:1:10: unknown key "cod"; did you mean "code"?`,
		"- fail: {code: not one}":             `f.yaml:1:16: "not one" is no code`,
		"- {finish: max_tokens}":              `f.yaml:1:12: "max_tokens" is no code`,
		"- {fail: {}, call: {name: f}}":       "f.yaml:1:3: fail and call exclude each other",
		"- {fail: {}, finish: STOP}":          "f.yaml:1:3: fail and finish exclude each other",
		"- {fail: {}, usage: {prompt: 1}}":    "f.yaml:1:3: fail and usage exclude each other",
		"- {call: {name: f}, stream: 3}":      "f.yaml:1:3: stream cuts what is said",
		"- {say: x, stream: 0}":               "f.yaml:1:20: a whole number from 1",
		"- {say: x, stream: 1.5}":             "f.yaml:1:20: a whole number from 1",
		"- {say: x, usage: {prompt: -1}}":     "f.yaml:1:28: a whole number from 1",
		"- {say: x, usage: {answer: 1e99}}":   "f.yaml:1:28: a whole number from 1",
		"- {say: x, delay: 5}":                "f.yaml:1:19: a duration such as",
		"- {say: x, delay: -5s}":              "f.yaml:1:19: a duration such as",
		"- {say: x, delay: soon}":             "f.yaml:1:19: a duration such as",
		"- user: hi\n- say: x\n- {sya: x}":    "f.yaml:1:3: the rule has no answer: it needs say, call, fail or finish\nf.yaml:3:4: unknown key",
		"- {say: x, agent: [a]}":              "f.yaml:1:19: ",
		"- {say: x, response: f, error: [1]}": "f.yaml:1:33: a text is wanted",
	} {
		_, err := script.Parse("f.yaml", []byte(text))
		require.ErrorContains(t, err, want, "script %s", text)
	}
}

func TestLoad(t *testing.T) {
	_, err := script.Load(filepath.Join(t.TempDir(), "absent.yaml"))
	require.True(t, errors.Is(err, os.ErrNotExist))
	require.ErrorContains(t, err, "absent.yaml")
	_, err = script.Load("testdata/weather.yaml")
	require.NoError(t, err)
}

// A script is read, or refused with its name and place.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/weather.yaml")
	require.NoError(f, err)
	f.Add(example)
	f.Add([]byte(
		"- {user: '(', say: {a: [1, '{{.user}}']}, delay: 1s, stream: 3, usage: {prompt: 1}}\n"))
	f.Add([]byte("- &a {<<: *a}\n---\n- !!str 5\n"))
	f.Add([]byte("\t: [\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return // deep nesting of brackets is slow, not wrong
		}
		m, err := script.Parse("f.yaml", data)
		if err != nil {
			require.Nil(t, m)
			for line := range strings.Lines(err.Error()) {
				if strings.HasPrefix(line, "f.yaml:") {
					return
				}
			}
			t.Fatalf("the error does not say where: %v", err)
		}
		require.NotNil(t, m)
	})
}

func TestNoFileTakesAllMemory(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 16<<20+1))
	_, err := script.Load(large)
	require.ErrorContains(t, err, "large.yaml: it is larger than 16 MiB")
	for _, deep := range []string{"- say: " + strings.Repeat("[", 100_000), strings.Repeat("- ", 100_000) + "x", "- say: " + strings.Repeat("{a: ", 50_000)} {
		_, err := script.Parse("deep.yaml", []byte(deep))
		require.ErrorContains(t, err, "more than 100 values inside of one another")
	}
}
