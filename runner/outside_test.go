package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/trajectory"
)

// A visit is an agent outside, with plugins that note what they are called with.
type visit struct {
	*scene
	runner.Outside
	hooks []string // the calls of the plugin "spy", which is the last
}

// visitBy lets the agent "claude" offer what it does to these plugins.
func visitBy(t *testing.T, plugins ...*plugin.Plugin) *visit {
	v := &visit{}
	note := func(format string, args ...any) (plugin.Outcome, error) {
		v.hooks = append(v.hooks, fmt.Sprintf(format, args...))
		return plugin.Outcome{}, nil
	}
	last := &plugin.Plugin{
		Name:     "spy",
		Partials: true,
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			return note("before %v", inv.Input != nil)
		},
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return note("%s", line(e))
		},
		AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			return note("after %s %s", inv.ID, end.Kind)
		},
	}
	v.scene = &scene{t: t, sessions: memory.New(), agent: agent.Outside("claude", ""), plugins: append(plugins, last)}
	v.restart()
	return v
}

// restart lets another runner, as if in another process, take over.
func (v *visit) restart() {
	v.scene.runner = nil
	v.Outside = runner.Outside{Runner: v.start(), Key: key, Agent: "claude"}
}

func (v *visit) offer(e *session.Event) *runner.Offered {
	v.t.Helper()
	got, err := v.Offer(ctx, e)
	require.NoError(v.t, err)
	return got
}

func prompt(id, text string) *session.Event {
	e := session.Message(text)
	e.ID = id
	return e
}

func calling(id string, args map[string]any) *session.Event {
	call := &genai.FunctionCall{ID: id, Name: "Bash", Args: args}
	return &session.Event{
		ID:      "call " + id,
		Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}},
	}
}

func result(id, text string) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: id, Name: "Bash"}, map[string]any{"result": text})
	e.ID = "result " + id
	return e
}

// The whole story: one invocation over many calls, in two processes.
func TestOutsideTakesTheOnePath(t *testing.T) {
	v := visitBy(t)
	require.Equal(t, "in-1", v.offer(prompt("in-1", "fix it")).Invocation)
	got := v.offer(calling("t1", nil))
	require.Nil(t, got.Calls[0].Response, "it may be executed")
	v.restart()
	v.offer(result("t1", "done"))
	v.offer(session.Reply("I have fixed it"))
	end, err := v.End(ctx, plugin.End{})
	require.NoError(t, err)
	require.Equal(t, plugin.EndDone, end.End.Kind)

	require.Equal(t, []string{
		"user: fix it", "claude: ", "claude: call t1", "claude: response t1", "claude: I have fixed it", "claude: ",
	}, v.log())
	require.Equal(t, []string{
		"user: fix it", "before true", "claude: ", "claude: call t1", "claude: response t1", "claude: I have fixed it", "claude: ",
		"after in-1 done",
	}, v.hooks)
	for _, e := range v.events(session.Selection{}) {
		require.Equal(t, "in-1", e.InvocationID)
	}

	// A second end says that it is one.
	end, err = v.End(ctx, plugin.End{})
	require.NoError(t, err)
	require.True(t, end.Repeated)
	require.Len(t, v.log(), 6)
}

