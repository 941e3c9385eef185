package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

var key = session.Key{App: "app", User: "ada", ID: "s"}

// does is an agent that does something.
func does(
	name string,
	f func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool),
) agent.Agent {
	return agent.New(
		name,
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { f(ctx, h, yield) }
		},
	)
}

// says is an agent that says its texts: one each time it runs, the last one again and again. "!"
// before one makes it a failure, "^" an escalation, "=" a state delta that no content goes with.
func says(name string, texts ...string) agent.Agent {
	n := 0
	return does(
		name,
		func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			text := texts[min(n, len(texts)-1)]
			n++
			e := session.Reply(text[1:])
			switch text[0] {
			case '!':
				e.ErrorCode = "BROKEN"
			case '^':
				e.Actions.Escalate = true
			case '=':
				e.Content, e.Actions.StateDelta = nil, map[string]any{"k": text[1:]}
			default:
				e = session.Reply(text)
			}
			yield(e, nil)
		},
	)
}

// asks is an agent that calls a function and waits for a human, and answers when the human has.
func asks(name string) agent.Agent {
	return does(
		name,
		func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			for _, c := range h.Answered() {
				if c.Event.Author == name && c.Response == nil {
					_ = yield(session.Respond(c.FunctionCall, map[string]any{"yes": c.Approved()}),
						nil) &&
						yield(session.Reply("done"), nil)
					return
				}
			}
			call := &session.Event{
				Content: &genai.Content{
					Role:  genai.RoleModel,
					Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: name, Name: "f"}}},
				},
			}
			ask := &session.Event{
				Actions: session.Actions{
					RequestedToolConfirmations: map[string]session.Confirmation{name: {}},
				},
			}
			_ = yield(call, nil) && yield(ask, nil)
		},
	)
}

func yes(ids ...string) *session.Event {
	e := &session.Event{
		Author:  session.User,
		Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{}},
	}
	for _, id := range ids {
		e.Actions.RequestedToolConfirmations[id] = session.Confirmation{Confirmed: true}
	}
	return e
}

// line is an event as "author|branch: what it says".
func line(e *session.Event) string {
	line := e.Author
	if e.Branch != "" {
		line += "|" + e.Branch
	}
	line += ": " + e.Text() + e.ErrorCode
	for _, c := range session.Calls([]*session.Event{e}) {
		line += "call " + c.ID
	}
	if len(e.FunctionResponses()) > 0 {
		line += "answer"
	}
	if len(e.Actions.RequestedToolConfirmations) > 0 {
		line += fmt.Sprint("confirm ", len(e.Actions.RequestedToolConfirmations))
	}
	return line
}

type stage struct {
	t       *testing.T
	svc     session.Service
	plugins []*plugin.Plugin
	now     func() time.Time // nil is time.Now
}

func newStage(t *testing.T, plugins ...*plugin.Plugin) *stage {
	return &stage{t: t, svc: memory.New(), plugins: plugins}
}

// run runs an agent and returns what was yielded, without the input.
func (s *stage) run(root agent.Agent, input *session.Event) (lines []string, err error) {
	r, err := runner.New(runner.Options{Agent: root, Sessions: s.svc, Plugins: s.plugins})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, r.Close(context.Background())) }()
	for e, err := range r.Run(s.t.Context(), key, input, session.RunConfig{Create: true}) {
		if err != nil {
			return lines, err
		}
		if e.Author != session.User {
			lines = append(lines, line(e))
		}
	}
	return lines, nil
}

