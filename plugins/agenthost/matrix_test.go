package agenthost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

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

// A play is a run with two model calls: the first says "looking" and calls a tool, which says "fine"; the second says "done".
type play struct {
	t        *testing.T
	config   agenthost.Config
	verdicts map[agenthooks.Point]string // what the interceptor answers, allow where it is nothing
	resolve  agenthooks.ResolverFunc     // nil without a resolver

	fails    string                                        // the error with which the run ends
	stream   func(yield func(*model.Response, error) bool) // what the model says, if it is not the usual
	sessions session.Service
	requests []string // what the model was asked
	tools    []string // the arguments of the tool's calls
	denied   string   // what no answer may have
	asked    int      // how often the resolver was
	points   []string
	shown    []string // contexts
	records  []agenthooks.Record
}

var key = session.Key{App: "app", User: "ann", ID: "s"}

func newPlay(t *testing.T, at agenthooks.Point, verdict string) *play {
	return &play{t: t, verdicts: map[agenthooks.Point]string{at: verdict}, sessions: memory.New()}
}

func (p *play) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		text, err := json.Marshal(req.Contents)
		require.NoError(p.t, err)
		p.requests = append(p.requests, string(text))
		if p.stream != nil {
			p.stream(yield)
			return
		}
		say := &model.Response{Content: genai.NewContentFromText("done", genai.RoleModel)}
		if !strings.Contains(string(text), "functionResponse") {
			call := &genai.FunctionCall{ID: "t1", Name: "look", Args: map[string]any{"at": "door"}}
			say.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "looking"}, {FunctionCall: call}}}
		}
		say.FinishReason = genai.FinishReasonStop
		yield(say, nil)
	}
}

// run runs an input, and returns what was yielded, as "author: text", with the code of an error.
func (p *play) run(input *session.Event, others ...*plugin.Plugin) []string {
	t := p.t
	c := p.config
	c.Agent = "bot"
	c.Interceptors = []agenthooks.Registered{{Name: "judge", Interceptor: agenthooks.InterceptorFunc(p.intercept)}}
	c.Record = func(r agenthooks.Record) error {
		p.records = append(p.records, r)
		return nil
	}
	if p.resolve != nil {
		c.Resolver = agenthooks.ResolverFunc(func(ctx context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
			p.asked++
			return p.resolve(ctx, r)
		})
	}
	hooks, err := agenthost.New(c)
	require.NoError(t, err)
	look := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "look", ParametersJsonSchema: map[string]any{"type": "object"}},
		Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
			p.tools = append(p.tools, fmt.Sprint(call.Args["at"]))
			return map[string]any{"result": "fine"}, nil
		},
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: p, Tools: []*tool.Tool{look}})
	require.NoError(t, err)
	r, err := runner.New(runner.Options{Agent: bot, Sessions: p.sessions, Plugins: append(others, hooks)})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	var yielded []string
	cfg := session.RunConfig{Create: true, Streaming: session.SSE}
	for e, err := range r.Run(context.Background(), key, input, cfg) {
		if p.fails != "" && err != nil {
			require.ErrorContains(t, err, p.fails)
			break
		}
		require.NoError(t, err)
		yielded = append(yielded, e.Author+": "+e.Text()+e.ErrorCode)
	}
	return yielded
}

func (p *play) intercept(_ context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
	var m struct {
		Point agenthooks.Point `json:"interception_point"`
	}
	require.NoError(p.t, json.Unmarshal(c, &m))
	p.points = append(p.points, string(m.Point))
	p.shown = append(p.shown, string(c))
	if p.denied != "" && m.Point == agenthooks.PostModelCall && strings.Contains(string(c), p.denied) {
		return agenthooks.Verdict{Decision: agenthooks.Deny, Reason: "policy:no"}, nil
	}
	if text := p.verdicts[m.Point]; text != "" {
		return agenthooks.ParseVerdict([]byte(text))
	}
	return agenthooks.Verdict{Decision: agenthooks.Allow}, nil
}

