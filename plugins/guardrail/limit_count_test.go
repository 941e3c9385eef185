package guardrail_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// increments are what answers to hooks add to counts.
func increments(outs ...plugin.Outcome) (n float64) {
	for _, out := range outs {
		for _, e := range append(out.Emit, out.Replace) {
			if e != nil {
				for _, more := range e.Actions.StateIncrement {
					n += more
				}
			}
		}
	}
	return n
}

// An input that is only a command is no run; one that says something with it is.
func TestCommandsAreNoRuns(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, limit: {runs: 5, per: user}, action: block}]`))
	command := session.Command{Name: "rewind", Args: map[string]any{"to": 1}}
	for _, c := range []struct {
		text string
		runs float64
	}{{"", 0}, {"hi", 1}} {
		e := command.Event()
		e.ID, e.Author = "e", session.User
		if c.text != "" {
			e.Content = genai.NewContentFromText(c.text, genai.RoleUser)
		}
		_, out := offered(t, p, e)
		require.Equal(t, c.runs, increments(out), "%q", c.text)
		_, err := p.AfterRun(ctx, &session.Invocation{ID: "i", Key: key}, plugin.End{})
		require.NoError(t, err)
	}
}

// Calls of models by several agents at once, and by one whose request does not say whose it is, count each, once.
func TestEveryAgentsCallCounts(t *testing.T) {
	for name, c := range map[string]struct{ asks, answers []string }{
		"one":               {[]string{"a"}, []string{"a"}},
		"at once":           {[]string{"a", "b", "c"}, []string{"b", "a", "c"}},
		"twice the same":    {[]string{"a", "a"}, []string{"a", "a"}},
		"nobody by name":    {[]string{""}, []string{"bot"}},
		"with and without":  {[]string{"", "a"}, []string{"a", "bot"}},
		"who never answers": {[]string{"a", "b"}, []string{"b"}},
	} {
		p := quiet(t, with(t, `rules: [{id: r, limit: {model_calls: 10, per: user}, action: block}]`))
		inv := &session.Invocation{ID: "i", Key: key, Position: 1}
		ask := func(agent string) {
			out, err := p.BeforeModel(ctx, inv, &model.Request{Agent: agent, Branch: "x"})
			require.NoError(t, err)
			require.False(t, out.Stop)
		}
		var n float64
		answer := func(agent string) {
			e := says(agent, &genai.Part{Text: "hello"})
			e.Branch = "x"
			_, out := offered(t, p, e)
			n += increments(out)
		}
		if name == "twice the same" {
			ask("a")
			answer("a")
			ask("a")
			answer("a")
		} else {
			for _, agent := range c.asks {
				ask(agent)
			}
			for _, agent := range c.answers {
				answer(agent)
			}
		}
		require.Equal(t, float64(len(c.answers)), n, name)
		out, err := p.AfterRun(ctx, &session.Invocation{ID: "i", Key: key, Position: 9}, plugin.End{Kind: plugin.EndDone})
		require.NoError(t, err)
		require.Zero(t, increments(out), name)
	}
}

// A call of a model that the caller has left counts if it was going on, or something of it was shown.
func TestCallsThatTheCallerLeft(t *testing.T) {
	for _, c := range []struct {
		end      plugin.EndKind
		position int64 // of the log at the end; it was asked at 3
		streamed bool
		counts   float64
	}{
		{plugin.EndLeft, 3, false, 1}, {plugin.EndCancelled, 3, false, 1}, {plugin.EndDone, 3, false, 0}, {plugin.EndFailed, 3, false, 0},
		{plugin.EndLeft, 4, false, 0}, {plugin.EndCancelled, 4, false, 0},
		{plugin.EndLeft, 4, true, 1}, {plugin.EndDone, 4, true, 1}, {plugin.EndFailed, 3, true, 1},
	} {
		p := quiet(t, with(t, `rules: [{id: r, limit: {model_calls: 10, per: user}, action: block}]`))
		_, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key, Position: 3}, &model.Request{Agent: "bot"})
		require.NoError(t, err)
		if c.streamed {
			chunk(t, p, "e", "hello ")
		}
		out, err := p.AfterRun(ctx, &session.Invocation{ID: "i", Key: key, Position: c.position}, plugin.End{Kind: c.end})
		require.NoError(t, err)
		require.Equal(t, c.counts, increments(out), "%+v", c)
	}
}

// Usage that says nothing is none, whoever reports it.
func TestUsageOfNothing(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, limit: {tokens: 50, per: app}, action: block}]`))
	e := says("plugin/other", &genai.Part{Text: "x"})
	e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{}
	_, out := offered(t, p, e)
	require.Zero(t, increments(out))
}