func (s *stage) says(root agent.Agent, input *session.Event, want ...string) {
	s.t.Helper()
	got, err := s.run(root, input)
	require.NoError(s.t, err)
	require.Equal(s.t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

func TestSequences(t *testing.T) {
	for name, c := range map[string]struct {
		agent func() agent.Agent
		want  []string
	}{
		"one after the other":        {func() agent.Agent { return workflow.Sequential("s", "", says("a", "1"), says("b", "2")) }, []string{"a: 1", "b: 2"}},
		"none":                       {func() agent.Agent { return workflow.Sequential("s", "") }, nil},
		"a loop of none":             {func() agent.Agent { return workflow.Loop("l", "", 0) }, nil},
		"a failure ends it":          {func() agent.Agent { return workflow.Sequential("s", "", says("a", "!1"), says("b", "2")) }, []string{"a: 1BROKEN"}},
		"one of state does not":      {func() agent.Agent { return workflow.Sequential("s", "", says("a", "=1"), says("b", "2")) }, []string{"a: ", "b: 2"}},
		"a failure that was mended":  {func() agent.Agent { return workflow.Sequential("s", "", twice("a", "!1", "2"), says("b", "3")) }, []string{"a: 1BROKEN", "a: 2", "b: 3"}},
		"one that says nothing":      {func() agent.Agent { return workflow.Sequential("s", "", mute("a"), says("b", "2")) }, []string{"b: 2"}},
		"no loop, no escalation":     {func() agent.Agent { return workflow.Sequential("s", "", says("a", "^1"), says("b", "2")) }, []string{"a: 1", "b: 2"}},
		"again and again":            {func() agent.Agent { return workflow.Loop("l", "", 2, says("a", "1", "2"), says("b", "3", "4")) }, []string{"a: 1", "b: 3", "a: 2", "b: 4"}},
		"until it escalates":         {func() agent.Agent { return workflow.Loop("l", "", 0, says("a", "1", "2", "^3"), says("b", "-")) }, []string{"a: 1", "b: -", "a: 2", "b: -", "a: 3"}},
		"until it fails":             {func() agent.Agent { return workflow.Loop("l", "", 0, says("a", "1", "!2"), says("b", "-")) }, []string{"a: 1", "b: -", "a: 2BROKEN"}},
		"until nothing more happens": {func() agent.Agent { return workflow.Loop("l", "", 0, mute("a")) }, nil},
		"escalation in a sequence in a loop": {func() agent.Agent {
			return workflow.Loop("l", "", 0, workflow.Sequential("s", "", says("a", "1", "^2"), says("b", "-")), says("c", "+"))
		}, []string{"a: 1", "b: -", "c: +", "a: 2", "b: -"}},
		"escalation in a branch in a loop": {func() agent.Agent {
			return workflow.Loop("l", "", 0, workflow.Parallel("p", "", says("a", "1", "^2")), says("c", "+"))
		},
			[]string{"a|p.a: 1", "c: +", "a|p.a: 2"}},
		"a loop in a sequence": {func() agent.Agent {
			return workflow.Sequential("s", "", workflow.Loop("l", "", 3, says("a", "1", "^2")), says("b", "3"))
		}, []string{"a: 1", "a: 2", "b: 3"}},
		"what is of another conversation": {func() agent.Agent {
			callee := does("a", func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
				_ = yield(session.Reply("1"), nil) && agent.Run(ctx, says("x", "^2"), h.At("x@1"), yield) && agent.Run(ctx, says("x", "!3"), h.At("x@1"), yield)
			})
			return workflow.Loop("l", "", 1, callee, says("b", "4"))
		}, []string{"a: 1", "x|x@1: 2", "x|x@1: 3BROKEN", "b: 4"}},
		"a failure in a branch": {func() agent.Agent {
			return workflow.Sequential("s", "", workflow.Parallel("p", "", says("a", "!1")), says("b", "2"))
		}, []string{"a|p.a: 1BROKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			newStage(t).says(c.agent(), session.Message("go"), c.want...)
		})
	}
}

func mute(name string) agent.Agent {
	return does(name, func(context.Context, *agent.Host, func(*session.Event, error) bool) {})
}

// twice is an agent that says two things each time.
func twice(name, first, second string) agent.Agent {
	return does(
		name,
		func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			_ = agent.Run(ctx, says(name, first), h, yield) &&
				agent.Run(ctx, says(name, second), h, yield)
		},
	)
}