// log returns the session's log as JSON.
func (p *play) log() string {
	events, err := session.ReadAll(context.Background(), p.sessions, key, session.Selection{})
	require.NoError(p.t, err)
	text, err := json.Marshal(events)
	require.NoError(p.t, err)
	return string(text)
}

var points = []agenthooks.Point{
	agenthooks.AgentStartup, agenthooks.Input, agenthooks.PreModelCall, agenthooks.PostModelCall, agenthooks.PreToolCall,
	agenthooks.PostToolCall, agenthooks.Output, agenthooks.AgentShutdown,
}

const (
	denies  = `{"decision":"deny","reason":"policy:no"}`
	liftabl = `{"decision":"deny","reason":"policy:no","approval":{}}`
)

func approve(_ context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
	v := &agenthooks.Verdict{Decision: agenthooks.Allow}
	return agenthooks.Resolution{Outcome: agenthooks.Approve, Identity: r.Identity, Verdict: v}, nil
}

// undisturbed is what a run yields that nobody disturbs.
var undisturbed = []string{"user: hello", "bot: looking", "bot: ", "bot: done"}

// Eight points, each with a verdict that allows, denies, may be lifted, or transforms, in both modes.
func TestAgentHooksMatrix(t *testing.T) {
	eachSurface(t, "allow", func(t *testing.T, c agenthost.Config) {
		p := newPlay(t, "", "")
		p.config = c
		require.Equal(t, undisturbed, p.run(session.Message("hello")))
		require.Equal(t, []string{
			"agent_startup", "input", "pre_model_call", "post_model_call", "pre_tool_call", "output", "post_tool_call",
			"pre_model_call", "post_model_call", "output", "agent_shutdown",
		}, p.points)
		require.Contains(t, p.shown[0], `"tools_registered":["look"]`)
		require.Contains(t, p.shown[len(p.shown)-1], `"reason":"completed"`)
		require.Equal(t, []string{"door"}, p.tools)
	})
	for _, at := range points {
		for _, verdict := range []string{denies, liftabl, transforms[at]} {
			eachSurface(t, fmt.Sprintf("evaluate_only %s %s", at, verdict), func(t *testing.T, c agenthost.Config) {
				p := newPlay(t, at, verdict)
				p.config = c
				p.config.Mode = agenthooks.EvaluateOnly
				p.resolve = approve
				require.Equal(t, undisturbed, p.run(session.Message("hello")))
				require.Equal(t, []string{"door"}, p.tools)
				require.NotContains(t, p.log(), "changed")
				require.Zero(t, p.asked)
				decided := slices.IndexFunc(p.records, func(r agenthooks.Record) bool { return r.Point == at })
				require.NotEqual(t, agenthooks.Allow, p.records[decided].Verdict.Decision)
				for _, r := range p.records {
					require.Equal(t, agenthooks.EvaluateOnly, r.Mode)
					require.Equal(t, r.InputIdentity, r.EnforcedIdentity)
				}
			})
		}
		for _, verdict := range []string{denies, liftabl} {
			eachSurface(t, fmt.Sprintf("deny %s %s", at, verdict), func(t *testing.T, c agenthost.Config) {
				p := newPlay(t, at, verdict)
				p.config = c
				denied(t, p, at)
			})
		}
		eachSurface(t, fmt.Sprintf("lifted %s", at), func(t *testing.T, c agenthost.Config) {
			p := newPlay(t, at, liftabl)
			p.config = c
			p.resolve = approve
			require.Equal(t, undisturbed, p.run(session.Message("hello")))
			require.Equal(t, at == agenthooks.AgentShutdown, p.asked == 0)
		})
		eachSurface(t, fmt.Sprintf("transform %s", at), func(t *testing.T, c agenthost.Config) {
			p := newPlay(t, at, transforms[at])
			p.config = c
			transformed(t, p, at)
		})
	}
}