// The path is the runner's own: plugins see the same events in the same order, and leave the same in the log.
func TestOutsideAndTheRunnersAgentAreTwoCallersOfOnePath(t *testing.T) {
	rules := func() []*plugin.Plugin {
		return []*plugin.Plugin{
			on("adds", "fix it", func(*session.Event) plugin.Outcome { return emit("a note") }),
			on("redacts", "secret", func(e *session.Event) plugin.Outcome { return plugin.Outcome{Replace: with(e, "***")} }),
			on("drops", "draft", func(*session.Event) plugin.Outcome { return plugin.Outcome{Withhold: true} }),
		}
	}
	steps := []*session.Event{session.Reply("secret"), calling("t1", nil), result("t1", "done"), session.Reply("draft"), session.Reply("bye")}
	contents := func(s *scene) (list []string) {
		for _, l := range s.log() {
			if l != "claude: " {
				list = append(list, strings.Replace(l, "bot:", "claude:", 1))
			}
		}
		return list
	}
	own := stage(t, does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
		for _, e := range steps {
			if !yield(e, nil) {
				return
			}
		}
	}), rules()...)
	_, err := own.run("fix it")
	require.NoError(t, err)

	v := visitBy(t, rules()...)
	v.offer(prompt("in-1", "fix it"))
	for _, e := range steps {
		v.offer(e)
	}
	require.Equal(t, contents(own), contents(v.scene))
}

// What plugins answer comes back, at once and when the same is offered again.
func TestOutsideOutcomes(t *testing.T) {
	deny := func(e *session.Event) plugin.Outcome {
		no := session.Respond(e.FunctionCalls()[0], map[string]any{"error": "not here"})
		return plugin.Outcome{Emit: []*session.Event{no}, Reason: "no pushing"}
	}
	ask := func(e *session.Event) plugin.Outcome {
		q := &session.Event{}
		q.Actions.Confirm(e.FunctionCalls()[0].ID, session.Confirmation{Hint: "really?"})
		return plugin.Outcome{Emit: []*session.Event{q}}
	}
	policy := &plugin.Plugin{
		Name: "policy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if calls := e.FunctionCalls(); len(calls) > 0 {
				switch calls[0].Args["do"] {
				case "push":
					return deny(e), nil
				case "ask":
					return ask(e), nil
				case "tidy":
					c := e.Clone()
					c.Content.Parts[0].FunctionCall.Args["do"] = "tidied"
					return plugin.Outcome{Replace: c, Reason: "tidied"}, nil
				}
			}
			switch e.Text() {
			case "rude":
				return plugin.Outcome{Withhold: true, Reason: "be kind"}, nil
			case "context?":
				note := session.Message("the house rules")
				note.Author = ""
				return plugin.Outcome{Emit: []*session.Event{note}}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	v := visitBy(t, policy)
	for range 2 {
		got := v.offer(prompt("in-1", "context?"))
		require.Equal(t, "the house rules", got.Events[1].Text())
	}
	for range 2 {
		got := v.offer(calling("t1", map[string]any{"do": "push"}))
		require.Equal(t, "not here", got.Calls[0].Result.Response["error"])
		require.Equal(t, "no pushing", plugin.NotesOf(got.Calls[0].Response).Reason)
	}
	for range 2 {
		got := v.offer(calling("t2", map[string]any{"do": "tidy"}))
		require.Equal(t, "tidied", got.Calls[0].Args["do"])
	}
	for range 2 {
		got := v.offer(calling("t3", map[string]any{"do": "ask"}))
		require.Equal(t, "really?", got.Calls[0].Held.Actions.RequestedToolConfirmations["t3"].Hint)
		require.Nil(t, got.Calls[0].Decision)
	}

	// A human's yes is part of the open invocation, and the call offered again shows it. Then it has its response.
	v.offer(session.Decision(true, "t3"))
	got := v.offer(calling("t3", map[string]any{"do": "ask"}))
	require.True(t, got.Repeated && got.Calls[0].Approved())
	require.Equal(t, "in-1", got.Invocation)
	v.offer(result("t3", "done"))

	// What is withheld comes back as that, and why.
	rude := session.Reply("rude")
	got = v.offer(rude)
	require.Nil(t, got.Event)
	require.Equal(t, &plugin.Note{Plugin: "policy", Reason: "be kind"}, got.Withheld)
	require.Nil(t, got.End)
}

// An invocation that is stopped, by whatever means, lets nothing more through until the next input.
func TestOutsideAfterAStopNothingPasses(t *testing.T) {
	stop := func(*session.Event) plugin.Outcome {
		return plugin.Outcome{Withhold: true, Stop: true, Reason: "enough"}
	}
	answers := func(*session.Event) plugin.Outcome { return plugin.Deny("No.", "enough") }
	v := visitBy(t, on("silent", "silent", stop), on("answers", "loud", answers))
	for i, text := range []string{"silent", "loud"} {
		for _, at := range []string{"input", "answer"} {
			t.Run(text+" at the "+at, func(t *testing.T) {
				input := prompt(fmt.Sprintf("in-%d-%s", i, at), text)
				e := input
				if at == "answer" {
					input.Content.Parts[0].Text = "hello"
					v.offer(input)
					e = session.Reply(text)
					e.ID = "answer " + text
				}
				for _, again := range []bool{false, true} {
					got := v.offer(e)
					require.Equal(t, plugin.EndStopped, got.End.Kind)
					require.Equal(t, "enough", got.End.Reason)
					require.Equal(t, "enough", got.Withheld.Reason)
					require.Equal(t, again, got.Repeated)
				}
				require.Equal(t, "after "+input.ID+" stopped", v.hooks[len(v.hooks)-1])

				// It goes on all the same, in another process.
				v.restart()
				before, asked := v.log(), len(v.hooks)
				got := v.offer(calling("t"+text+at, nil))
				require.Equal(t, plugin.EndStopped, got.End.Kind)
				require.Nil(t, got.Event)
				require.Equal(t, before, v.log())
				require.Len(t, v.hooks, asked)
			})
		}
	}
}

// The same event from many processes at once is in the log once, and plugins are asked once.
func TestOutsideNothingIsDoubled(t *testing.T) {
	v := visitBy(t, on("drops", "draft", func(*session.Event) plugin.Outcome {
		out := emit("It was not kind.")
		out.Withhold = true
		return out
	}))
	draft := session.Reply("draft")
	draft.ID = "draft"
	for _, e := range []*session.Event{prompt("in-1", "hello"), calling("t1", nil), result("t1", "done"), draft} {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				_, err := v.Offer(ctx, e)
				require.NoError(t, err)
			})
		}
		wait.Wait()
	}
	log := []string{"user: hello", "claude: ", "claude: call t1", "claude: response t1", "plugin/drops: It was not kind."}
	require.Equal(t, log, v.log())
	require.Equal(t, append([]string{"user: hello", "before true"}, log[1:]...), v.hooks)

	// Another event with the ID is none of them.
	for _, e := range []*session.Event{result("t1", "something else"), prompt("in-1", "something else")} {
		_, err := v.Offer(ctx, e)
		require.ErrorIs(t, err, session.ErrIDReused)
	}
	require.Equal(t, log, v.log())
}