func TestAParallelBranchWaits(t *testing.T) {
	s := newStage(t)
	root := func() agent.Agent {
		return workflow.Sequential("s", "", says("first", "1"),
			workflow.Parallel("p", "", asks("a"), says("b", "2")), says("after", "3"))
	}
	got, err := s.run(root(), session.Message("go"))
	require.NoError(t, err)
	require.Equal(t, "first: 1", got[0])
	require.ElementsMatch(t, []string{"a|p.a: call a", "a|p.a: confirm 1", "b|p.b: 2"}, got[1:],
		"what comes after waits too")
	s.says(root(), yes("a"), "a|p.a: answer", "a|p.a: done", "after: 3")
}

func TestTwoParallelBranchesWait(t *testing.T) {
	root := func() agent.Agent {
		return workflow.Sequential("s", "", workflow.Parallel("p", "", asks("a"), asks("b")),
			says("after", "3"))
	}
	t.Run("answered at once", func(t *testing.T) {
		s := newStage(t)
		_, err := s.run(root(), session.Message("go"))
		require.NoError(t, err)
		got, err := s.run(root(), yes("a", "b"))
		require.NoError(t, err)
		require.ElementsMatch(t,
			[]string{"a|p.a: answer", "a|p.a: done", "b|p.b: answer", "b|p.b: done"},
			got[:len(got)-1])
		require.Equal(t, "after: 3", got[len(got)-1])
	})
	t.Run("one after the other", func(t *testing.T) {
		s := newStage(t)
		_, err := s.run(root(), session.Message("go"))
		require.NoError(t, err)
		s.says(root(), yes("b"), "b|p.b: answer", "b|p.b: done")
		s.says(root(), yes("a"), "a|p.a: answer", "a|p.a: done", "after: 3")
	})
}

// b asks again before a is answered: that a is waited for is not forgotten.
func TestABranchAsksAgainWhileAnotherWaits(t *testing.T) {
	s := newStage(t)
	root := func() agent.Agent {
		return workflow.Sequential(
			"s",
			"",
			workflow.Parallel("p", "", asks("a"),
				workflow.Sequential("q", "", asks("b"), asks("c"))),
			says("after", "3"),
		)
	}
	_, err := s.run(root(), session.Message("go"))
	require.NoError(t, err)
	s.says(root(), yes("b"), "b|p.q: answer", "b|p.q: done", "c|p.q: call c", "c|p.q: confirm 1")
	s.says(root(), yes("c"), "c|p.q: answer", "c|p.q: done")
	s.says(root(), yes("a"), "a|p.a: answer", "a|p.a: done", "after: 3")
}

func TestALoopWaits(t *testing.T) {
	s := newStage(t)
	root := func() agent.Agent { return workflow.Loop("l", "", 2, says("a", "1"), asks("b"), says("c", "2")) }
	s.says(root(), session.Message("go"), "a: 1", "b: call b", "b: confirm 1")
	s.says(root(), yes("b"), "b: answer", "b: done", "c: 2", "a: 1", "b: call b", "b: confirm 1")
	s.says(root(), yes("b"), "b: answer", "b: done", "c: 2", "a: 1", "b: call b", "b: confirm 1")
}

func TestEarlierRunsDoNotCount(t *testing.T) {
	s := newStage(t)
	loop := workflow.Loop("l", "", 0, says("a", "^1", "2", "^3"))
	s.says(loop, session.Message("go"), "a: 1")
	s.says(loop, session.Message("again"), "a: 2", "a: 3")
	s.says(workflow.Sequential("s", "", says("b", "!4")), session.Message("go"), "b: 4BROKEN")
	s.says(workflow.Sequential("s", "", says("a", "=5"), says("b", "6")), session.Message("go"),
		"a: ", "b: 6")
}

func TestAMessageInPlaceOfAnAnswerBeginsAnew(t *testing.T) {
	s := newStage(t)
	root := func() agent.Agent { return workflow.Sequential("s", "", says("a", "1"), asks("b"), says("c", "2")) }
	s.says(root(), session.Message("go"), "a: 1", "b: call b", "b: confirm 1")
	s.says(root(), session.Message("never mind"), "a: 1", "b: call b", "b: confirm 1")
}