func eachSurface(t *testing.T, name string, test func(t *testing.T, c agenthost.Config)) {
	t.Run(name, func(t *testing.T) { test(t, agenthost.Config{}) })
	t.Run(name+" incremental", func(t *testing.T) { test(t, agenthost.Config{Incremental: true}) })
}

// denied says what a denial at a point leads to.
func denied(t *testing.T, p *play, at agenthooks.Point) {
	yielded := p.run(session.Message("hello"))
	log := p.log()
	ends := func(models, tools int, gone string) {
		require.Len(t, p.requests, models)
		require.Len(t, p.tools, tools)
		require.Equal(t, "plugin/agenthost: This was refused.DENIED", yielded[len(yielded)-1])
		require.NotContains(t, log, gone)
		require.Contains(t, p.shown[len(p.shown)-1], `"reason":"error"`)
	}
	switch at {
	case agenthooks.AgentStartup:
		ends(0, 0, "hello")
		require.Equal(t, []string{"agent_startup", "agent_shutdown"}, p.points)
	case agenthooks.Input:
		ends(0, 0, "hello")
		require.Equal(t, []string{"agent_startup", "input", "agent_shutdown"}, p.points)
	case agenthooks.PreModelCall:
		ends(0, 0, "looking")
		require.NotContains(t, p.points, "post_model_call")
	case agenthooks.PostModelCall:
		ends(1, 0, "looking")
		require.NotContains(t, p.points, "pre_tool_call")
		require.NotContains(t, p.points, "output")
	case agenthooks.PreToolCall:
		require.Empty(t, p.tools)
		require.Len(t, p.requests, 2)
		require.Contains(t, p.requests[1], "denied: policy:no")
		require.NotContains(t, p.points, "post_tool_call")
	case agenthooks.PostToolCall:
		require.Len(t, p.tools, 1)
		require.Contains(t, p.requests[1], "denied: policy:no")
		require.NotContains(t, p.requests[1]+log, "fine")
	case agenthooks.Output:
		ends(2, 1, "done")
		require.NotContains(t, log, "looking", "the text beside the call was denied, the call was not")
	case agenthooks.AgentShutdown:
		require.Equal(t, undisturbed, yielded)
	}
	last := slices.IndexFunc(p.records, func(r agenthooks.Record) bool { return r.Point == at })
	require.Equal(t, "policy:no", p.records[last].Verdict.Reason)
	require.Equal(t, 0, *p.records[last].DecidedBy)
	require.Empty(t, p.records[last].ResolvedBy)
}

var transforms = map[agenthooks.Point]string{
	agenthooks.AgentStartup:  `{"decision":"transform","transform":{"path":"$target.tools_registered","value":[]}}`,
	agenthooks.Input:         `{"decision":"transform","transform":{"path":"$target.content","value":"changed"}}`,
	agenthooks.PreModelCall:  `{"decision":"transform","transform":{"path":"$target[0].content","value":"changed"}}`,
	agenthooks.PostModelCall: `{"decision":"transform","transform":{"path":"$target.content","value":"changed"}}`,
	agenthooks.PreToolCall:   `{"decision":"transform","transform":{"path":"$target.at","value":"changed"}}`,
	agenthooks.PostToolCall:  `{"decision":"transform","transform":{"path":"$target","value":"changed"}}`,
	agenthooks.Output:        `{"decision":"transform","transform":{"path":"$target.content","value":"changed"}}`,
	agenthooks.AgentShutdown: `{"decision":"transform","transform":{"path":"$target.reason","value":"error"}}`,
}