// The next input ends what its agent has left, and calls without a response get one.
func TestOutsideTheNextInputEndsWhatWasLeft(t *testing.T) {
	v := visitBy(t)
	v.offer(prompt("in-1", "one"))
	v.offer(calling("t1", nil))
	v.restart()
	v.offer(prompt("in-2", "two"))
	require.Equal(t, []string{
		"user: one", "claude: ", "claude: call t1", "claude: ", "user: two", "claude: ", "claude: response t1",
	}, v.log())
	require.Contains(t, v.hooks, "after in-1 left")

	// The late response is refused; who must log it offers the call again.
	_, err := v.Offer(ctx, result("t1", "late"))
	require.ErrorIs(t, err, runner.ErrNotWaiting)
	again := calling("t1", nil)
	again.ID = "call t1 again"
	v.offer(again)
	v.offer(result("t1", "late"))

	// After the end, what the agent does begins an invocation without an input.
	_, err = v.End(ctx, plugin.End{Kind: plugin.EndFailed, Err: errors.New("out of credit")})
	require.NoError(t, err)
	require.Equal(t, "after in-2 failed", v.hooks[len(v.hooks)-1])
	v.hooks = nil
	got := v.offer(session.Reply("by the way"))
	require.Equal(t, []string{"before false", "claude: ", "claude: by the way"}, v.hooks)
	require.NotEqual(t, "in-2", got.Invocation)
}

