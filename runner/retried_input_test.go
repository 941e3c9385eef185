package runner_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// give runs an input and returns what was yielded in the form of line, and the error.
func (s *scene) give(ctx context.Context, input *session.Event) (yielded []string, err error) {
	for e, err := range s.start().Run(ctx, key, input, s.cfg) {
		if err != nil {
			return yielded, err
		}
		yielded = append(yielded, line(e))
	}
	return yielded, nil
}

// stopsAt returns a plugin that stops at what somebody says, with a word to it or without.
func stopsAt(author string, word *session.Event) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "stop",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			out := plugin.Outcome{Stop: e.Author == author}
			if out.Stop && word != nil {
				out.Emit = []*session.Event{word}
			}
			return out, nil
		},
	}
}

func asked(id string, parts ...*genai.Part) *session.Event {
	return &session.Event{ID: id, Content: &genai.Content{Role: genai.RoleUser, Parts: parts}}
}

// The same input is the same in whatever Go types it is said, and another one under its ID is
// refused: by its content, its command and its actions, not by other metadata, such as a request's
// number.
func TestTheSameInputAgain(t *testing.T) {
	response := func(r map[string]any) *session.Event {
		return asked("i", &genai.Part{Text: "x"},
			&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: "f", Response: r}})
	}
	delta := func(v any) *session.Event {
		return &session.Event{
			ID:      "i",
			Content: session.Message("x").Content,
			Actions: session.Actions{StateDelta: map[string]any{"a": v}},
		}
	}
	numbered := func(n int) *session.Event {
		e := session.Message("x")
		e.ID, e.CustomMetadata = "i", map[string]any{"request": n}
		return e
	}
	other := session.Message("y")
	other.ID = "i"
	for name, c := range map[string]struct {
		first, again *session.Event
		same         bool
	}{
		"an int":           {response(map[string]any{"n": 1}), response(map[string]any{"n": 1}), true},
		"an int, a float":  {response(map[string]any{"n": 1}), response(map[string]any{"n": 1.0}), true},
		"strings":          {response(map[string]any{"l": []string{"a"}}), response(map[string]any{"l": []any{"a"}}), true},
		"nothing":          {response(map[string]any{}), response(map[string]any{}), true},
		"no bytes":         {asked("i", &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte{}}}), asked("i", &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte{}}}), true},
		"no Unicode":       {asked("i", &genai.Part{Text: "a\xffb"}), asked("i", &genai.Part{Text: "a\xffb"}), true},
		"a delta":          {delta(1), delta(int64(1)), true},
		"other metadata":   {numbered(1), numbered(2), true},
		"another text":     {numbered(1), other, false},
		"another delta":    {delta(1), delta(2), false},
		"another response": {response(map[string]any{"n": 1}), response(map[string]any{"n": 2}), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t, says("ok"))
			open := asked("call", &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f"}})
			open.Author = "bot"
			open.LongRunningToolIDs = []string{"c"}
			_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key}, open)
			require.NoError(t, err)
			first, err := s.give(ctx, c.first)
			require.NoError(t, err)
			again, err := s.give(ctx, c.again)
			if !c.same {
				require.ErrorIs(t, err, session.ErrIDReused)
				return
			}
			require.NoError(t, err)
			require.Len(t, again, len(first))
			require.Len(t, s.log(), 3)
		})
	}
}