// transformed says what a transform at a point leads to.
func transformed(t *testing.T, p *play, at agenthooks.Point) {
	yielded := p.run(session.Message("hello"))
	log := p.log()
	i := slices.IndexFunc(p.records, func(r agenthooks.Record) bool { return r.Point == at })
	first := p.records[i]
	if at != agenthooks.AgentStartup && at != agenthooks.AgentShutdown {
		require.NotEqual(t, first.InputIdentity, first.EnforcedIdentity)
		require.Nil(t, first.Verdict.Transform.Value)
		require.Len(t, p.requests, 2)
	}
	switch at {
	case agenthooks.AgentStartup:
		require.Equal(t, agenthooks.TransformTargetForbidden, first.Verdict.Reason)
		require.Empty(t, p.requests)
	case agenthooks.AgentShutdown:
		require.Equal(t, agenthooks.TransformTargetForbidden, first.Verdict.Reason)
		require.Equal(t, undisturbed, yielded)
	case agenthooks.Input:
		require.Equal(t, "user: changed", yielded[0])
		require.NotContains(t, log+p.requests[0], "hello")
	case agenthooks.PreModelCall:
		require.Contains(t, p.requests[0], "changed")
		require.NotContains(t, p.requests[0], "hello")
		require.Contains(t, log, "hello", "the log is what happened")
	case agenthooks.PostModelCall:
		require.Equal(t, []string{"user: hello", "bot: changed", "bot: ", "bot: changed"}, yielded)
		require.Equal(t, []string{"door"}, p.tools)
		require.NotContains(t, log, "looking")
	case agenthooks.PreToolCall:
		require.Equal(t, []string{"changed"}, p.tools)
		require.Contains(t, strings.Join(p.shown, "\n"), `"tool_call":{"id":"t1","name":"look","args":{"at":"changed"}},"tool_result"`)
	case agenthooks.PostToolCall:
		require.Contains(t, p.requests[1], "changed")
		require.NotContains(t, p.requests[1]+log, "fine")
	case agenthooks.Output:
		require.Equal(t, []string{"user: hello", "bot: changed", "bot: ", "bot: changed"}, yielded)
		require.NotContains(t, log, "looking")
	}
}

// A denial that a human may lift holds the call. The yes lifts it, once the interceptors were asked again.
func TestAgentHooksHeldCalls(t *testing.T) {
	for _, second := range []string{liftabl, denies, transforms[agenthooks.PreToolCall]} {
		p := newPlay(t, agenthooks.PreToolCall, liftabl)
		p.config.Hold = true
		p.run(session.Message("hello"))
		require.Empty(t, p.tools)
		require.Len(t, p.requests, 1, "the model waits")
		p.verdicts[agenthooks.PreToolCall] = second
		p.run(session.Decision(true, "t1"))
		require.Equal(t, second == liftabl, len(p.tools) == 1, second)
		require.Len(t, p.requests, 2)
	}
}

// What fails is a denial: an interceptor that is late, one that fails, and a record that cannot be written is an error.
func TestAgentHooksFailClosed(t *testing.T) {
	late := agenthooks.InterceptorFunc(func(ctx context.Context, _ agenthooks.Context) (agenthooks.Verdict, error) {
		<-ctx.Done()
		return agenthooks.Verdict{Decision: agenthooks.Allow}, ctx.Err()
	})
	var reasons []string
	c := agenthooks.Config{
		Interceptors: []agenthooks.Registered{{Interceptor: late}},
		Timeout:      time.Millisecond,
		Record: func(r agenthooks.Record) error {
			reasons = append(reasons, r.Verdict.Reason)
			return nil
		},
	}
	host, err := agenthooks.NewHost(c)
	require.NoError(t, err)
	s := &agenthooks.Session{Host: host, ID: "s", Agent: "bot", Framework: "plughook"}
	output := agenthooks.Ask{Point: agenthooks.Output, Fields: agenthooks.Fields{"output": []byte(`{"content":"hi"}`)}}
	r, err := s.Emit(context.Background(), output)
	require.NoError(t, err)
	require.False(t, r.Proceed)
	require.Equal(t, []string{agenthooks.InterceptorTimeout}, reasons)
	require.NoError(t, host.Close(context.Background()))
}

