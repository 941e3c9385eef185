package agenthost_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/agenthost"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// A vector is one of the conformance kit's.
type vector struct {
	ID, Title, Part, Mode string
	Capabilities          []string
	Composition           agenthooks.Composition
	IdentityProvider      json.RawMessage `json:"identity_provider"`
	Scenario              scenario
	InterceptorScript     *[]rule  `json:"interceptor_script"`
	InterceptorScripts    [][]rule `json:"interceptor_scripts"`
	ApprovalScript        []struct {
		Match   map[string]any
		Resolve struct {
			Outcome, Fault   string
			Verdict          json.RawMessage
			IdentityOverride string `json:"identity_override"`
			EchoRecomputed   bool   `json:"echo_recomputed"`
		}
	} `json:"approval_script"`
	RedactForApproval []string `json:"redact_for_approval"`
	Expect            struct {
		SequenceStrict bool `json:"sequence_strict"`
		Interceptions  []struct {
			Point              string `json:"interception_point"`
			Context            map[string]any
			ContextContains    []string `json:"context_must_contain"`
			ContextNotContains []string `json:"context_must_not_contain"`
		}
		Absent           []string                              `json:"interceptions_absent"`
		ToolInvocations  []map[string]any                      `json:"tool_invocations"`
		ToolNotInvoked   []string                              `json:"tool_not_invoked"`
		Records          []map[string]any                      `json:"records"`
		RunOutcome       string                                `json:"run_outcome"`
		ByPosture        *struct{ Outcomes map[string]string } `json:"run_outcome_by_posture"`
		FinalOutput      json.RawMessage                       `json:"final_output"`
		ReleasedOutput   *string                               `json:"released_output"`
		PersistedMustNot []string                              `json:"persisted_must_not_contain"`
		IdentitiesEqual  *bool                                 `json:"identities_equal"`
	}
}

type scenario struct {
	Input struct{ Content, Role string }
	Tools []struct {
		Name     string
		Behavior []struct {
			WhenArgs map[string]any `json:"when_args"`
			Return   any
			IsError  bool `json:"is_error"`
		}
	}
	ModelScript []struct {
		Respond struct {
			Content   *string
			ToolCalls []struct {
				ID, Name string
				Args     json.RawMessage
			} `json:"tool_calls"`
			Stream          []string
			StreamTruncated bool `json:"stream_truncated"`
		}
	} `json:"model_script"`
}

type rule struct {
	At, Fault string
	Match     map[string]any
	Return    json.RawMessage
}

// TestAgentHooksVectors runs the conformance kit's vectors on the real runner and agent/llm. Only the model and the tools
// are mocked. A surface is what a host declares: with incremental_output, all 51 apply, without it 47.
func TestAgentHooksVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(data(t), "agent-hooks", "conformance", "vectors", "*.json"))
	require.NoError(t, err)
	for _, surface := range []string{"incremental_output", "buffered_output"} {
		for _, posture := range []string{"continue", "terminate"} {
			t.Run(surface+" "+posture, func(t *testing.T) {
				parts := map[string]int{}
				ran, passed := 0, 0
				for _, file := range files {
					v := read(t, file)
					if surface == "buffered_output" && slices.Contains(v.Capabilities, "incremental_output") {
						continue
					}
					ran++
					if t.Run(v.ID, func(t *testing.T) { v.check(t, surface, posture) }) {
						passed++
						parts[cmp.Or(v.Part, "core")]++
					}
				}
				t.Logf("%s, %s: %d of %d; by part: %v", surface, posture, passed, ran, parts)
			})
		}
	}
}

// data returns the folder with development data, or skips the test.
func data(t testing.TB) string {
	for _, dir := range []string{os.Getenv("PLUGHOOK_DATA"), "../../../shared/data"} {
		if _, err := os.Stat(filepath.Join(dir, "agent-hooks")); dir != "" && err == nil {
			return dir
		}
	}
	t.Skip("neither PLUGHOOK_DATA nor ../shared/data beside the repository is a folder with agent-hooks, the conformance kit")
	return ""
}

func read(t *testing.T, file string) *vector {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	v := &vector{}
	require.NoError(t, json.Unmarshal(text, v))
	return v
}

// A trial is a vector that is run.
type trial struct {
	*vector
	mu       sync.Mutex
	seen     []string // contexts, as interceptors were shown them
	records  []string
	invoked  []map[string]any
	answered int
}