// An input whose run was cut off before an agent, or a plugin in its place, said anything is
// answered when it comes again; so is one whose call nobody answered, and one whose call's response
// nobody made anything of. What a plugin noted is no answer.
func TestAnInputThatWasCutOff(t *testing.T) {
	call := &session.Event{
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f"}}},
		},
	}
	response := session.Respond(call.FunctionCalls()[0], map[string]any{"n": 1})
	answer := response.Clone()
	answer.Actions.SkipSummarization = true
	callee := session.Reply("half of it")
	callee.Branch = "sub@c"
	refusal := session.Reply("no")
	refusal.ErrorCode = "DENIED"
	for name, c := range map[string]struct {
		before []*session.Event // what the agent yields before it is cut off
		plugin *plugin.Plugin
		again  []string
	}{
		"nothing": {nil, nil, []string{"user: hi", "bot: whole"}},
		"a note of a plugin": {nil, &plugin.Plugin{Name: "count", AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			if len(inv.Live) > 1 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{Emit: []*session.Event{{Actions: session.Actions{StateDelta: map[string]any{"n": 1}}}}}, nil
		}}, []string{"user: hi", "plugin/count: ", "bot: whole"}},
		"context of a plugin": {nil, &plugin.Plugin{Name: "recall", BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			if len(inv.Live) > 1 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{Emit: []*session.Event{session.Message("you met")}}, nil
		}}, []string{"user: hi", "plugin/recall: you met", "bot: whole"}},
		"a call":                        {[]*session.Event{call}, nil, []string{"user: hi", "bot: call c", "bot: response c", "bot: whole"}},
		"a call, and its callee's text": {[]*session.Event{call, callee}, nil, []string{"user: hi", "bot: call c", "bot: half of it", "bot: response c", "bot: whole"}},
		"a call and its response":       {[]*session.Event{call, response}, nil, []string{"user: hi", "bot: call c", "bot: response c", "bot: whole"}},
		"a call and its response, which is the answer": {[]*session.Event{call, answer}, nil,
			[]string{"user: hi", "bot: call c", "bot: response c"}},
		"a text": {[]*session.Event{session.Reply("half")}, nil, []string{"user: hi", "bot: half"}},
		"a refusal of a call": {[]*session.Event{call}, &plugin.Plugin{Name: "policy", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionCalls()) == 0 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{Emit: []*session.Event{refusal}, Stop: true}, nil
		}}, []string{"user: hi", "bot: call c", "plugin/policy: no"}},
		"a stop with a note":    {nil, stopsAt(session.User, &session.Event{Content: genai.NewContentFromText("blocked", genai.RoleUser)}), []string{"user: hi", "plugin/stop: blocked"}},
		"a stop without a word": {nil, stopsAt(session.User, nil), []string{"user: hi"}},
		"a stop at a call":      {[]*session.Event{call}, stopsAt("bot", nil), []string{"user: hi", "bot: call c"}},
		"a stop at a callee's text": {[]*session.Event{call, callee}, on("stop", "half of it", func(*session.Event) plugin.Outcome { return plugin.Outcome{Stop: true} }),
			[]string{"user: hi", "bot: call c", "bot: half of it"}},
		"a callee's text withheld": {[]*session.Event{call, callee}, on("stop", "half of it", func(*session.Event) plugin.Outcome {
			out := emit("no")
			out.Withhold, out.Stop = true, true
			return out
		}), []string{"user: hi", "bot: call c", "plugin/stop: no"}},
		"a stop with a summary": {nil, stopsAt(session.User, &session.Event{Actions: session.Actions{Compaction: &session.Compaction{Content: session.Message("so far").Content}}}),
			[]string{"user: hi", "plugin/stop: "}},
	} {
		t.Run(name, func(t *testing.T) {
			cut, cancel := context.WithCancel(ctx)
			defer cancel()
			runs := 0
			s := stage(t, does(
				func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					if runs++; runs > 1 {
						yield(session.Reply("whole"), nil)
						return
					}
					for _, e := range c.before {
						if !yield(e.Clone(), nil) {
							return
						}
					}
					cancel()
					yield(nil, context.Cause(ctx))
				},
			))
			if c.plugin != nil {
				s.plugins = []*plugin.Plugin{c.plugin}
			}
			input := session.Message("hi")
			input.ID = "i"
			_, _ = s.give(cut, input)
			again, err := s.give(ctx, input)
			require.NoError(t, err)
			require.Equal(t, c.again, again)
			once, err := s.give(ctx, input)
			require.NoError(t, err)
			require.Equal(t, again, once)
		})
	}
}

// A yes or no that no call waits for says nothing, and there is nothing to go on with: it is
// refused, and not in the log.
func TestVerdictsOnNothing(t *testing.T) {
	held := &session.Event{
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "pay"}}},
		},
	}
	ask := &plugin.Plugin{
		Name: "ask",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionCalls()) == 0 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{
						Actions: session.Actions{
							RequestedToolConfirmations: map[string]session.Confirmation{
								"c": {Hint: "sure?"},
							},
						},
					},
				},
			}, nil
		},
	}
	runs := 0
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			if runs++; runs == 1 {
				yield(held.Clone(), nil)
				return
			}
			yield(session.Reply("fine"), nil)
		}),
		ask,
	)
	_, err := s.give(ctx, session.Decision(true, "c"))
	require.ErrorIs(t, err, runner.ErrNotWaiting)
	require.ErrorContains(t, err,
		`it approves or declines ["c"]: no such call waits for this answer; no call does`)
	require.Empty(t, s.log())

	_, err = s.give(ctx, session.Message("go"))
	require.NoError(t, err)
	before := s.log()
	_, err = s.give(ctx, session.Decision(true, "d"))
	require.ErrorIs(t, err, runner.ErrNotWaiting)
	require.ErrorContains(t, err, `those that do: "c" (pay)`)
	require.Equal(t, before, s.log())

	_, err = s.give(ctx,
		session.Respond(&genai.FunctionCall{ID: "c", Name: "pay"}, map[string]any{"paid": true}))
	require.ErrorIs(t, err, runner.ErrNotWaiting, "the tool has not run")
	require.ErrorContains(t, err, `it responds to the call "c" (pay), which waits for a yes or no`)
	require.Equal(t, before, s.log())

	_, err = s.give(ctx, session.Decision(true, "d", "c"))
	require.NoError(t, err)
	_, err = s.give(ctx, session.Decision(false, "c"))
	require.ErrorIs(t, err, runner.ErrNotWaiting, "it was decided")
	given := session.Decision(true, "c")
	given.Actions.StateDelta = map[string]any{"seen": true}
	_, err = s.give(ctx, given)
	require.NoError(t, err, "it says something else, too")
	s.options.Restore, s.runner = true, nil
	_, err = s.give(ctx, session.Decision(true, "c"))
	require.NoError(t, err, "it is in the record")
	s.options.Restore, s.runner = false, nil
	spoken := session.Decision(false, "c")
	spoken.Content = session.Message("and so?").Content
	_, err = s.give(ctx, spoken)
	require.NoError(t, err, "there is something to answer")

	// Who answers a call a second time reads where the first answer is.
	pay := func(id string) *session.Event {
		return session.Respond(&genai.FunctionCall{ID: id, Name: "pay"}, map[string]any{"paid": true})
	}
	_, _ = s.give(ctx, pay("c")) // refused, too, if the runs before have told the call that it was interrupted
	_, err = s.give(ctx, pay("c"))
	require.ErrorIs(t, err, runner.ErrNotWaiting)
	require.ErrorContains(t, err, "has the answer to it")
	_, err = s.give(ctx, pay("e"))
	require.ErrorIs(t, err, runner.ErrNotWaiting)
	require.ErrorContains(t, err, "the session has no such call")
}