// A failure appends nothing and ends nothing. What failed is asked again.
func TestOutsideFailures(t *testing.T) {
	broken := true
	fails := func() (plugin.Outcome, error) {
		if broken {
			return plugin.Outcome{}, errors.New("out of order")
		}
		return plugin.Outcome{}, nil
	}
	inRun := &plugin.Plugin{
		Name:      "run",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) { return fails() },
	}
	v := visitBy(t, inRun)
	for range 2 {
		_, err := v.Offer(ctx, prompt("in-1", "hello"))
		require.ErrorContains(t, err, "plugin run: BeforeRun: out of order")
		_, err = v.Offer(ctx, calling("t1", nil))
		require.ErrorContains(t, err, "out of order", "an agent that goes on all the same is refused")
	}
	require.Equal(t, []string{"user: hello"}, v.log())
	broken = false
	got := v.offer(prompt("in-1", "hello"))
	require.True(t, got.Repeated)
	require.Equal(t, "in-1", v.offer(calling("t1", nil)).Invocation)

	// In the middle of an invocation.
	v.plugins[0] = &plugin.Plugin{
		Name:    "run",
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) { return fails() },
	}
	v.restart()
	log := v.log()
	broken = true
	_, err := v.Offer(ctx, result("t1", "done"))
	var failed *plugin.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, log, v.log())
	broken = false
	v.offer(result("t1", "done"))
	_, err = v.End(ctx, plugin.End{})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(strings.Join(v.hooks, "\n"), "after"))
	require.Equal(t, "after in-1 done", v.hooks[len(v.hooks)-1])
}

// A plugin can keep an agent from ending.
func TestOutsideAnEndCanBeWithheld(t *testing.T) {
	calls := 0
	v := visitBy(t, &plugin.Plugin{
		Name: "tests",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Content == nil && e.Actions.StateDelta != nil {
				calls++
			}
			return plugin.Outcome{Withhold: calls == 2, Reason: "run the tests first"}, nil
		},
	})
	v.offer(prompt("in-1", "hello"))
	end, err := v.End(ctx, plugin.End{})
	require.NoError(t, err)
	require.Nil(t, end.End)
	require.Equal(t, &plugin.Note{Plugin: "tests", Reason: "run the tests first"}, end.Withheld)
	require.Equal(t, "in-1", v.offer(calling("t1", nil)).Invocation)
	end, err = v.End(ctx, plugin.End{})
	require.NoError(t, err)
	require.NotNil(t, end.End)
}

// A stream is judged as it flows. If it breaks off, what was shown is kept.
func TestOutsideStream(t *testing.T) {
	v := visitBy(t)
	v.offer(prompt("in-1", "hello"))
	stream := func(id string, err error, texts ...string) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, text := range texts {
				e := session.Reply(strings.TrimPrefix(text, "="))
				e.ID = id
				e.Partial = strings.HasPrefix(text, "=")
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
	var shown []string
	for e, err := range v.Stream(ctx, stream("a-1", nil, "=Hel", "=lo", "Hello")) {
		require.NoError(t, err)
		shown = append(shown, line(e))
	}
	require.Equal(t, []string{"claude: =Hel", "claude: =lo", "claude: Hello"}, shown)
	var last error
	for _, err := range v.Stream(ctx, stream("a-2", errors.New("the line is dead"), "=By", "=e")) {
		last = err
	}
	require.ErrorContains(t, last, "the line is dead")
	require.Equal(t, []string{"user: hello", "claude: ", "claude: Hello", "claude: Bye"}, v.log())

	// Chunks in calls of their own are judged and not kept.
	chunk := session.Reply("a chunk")
	chunk.Partial = true
	require.Len(t, v.offer(chunk).Events, 1)
	require.Len(t, v.log(), 4)
}

// A model request is shown to BeforeModel.
func TestOutsideAsk(t *testing.T) {
	v := visitBy(t, &plugin.Plugin{
		Name: "model",
		BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
			if r.Model == "cached" {
				out := emit("from the cache")
				out.Withhold = true
				return out, nil
			}
			r.Model = "small"
			return plugin.Outcome{}, nil
		},
	})
	given := &model.Request{Model: "large", Agent: "claude"}
	req, _, err := v.Ask(ctx, given)
	require.NoError(t, err)
	require.Equal(t, "small", req.Model)
	require.Equal(t, "large", given.Model)
	req, got, err := v.Ask(ctx, &model.Request{Model: "cached", Agent: "claude"})
	require.NoError(t, err)
	require.Nil(t, req)
	require.Equal(t, "model", got.Withheld.Plugin)
	require.Equal(t, "from the cache", got.Events[0].Text())
}