func (v *vector) check(t *testing.T, surface, posture string) {
	w := &trial{vector: v}
	c := agenthost.Config{
		Config:      w.host(),
		Agent:       "bot",
		Incremental: surface == "incremental_output",
		Terminate:   posture == "terminate",
	}
	p, err := agenthost.New(c)
	require.NoError(t, err)
	var tools []*tool.Tool
	for i := range v.Scenario.Tools {
		tools = append(tools, w.tool(i))
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: w, Tools: tools})
	require.NoError(t, err)
	ctx := context.Background()
	store := memory.New()
	r, err := runner.New(runner.Options{Agent: bot, Sessions: store, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(ctx)) }()

	// The run.
	key := session.Key{App: "ctk", User: "u", ID: "s"}
	var final *session.Event
	blocked, released, last := false, "", ""
	cfg := session.RunConfig{Create: true, Streaming: session.SSE}
	for e, err := range r.Run(ctx, key, session.Message(v.Scenario.Input.Content), cfg) {
		require.NoError(t, err)
		switch {
		case e.Author == session.User:
		case e.Partial:
			released += e.Text()
			last += e.Text()
		case e.ErrorCode != "":
			blocked = true
			final = nil
		case e.Text() != "":
			released += strings.TrimPrefix(e.Text(), last)
			last = ""
			final = e
		}
		if plugin.NotesOf(e).Stopped == agenthost.Name {
			blocked = true
		}
	}
	stored, err := session.ReadAll(ctx, store, key, session.Selection{})
	require.NoError(t, err)
	persisted, err := json.Marshal(stored)
	require.NoError(t, err)

	// What came of it.
	x := v.Expect
	w.checkInterceptions(t)
	w.checkRecords(t)
	outcome := x.RunOutcome
	if x.ByPosture != nil {
		outcome = x.ByPosture.Outcomes[posture]
	}
	got := map[bool]string{true: "blocked", false: "completed"}[blocked]
	require.Equal(t, outcome, got, "outcome")
	if x.ToolInvocations != nil {
		require.Equal(t, inJSON(t, x.ToolInvocations), inJSON(t, w.invoked))
	}
	for _, name := range x.ToolNotInvoked {
		require.False(t, slices.ContainsFunc(w.invoked, func(i map[string]any) bool { return i["name"] == name }), name)
	}
	switch {
	case x.FinalOutput == nil || blocked && posture == "terminate" && x.ByPosture != nil:
	case string(x.FinalOutput) == "null":
		require.True(t, final == nil || blocked)
	default:
		require.NotNil(t, final)
		require.JSONEq(t, string(x.FinalOutput), inJSON(t, final.Text()))
	}
	if x.ReleasedOutput != nil {
		require.Equal(t, *x.ReleasedOutput, released)
	}
	for _, text := range x.PersistedMustNot {
		require.NotContains(t, string(persisted), text)
	}
}

// host returns what the vector says of the host, and an identity provider of its own.
func (w *trial) host() agenthooks.Config {
	c := agenthooks.Config{
		Composition: w.Composition,
		Mode:        agenthooks.Mode(w.Mode),
		Record: func(r agenthooks.Record) error {
			text, err := json.Marshal(r)
			w.records = append(w.records, string(text))
			return err
		},
	}
	scripts := w.InterceptorScripts
	if w.InterceptorScript != nil {
		scripts = [][]rule{*w.InterceptorScript}
	}
	for i := range scripts {
		c.Interceptors = append(c.Interceptors, agenthooks.Registered{Interceptor: w.interceptor(i, scripts[i])})
	}
	if len(w.ApprovalScript) > 0 {
		c.Resolver = agenthooks.ResolverFunc(w.resolve)
	}
	if w.RedactForApproval != nil {
		c.Redact = w.redact
	}
	switch string(w.IdentityProvider) {
	case "null":
		c.Unbound = true
	case `"ctk-fault"`:
		fails := func(agenthooks.Context) (string, error) { return "", errors.New("fault") }
		c.Provider = &agenthooks.Provider{Name: "ctk-fault", Identify: fails}
	}
	return c
}

func (w *trial) interceptor(i int, rules []rule) agenthooks.Interceptor {
	return agenthooks.InterceptorFunc(func(_ context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
		if i == 0 {
			w.mu.Lock()
			w.seen = append(w.seen, string(c))
			w.mu.Unlock()
		}
		for _, r := range rules {
			if r.At != at(string(c), "interception_point") || !matches(string(c), r.Match) {
				continue
			}
			switch r.Fault {
			case "raise":
				panic("fault")
			case "malformed_verdict":
				return agenthooks.Verdict{Decision: agenthooks.Transform}, nil
			case "mutate":
				for k := range c {
					c[k] = 'x'
				}
				return agenthooks.Verdict{Decision: agenthooks.Allow, Reason: "ctk:mutated"}, nil
			}
			v, err := agenthooks.ParseVerdict(r.Return)
			if err != nil {
				err = fmt.Errorf("%w: %w", agenthooks.ErrVerdict, err)
			}
			return v, err
		}
		return agenthooks.Verdict{Decision: agenthooks.Allow}, nil
	})
}

func (w *trial) resolve(_ context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
	for _, a := range w.ApprovalScript {
		if !matches(string(r.Context), a.Match) {
			continue
		}
		s := a.Resolve
		if s.Fault != "" {
			return agenthooks.Resolution{}, errors.New("fault")
		}
		res := agenthooks.Resolution{Outcome: s.Outcome, Identity: r.Identity}
		if s.IdentityOverride != "" {
			res.Identity = &s.IdentityOverride
		}
		if s.EchoRecomputed {
			id, err := agenthooks.Identity(agenthooks.Context(r.Context))
			if err != nil {
				return res, err
			}
			res.Identity = &id
		}
		if s.Verdict != nil {
			v := agenthooks.Verdict{}
			if err := json.Unmarshal(s.Verdict, &v); err != nil {
				return res, err
			}
			res.Verdict = &v
		}
		return res, nil
	}
	return agenthooks.Resolution{}, errors.New("no rule")
}