// With Terminate, a call that could not be judged ends the run; a call that a policy denies does not.
func TestAgentHooksTerminate(t *testing.T) {
	for verdict, models := range map[string]int{"no verdict": 1, denies: 2} {
		p := newPlay(t, agenthooks.PreToolCall, verdict)
		p.config.Terminate = true
		p.run(session.Message("hello"))
		require.Empty(t, p.tools)
		require.Len(t, p.requests, models, verdict)
		reason := map[int]string{1: `"reason":"error"`, 2: `"reason":"completed"`}[models]
		require.Contains(t, p.shown[len(p.shown)-1], reason)
	}
}

// An answer that is judged as it is made is shown one chunk behind, and what nobody has judged is neither shown nor kept.
func TestAgentHooksStreams(t *testing.T) {
	stream := func(last error) func(yield func(*model.Response, error) bool) {
		return func(yield func(*model.Response, error) bool) {
			for _, chunk := range []string{"one ", "two ", "three"} {
				part := &model.Response{Content: genai.NewContentFromText(chunk, genai.RoleModel), Partial: true}
				if !yield(part, nil) {
					return
				}
			}
			whole := &model.Response{Content: genai.NewContentFromText("one two three", genai.RoleModel), FinishReason: genai.FinishReasonStop}
			if last != nil {
				whole = nil
			}
			yield(whole, last)
		}
	}
	newStream := func(last error, denied string) *play {
		p := newPlay(t, "", "")
		p.config.Incremental = true
		p.stream = stream(last)
		p.denied = denied
		return p
	}
	p := newStream(nil, "nothing")
	require.Equal(t, []string{"user: hello", "bot: one ", "bot: two ", "bot: one two three"}, p.run(session.Message("hello")))
	require.Contains(t, p.shown[3], `"content":"one "`)
	require.Contains(t, p.shown[4], `"content":"one two "`)
	require.Contains(t, p.shown[5], `"content":"one two three"`)

	p = newStream(nil, "two")
	require.Equal(t, []string{"user: hello", "bot: one ", "plugin/agenthost: This was refused.DENIED"}, p.run(session.Message("hello")))
	require.NotContains(t, p.log(), "two")

	p = newStream(errors.New("the line is down"), "nothing")
	yielded := strings.Join(p.run(session.Message("hello")), "|")
	require.Contains(t, yielded, "bot: two ")
	require.NotContains(t, yielded+p.log(), "three")
	require.Equal(t, agenthooks.StreamingUnsupported, p.records[len(p.records)-2].Verdict.Reason)
}

// A record that cannot be kept is a failure of the hook: what it is about does not happen.
func TestAgentHooksKeep(t *testing.T) {
	p := newPlay(t, "", "")
	var kept []agenthooks.Point
	p.config.Keep = func(_ context.Context, inv *session.Invocation, r agenthooks.Record) error {
		require.Equal(t, key, inv.Key)
		if kept = append(kept, r.Point); r.Point == agenthooks.PreToolCall {
			return errors.New("the disk is full")
		}
		return nil
	}
	p.fails = "the disk is full"
	p.run(session.Message("hello"))
	require.Empty(t, p.tools)
	require.Contains(t, kept, agenthooks.PreToolCall)
}

// Labels stay with what was let through, and come back with what is made of it.
func TestAgentHooksLabels(t *testing.T) {
	p := newPlay(t, agenthooks.PostToolCall, `{"decision":"allow","result_labels":["pii"]}`)
	p.run(session.Message("hello"))
	require.Contains(t, p.log(), "agent_hooks.labels")
	last := p.shown[len(p.shown)-1]
	require.Contains(t, last, `"source_labels":["pii"]`)
	require.NotContains(t, p.shown[3], "source_labels")
}