// What is computed in the background for a session that was deleted meanwhile is not for the next
// one of its name.
func TestBackgroundWorkOfADeletedSession(t *testing.T) {
	gate := make(chan bool)
	s := stage(t, says("ok"), &plugin.Plugin{
		Name:       "fold",
		Background: true,
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			<-gate
			return plugin.Outcome{
				Emit: []*session.Event{
					{
						Actions: session.Actions{
							Compaction: &session.Compaction{
								Through: 2,
								Content: session.Message("of the one before").Content,
							},
						},
					},
				},
			}, nil
		},
	})
	var log bytes.Buffer
	s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, err := s.run("secret")
	require.NoError(t, err)
	require.NoError(t, s.sessions.Delete(ctx, key))
	_, err = s.sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	for range 3 {
		_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key, After: int64(len(s.log()))},
			session.Message("new"))
		require.NoError(t, err)
	}
	close(gate)
	require.NoError(t, s.close())
	require.Equal(t, []string{"user: new", "user: new", "user: new"}, s.log())
	require.Contains(t, log.String(), "it was deleted, and another one made under its key")
}

// A policy reads the same Go types of state in process as it does in a process of its own.
func TestDeltasAreAsInTheLog(t *testing.T) {
	e := session.Reply("ok")
	e.Actions.StateDelta = map[string]any{
		"n":      1,
		"l":      []string{"a"},
		"temp:n": int64(2),
		"s":      "x",
		"gone":   nil,
	}
	want := map[string]any{"n": 1.0, "l": []any{"a"}, "temp:n": 2.0, "s": "x", "gone": nil}
	var seen []map[string]any
	look := func(name string, out func(e *session.Event) plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Actions.StateDelta == nil {
					return plugin.Outcome{}, nil
				}
				seen = append(seen, e.Actions.StateDelta)
				return out(e), nil
			},
		}
	}
	s := stage(
		t,
		does(
			func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) { yield(e, nil) },
		),
		look("first", func(e *session.Event) plugin.Outcome {
			c := e.Clone()
			c.Actions.StateDelta["n"] = 3
			return plugin.Outcome{
				Replace: c,
				Emit: []*session.Event{
					{Actions: session.Actions{StateDelta: map[string]any{"m": uint8(4)}}},
				},
			}
		}),
		look("second", func(*session.Event) plugin.Outcome { return plugin.Outcome{} }),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	changed := map[string]any{"n": 3.0, "l": []any{"a"}, "temp:n": 2.0, "s": "x", "gone": nil}
	require.Equal(t, []map[string]any{want, changed, {"m": 4.0}}, seen)
	require.Equal(t, 1, e.Actions.StateDelta["n"], "what the agent holds is its own")
}

// The run of another input came in between, and has answered the call that was under way as
// interrupted. The first input is answered when it comes again.
func TestAnInputThatWasCutOffBeforeAnotherOne(t *testing.T) {
	call := &session.Event{Content: genai.NewContentFromFunctionCall("f", nil, genai.RoleModel)}
	call.Content.Parts[0].FunctionCall.ID = "c"
	failing := true
	s := stage(
		t,
		agent.New("bot", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				if !failing {
					yield(session.Reply("whole"), nil)
					return
				}
				yield(call, nil)
				yield(nil, errors.New("killed"))
			}
		}),
	)
	first := asked("i", &genai.Part{Text: "hi"})
	_, err := s.give(ctx, first)
	require.Error(t, err)
	failing = false
	_, err = s.give(ctx, asked("j", &genai.Part{Text: "and you?"}))
	require.NoError(t, err)
	again, err := s.give(ctx, first)
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: call c", "bot: whole"}, again)
}