// untilCancelled is an agent that waits until its context is done, and says so too late.
func untilCancelled(name string) agent.Agent {
	return does(
		name,
		func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			<-ctx.Done()
			yield(session.Reply("too late"), nil)
		},
	)
}

func TestOneBranchEndsAll(t *testing.T) {
	fails := func(how func(yield func(*session.Event, error) bool)) agent.Agent {
		return does(
			"fails",
			func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				if yield(session.Reply("last"), nil) {
					how(yield)
				}
			},
		)
	}
	stop := &plugin.Plugin{
		Name: "stop",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{Stop: e.Text() == "last"}, nil
		},
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		how     func(yield func(*session.Event, error) bool)
		plugins []*plugin.Plugin
		leave   bool
		end     plugin.EndKind
		err     error
	}{
		"an error":          {how: func(yield func(*session.Event, error) bool) { yield(nil, broken) }, end: plugin.EndFailed, err: broken},
		"a panic":           {how: func(func(*session.Event, error) bool) { panic("oh") }, end: plugin.EndFailed, err: plugin.ErrPanic},
		"Goexit":            {how: func(func(*session.Event, error) bool) { runtime.Goexit() }, end: plugin.EndFailed, err: plugin.ErrPanic},
		"a plugin stops":    {plugins: []*plugin.Plugin{stop}, end: plugin.EndStopped},
		"the caller leaves": {leave: true, end: plugin.EndLeft},
	} {
		t.Run(name, func(t *testing.T) {
			var ends []plugin.End
			note := &plugin.Plugin{
				Name: "note",
				AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					ends = append(ends, end)
					return plugin.Outcome{}, nil
				},
			}
			root := workflow.Sequential("s", "", workflow.Loop("l", "", 0, workflow.Parallel("p",
				"", untilCancelled("a"),
				workflow.Parallel("q", "", untilCancelled("b"), fails(c.how)))), says("after", "1"))
			r, err := runner.New(runner.Options{
				Agent:    root,
				Sessions: memory.New(),
				Plugins:  append(c.plugins, note),
			})
			require.NoError(t, err)
			var lines []string
			var failed error
			for e, err := range r.Run(t.Context(), key, session.Message("go"), session.RunConfig{Create: true}) {
				if err != nil {
					failed = err
					break
				}
				lines = append(lines, line(e))
				if c.leave && e.Text() == "last" {
					break
				}
			}
			require.NoError(t, r.Close(context.Background()))
			require.Equal(t, []string{"user: go", "fails|p.q.q.fails: last"}, lines)
			require.ErrorIs(t, failed, c.err)
			require.Len(t, ends, 1)
			require.Equal(t, c.end, ends[0].Kind)
		})
	}
}

func TestACancelledRunEndsItsBranches(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	root := workflow.Parallel("p", "", untilCancelled("a"), does("b",
		func(context.Context, *agent.Host, func(*session.Event, error) bool) { cancel() }))
	r, err := runner.New(runner.Options{Agent: root, Sessions: memory.New()})
	require.NoError(t, err)
	var failed error
	for _, err := range r.Run(ctx, key, session.Message("go"), session.RunConfig{Create: true}) {
		failed = err
	}
	require.ErrorIs(t, failed, context.Canceled)
	require.NoError(t, r.Close(context.Background()))
}

func TestNamesAreThoseOfTheTree(t *testing.T) {
	parts := []agent.Agent{says("a", "1"), says("b", "2")}
	for _, root := range []agent.Agent{workflow.Sequential("x", "does x", parts...), workflow.Parallel("x", "does x", parts...), workflow.Loop("x", "does x", 1, parts...)} {
		require.Equal(t, "x", root.Name())
		require.Equal(t, "does x", root.Description())
		require.Same(t, parts[1], agent.Find(root, "b"))
		root.(agent.Parent).Agents()[0] = nil
		require.NotNil(t, root.(agent.Parent).Agents()[0], "the list is the caller's own")
	}
}