// The process ends between the append of a stop and the mark of it: what the agent does is refused all the same.
func TestOutsideAStopIsKnownWithoutItsMark(t *testing.T) {
	v := visitBy(t, on("policy", "bad", func(*session.Event) plugin.Outcome { return plugin.Deny("No.", "enough") }))
	v.offer(prompt("in-1", "hello"))
	dies := &dying{Service: v.sessions, after: 1}
	v.sessions = dies
	v.restart()
	_, err := v.Offer(ctx, session.Reply("bad"))
	require.ErrorContains(t, err, "killed")
	v.sessions = dies.Service
	v.restart()
	got := v.offer(calling("t1", nil))
	require.Equal(t, plugin.EndStopped, got.End.Kind)
	require.Equal(t, "policy", got.End.Plugin)
	require.Equal(t, []string{"after in-1 stopped"}, v.hooks[len(v.hooks)-1:])
	v.offer(prompt("in-2", "hello again"))
	require.Nil(t, v.offer(calling("t1", nil)).End)
}

// dying is a store that takes so many appends.
type dying struct {
	session.Service
	after int
}

func (d *dying) Append(ctx context.Context, to session.AppendTarget, events ...*session.Event) (int64, error) {
	if d.after == 0 {
		return 0, errors.New("killed")
	}
	d.after--
	return d.Service.Append(ctx, to, events...)
}

// Nobody but the runner says what is open. A compaction over the invocation changes nothing about it.
func TestOutsideStateIsTheRunners(t *testing.T) {
	compacts := on("compacts", "compact", func(e *session.Event) plugin.Outcome {
		c := &session.Event{}
		c.Actions.Compaction = &session.Compaction{Through: 2, Content: genai.NewContentFromText("so far", genai.RoleUser)}
		return plugin.Outcome{Emit: []*session.Event{c}}
	})
	forges := on("forges", "forge", func(e *session.Event) plugin.Outcome {
		c := e.Clone()
		c.Actions.Set("runner:outside", nil)
		return plugin.Outcome{Replace: c}
	})
	v := visitBy(t, forges, compacts)
	v.offer(prompt("in-1", "hello"))
	v.offer(session.Reply("compact"))
	require.Equal(t, "in-1", v.offer(calling("t1", nil)).Invocation)
	for _, e := range []*session.Event{session.Message("forge"), session.Reply("forge"), session.Reply("x")} {
		if e.Text() == "x" || e.Author == session.User {
			e.Actions.Set("runner:outside", map[string]any{"phase": "done"})
		}
		_, err := v.Offer(ctx, e)
		require.ErrorContains(t, err, "belongs to the runner")
	}
	require.Equal(t, "in-1", v.offer(result("t1", "done")).Invocation)
}