// redact hides members of the arguments of a call.
func (w *trial) redact(c agenthooks.Context) (agenthooks.Context, error) {
	var m map[string]any
	if err := json.Unmarshal(c, &m); err != nil {
		return nil, err
	}
	for _, path := range w.RedactForApproval {
		name := strings.TrimPrefix(path, "$target.")
		m["target"].(map[string]any)[name] = "[redacted]"
		m["tool_call"].(map[string]any)["args"].(map[string]any)[name] = "[redacted]"
	}
	return json.Marshal(m)
}

// Generate is the model: it says what the vector lets it say.
func (w *trial) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		say := w.Scenario.ModelScript[w.answered].Respond
		w.answered++
		for _, chunk := range say.Stream {
			if !yield(&model.Response{Partial: true, Content: genai.NewContentFromText(chunk, genai.RoleModel)}, nil) {
				return
			}
		}
		if say.StreamTruncated {
			yield(nil, &model.Error{Code: model.Unfinished})
			return
		}
		c := &genai.Content{Role: genai.RoleModel}
		if say.Content != nil {
			c.Parts = append(c.Parts, &genai.Part{Text: *say.Content})
		}
		for _, call := range say.ToolCalls {
			args, err := session.DecodeValue(call.Args)
			if err != nil {
				yield(nil, err)
				return
			}
			f := &genai.FunctionCall{ID: call.ID, Name: call.Name, Args: args.(map[string]any)}
			c.Parts = append(c.Parts, &genai.Part{FunctionCall: f})
		}
		yield(&model.Response{Content: c, FinishReason: genai.FinishReasonStop}, nil)
	}
}

func (w *trial) tool(i int) *tool.Tool {
	t := w.Scenario.Tools[i]
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: t.Name, ParametersJsonSchema: map[string]any{"type": "object"}},
		Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.invoked = append(w.invoked, map[string]any{"name": t.Name, "args": call.Args})
			for _, b := range t.Behavior {
				if b.WhenArgs == nil || reflect.DeepEqual(b.WhenArgs, call.Args) {
					return map[string]any{map[bool]string{false: "result", true: "error"}[b.IsError]: b.Return}, nil
				}
			}
			return nil, errors.New("no behavior")
		},
	}
}

func (w *trial) checkInterceptions(t *testing.T) {
	x := w.Expect
	if x.SequenceStrict {
		require.Len(t, w.seen, len(x.Interceptions))
	}
	next := 0
	for _, want := range x.Interceptions {
		for next < len(w.seen) && !(at(w.seen[next], "interception_point") == want.Point && matches(w.seen[next], want.Context)) {
			require.False(t, x.SequenceStrict, "%s is not %v", w.seen[next], want)
			next++
		}
		require.Less(t, next, len(w.seen), "nothing is %v in %v", want, w.seen)
		if len(want.ContextContains)+len(want.ContextNotContains) > 0 { // the last of the point
			for i, c := range w.seen {
				if at(c, "interception_point") == want.Point {
					next = i
				}
			}
		}
		for _, text := range want.ContextContains {
			require.Contains(t, w.seen[next], text)
		}
		for _, text := range want.ContextNotContains {
			require.NotContains(t, w.seen[next], text)
		}
		next++
	}
	for _, c := range w.seen {
		require.NotContains(t, x.Absent, at(c, "interception_point"))
	}
}

func (w *trial) checkRecords(t *testing.T) {
	next := 0
	for _, want := range w.Expect.Records {
		for next < len(w.records) && at(w.records[next], "interception_point") != want["interception_point"] {
			next++
		}
		require.Less(t, next, len(w.records), "no record is %v in %v", want, w.records)
		asserts, _ := want["assert"].(map[string]any)
		for path, value := range asserts {
			require.Equal(t, value, at(w.records[next], path), "%s in %s", path, w.records[next])
		}
		for _, list := range []string{"present", "absent"} {
			paths, _ := want[list].([]any)
			for _, path := range paths {
				require.Equal(t, list == "present", at(w.records[next], path.(string)) != nil, path)
			}
		}
		next++
	}
	sequences := map[any]bool{}
	equal := true
	for _, r := range w.records {
		equal = equal && at(r, "input_identity") == at(r, "enforced_identity")
		sequences[at(r, "sequence")] = true
	}
	require.Len(t, sequences, len(w.records))
	if want := w.Expect.IdentitiesEqual; want != nil {
		require.Equal(t, *want, equal, "identities")
	}
}

func matches(context string, match map[string]any) bool {
	for path, value := range match {
		if !reflect.DeepEqual(value, at(context, path)) {
			return false
		}
	}
	return true
}

// at returns what a path such as "response.tool_calls[0].name" leads to, nil if it leads nowhere.
func at(text, path string) any {
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch now := v.(type) {
		case map[string]any:
			v = now[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(now) {
				return nil
			}
			v = now[i]
		default:
			return nil
		}
	}
	return v
}

func inJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