// Calls that are counted from when on the session has what is not trusted are not counted before.
func TestCallsAreCountedFromTaintOn(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, trust: untrusted, limit: {tool_calls: 1, per: user}, action: block}]`))
	used := map[string]any{}
	for i, c := range []struct {
		taint  []any
		denied bool
	}{{nil, false}, {nil, false}, {[]any{"web"}, false}, {[]any{"web"}, true}, {nil, false}} {
		used["guardrail:taint"] = c.taint
		inv := &session.Invocation{ID: "i", Key: key, State: used}
		out, err := p.OnEvent(ctx, inv, says("bot", &genai.Part{FunctionCall: call("fetch", nil)}))
		require.NoError(t, err)
		require.Equal(t, c.denied, len(out.Emit) > 0, i)
		if out.Replace != nil {
			for key, n := range out.Replace.Actions.StateIncrement {
				used[key] = n
			}
		}
	}
}

// fails is a store that can be read so many times.
type fails struct {
	session.Service
	left atomic.Int64
}

func (f *fails) Get(ctx context.Context, k session.Key) (*session.Session, error) {
	if f.left.Add(-1) < 0 {
		return nil, errors.New("the disk is gone")
	}
	return f.Service.Get(ctx, k)
}

// Wherever a limit is looked at, counts that cannot be read are no leave: on_error says what they are.
func TestCountsThatCannotBeReadAnyMore(t *testing.T) {
	for rule, reads := range map[string]int64{"limit: {runs: 2, per: user}": 1, "limit: {model_calls: 2, per: user}": 0, "limit: {tool_calls: 2, per: user}": 0} {
		for _, onError := range []string{"block", "allow"} {
			store := &fails{Service: memory.New()}
			store.left.Store(reads)
			_, err := store.Create(ctx, key, nil)
			require.NoError(t, err)
			c := with(t, "{on_error: "+onError+", rules: [{id: r, "+rule+", action: block}]}")
			c.Sessions, c.Log = store, slog.New(slog.DiscardHandler)
			p, err := guardrail.New(c)
			require.NoError(t, err)
			inv := &session.Invocation{ID: "i", Key: key, Input: session.Message("hi")}
			var last plugin.Outcome
			for _, hook := range []func() (plugin.Outcome, error){
				func() (plugin.Outcome, error) { return p.OnEvent(ctx, inv, input("hi")) },
				func() (plugin.Outcome, error) { return p.BeforeRun(ctx, inv) },
				func() (plugin.Outcome, error) { return p.BeforeModel(ctx, inv, &model.Request{Agent: "bot"}) },
				func() (plugin.Outcome, error) {
					return p.OnEvent(ctx, inv, says("bot", &genai.Part{FunctionCall: call("mail", nil)}))
				},
			} {
				last, err = hook()
				require.NoError(t, err)
				if last.Stop || last.Unchecked != "" || len(last.Emit) > 0 {
					break
				}
			}
			_, err = p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(t, err)
			if onError == "allow" {
				require.Equal(t, "rule r: the disk is gone", last.Unchecked, rule)
				require.False(t, last.Stop, rule)
			} else {
				require.Len(t, last.Emit, 1, rule)
				require.Equal(t, session.Denied, last.Emit[0].ErrorCode, rule)
			}
		}
	}
}

// A limit that is used up says when there is something of it again: when enough of what counts has expired.
func TestLimitSaysWhenThereIsMore(t *testing.T) {
	p := parse(t, `rules: [{id: r, limit: {runs: 3, per: user, every: 2400h}, action: block}]`)
	for _, c := range []struct {
		used  map[int]float64 // by in how many hours it expires
		hours int
	}{{map[int]float64{1000: 3}, 1000}, {map[int]float64{1000: 1, 2000: 2}, 1000}, {map[int]float64{1000: 1, 1500: 1, 2000: 3}, 2000}, {map[int]float64{2000: 2, 1000: 3}, 1000}, {map[int]float64{1000: 2, 2000: 3}, 2000}} {
		state := map[string]any{"user:guardrail:limit:r:runs:user:2400h0m0s:never": 7.0}
		for hours, n := range c.used {
			state[fmt.Sprintf("user:guardrail:limit:r:runs:user:2400h0m0s:%d", time.Now().Add(time.Duration(hours)*time.Hour).UnixMilli())] = n
		}
		v := p.Judge(guardrail.Input, guardrail.Scope{State: state}, "hi")
		require.Equal(t, guardrail.Block, v.Action)
		require.Contains(t, v.Message, fmt.Sprintf("try again in %dh.", c.hours), "%v", c.used)
	}
}

// Only numbers of limits go when they have expired, and nobody else's.
func TestOnlyNumbersOfLimitsExpire(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, limit: {runs: 100, per: user, every: 1h}, action: block}]`))
	state := map[string]any{"user:mine:guardrail:limit:r:runs:user:1h0m0s:1": 1.0, "user:guardrail:limit:r:runs:user:1h0m0s:x": 1.0, "user:guardrail:limit:r:runs:user:ever:0": 1.0, "guardrail:taint": []any{"web"},
		"user:guardrail:limit:gone:runs:user:1h0m0s:1": 1.0}
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key, State: state}, input("hi"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"user:guardrail:limit:gone:runs:user:1h0m0s:1": nil}, out.Replace.Actions.StateDelta)
}

// What a limit refuses is in the log, wherever it does.
func TestLimitsAreLogged(t *testing.T) {
	for rule, stage := range map[string]string{"runs: 1": "input", "model_calls: 1": "prompt", "tool_calls: 1": "tool_args"} {
		h := open(t, memory.New(), "rules: [{id: r, limit: {"+rule+", per: user}, action: block}]", loops(3, 0, "mail"))
		h.say("a")
		h.say("a")
		require.Contains(t, h.log.text.String(), `"rule":"r","stage":"`+stage+`","type":"LIMIT","action":"block"`)
	}
}

// What an input took of one limit it gives back where another refuses it, while others hold what they took.
func TestRefusedRunsGiveBack(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: a, limit: {runs: 2, per: user}, action: block}, {id: b, when: 'state?.plan == "free"', limit: {runs: 1, per: app}, action: block}]`))
	says := func(id string, state map[string]any) bool {
		out, err := p.OnEvent(ctx, &session.Invocation{ID: id, Key: session.Key{App: "app", User: "ann", ID: id}, State: state}, input("hi"))
		require.NoError(t, err)
		return !out.Stop
	}
	free := map[string]any{"plan": "free", "app:guardrail:limit:b:runs:app:ever:0": 1.0}
	require.True(t, says("1", nil))
	require.False(t, says("2", free))
	require.False(t, says("3", free))
	require.True(t, says("4", nil))
	require.False(t, says("5", nil))
}