// The agent that stands for one outside says where it is.
func TestAnAgentOutsideAnswersNobodyHere(t *testing.T) {
	v := visitBy(t)
	v.offer(prompt("in-1", "hello"))
	yielded, err := v.run("are you there?")
	require.NoError(t, err)
	require.Equal(t, []string{"user: are you there?", "claude: "}, yielded)
	last := v.events(session.Selection{Last: 1})[0]
	require.Equal(t, agent.RunsElsewhere, last.ErrorCode)
}

// Such a session is one like others: it is found, told as a trajectory, and replayed to the same log.
func TestOutsideSessionsAreSessions(t *testing.T) {
	v := visitBy(t, on("policy", "bad", func(*session.Event) plugin.Outcome { return plugin.Deny("No.", "enough") }))
	v.offer(prompt("in-1", "one"))
	v.offer(calling("t1", map[string]any{"command": "ls"}))
	v.offer(result("t1", "a.go"))
	sub := session.Reply("I have looked")
	sub.Author = "explorer"
	sub.Branch = "explorer@t1"
	v.offer(sub)
	v.offer(session.Reply("bad"))
	v.offer(prompt("in-2", "two"))
	v.offer(session.Reply("Here you are."))
	_, err := v.End(ctx, plugin.End{})
	require.NoError(t, err)

	found := 0
	for hit, err := range v.sessions.Search(ctx, session.Query{Author: "claude", Match: "here"}) {
		require.NoError(t, err)
		require.Equal(t, "Here you are.", hit.Event.Text())
		found++
	}
	require.Equal(t, 1, found)
	s, err := v.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "claude", runner.AgentOutside(s.State))

	told, err := trajectory.Of(key, v.events(session.Selection{}), trajectory.Config{})
	require.NoError(t, err)
	require.Equal(t, "Here you are.", told.FinalOutput)
	require.Len(t, told.ToolCalls, 1)

	rec := &session.Recording{Key: key, Events: v.events(session.Selection{})}
	a, err := replay.New("replay", rec)
	require.NoError(t, err)
	again := &scene{t: t, sessions: memory.New(), agent: a, options: runner.Options{Restore: true}}
	_, err = again.sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	for input := range a.Inputs(key) {
		for _, err := range again.start().Run(ctx, key, input, session.RunConfig{}) {
			require.NoError(t, err)
		}
	}
	require.Equal(t, v.log(), again.log())
}

// A session is of the Runner's agent or of one outside. Who reaches a session by hooks must not answer what the Runner's
// agent asks people about, or speak for it.
func TestASessionHasOneKindOfAgent(t *testing.T) {
	own := &scene{t: t, sessions: memory.New(), agent: says("mine")}
	_, err := own.sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	run := func(r *runner.Runner, input *session.Event) (codes []string) {
		for e, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			if e.Author != session.User {
				codes = append(codes, e.Text()+e.ErrorCode)
			}
		}
		return codes
	}
	r := own.start()
	require.Equal(t, []string{"mine"}, run(r, session.Message("hello")))
	before, err := own.sessions.Get(ctx, key)
	require.NoError(t, err)

	// By hooks, nothing comes into it, under no name.
	for _, name := range []string{"claude", "agent", r.Agent().Name()} {
		outside := runner.Outside{Runner: r, Key: key, Agent: name}
		for _, e := range []*session.Event{prompt("in-1", "one"), calling("t1", nil), result("t1", "x"), session.Reply("GRANTED")} {
			_, err := outside.Offer(ctx, e)
			require.ErrorIs(t, err, runner.ErrOwnSession)
		}
		_, err = outside.End(ctx, plugin.End{})
		require.ErrorIs(t, err, runner.ErrOwnSession)
	}
	after, err := own.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, before.Position, after.Position)

	// In a session of an agent outside, the Runner's agent says nothing.
	v := visitBy(t)
	v.offer(prompt("in-1", "one"))
	other := &scene{t: t, sessions: v.sessions, agent: says("mine")}
	require.Equal(t, []string{agent.RunsElsewhere}, run(other.start(), session.Message("hello")))
}
