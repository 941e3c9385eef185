package guardrail_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// together runs n messages at once, each in a session of its own, and returns how many were not denied.
func together(houses []*house, n int, name string) int64 {
	var passed atomic.Int64
	var group sync.WaitGroup
	for i := range n {
		h := houses[i%len(houses)]
		group.Go(func() {
			k := session.Key{App: "app", User: "ann", ID: fmt.Sprintf("%s%d", name, i)}
			denied := false
			for e, err := range h.runner.Run(ctx, k, session.Message("hi"), session.RunConfig{Create: true}) {
				if err != nil {
					h.t.Error(err)
				} else if e.ErrorCode == session.Denied {
					denied = true
				}
			}
			if !denied {
				passed.Add(1)
			}
		})
	}
	group.Wait()
	return passed.Load()
}

// In one process no limit that counts before is overshot, and nothing is denied that there is room for.
func TestAtOnce(t *testing.T) {
	for name, rules := range map[string]string{
		"runs":        `rules: [{id: r, limit: {runs: 7, per: user, every: 1h}, action: block}]`,
		"model calls": `rules: [{id: r, limit: {model_calls: 7, per: app}, action: block}]`,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, memory.New(), rules, hello(0))
			require.Equal(t, int64(7), together([]*house{h}, 40, "s"))
			require.Equal(t, int64(7), h.model.calls.Load())
			require.Equal(t, 7.0, total(h.counts("s0")))
			require.Zero(t, together([]*house{h}, 10, "t"))
		})
	}
	t.Run("tool calls", func(t *testing.T) {
		h := open(t, memory.New(), `rules: [{id: r, limit: {tool_calls: 7, per: user}, action: block}]`, func(n int) []*model.Response {
			if n > 10 {
				return hello(0)(n)
			}
			return loops(1000, 0, "mail", "mail")(n)
		})
		together([]*house{h}, 10, "s")
		require.Equal(t, int64(7), h.ran.Load())
		require.Equal(t, 7.0, total(h.counts("s0")))
	})
}

// Two processes, here two runners on two handles of one file, know what the other has appended.
func TestTwoProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	houses := make([]*house, 2)
	for i := range houses {
		s, err := sqlite.Open(ctx, file)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		houses[i] = open(t, s, `rules: [{id: r, limit: {runs: 10, per: user}, action: block}, {id: m, limit: {tokens: 1000, per: app}, action: block}]`, hello(1))
	}
	for i := range 5 {
		require.Equal(t, "bot: hello", houses[i%2].say(fmt.Sprint(i)))
	}
	passed := together(houses, 8, "s")
	require.LessOrEqual(t, passed, int64(5))
	for i := range int(5 - passed) { // who was refused for the sake of another that was refused too
		require.Equal(t, "bot: hello", houses[i%2].say("0"))
	}
	for _, h := range houses {
		require.Contains(t, h.say("0"), used)
	}
	require.Equal(t, 20.0, total(houses[0].counts("0")), "no increment is lost, and what is refused counts nothing")
}

// However many processes decide about a run at the same moment, none having seen another's, not more go on than the limit
// has; and what they took is free again.
func TestSameMoment(t *testing.T) {
	sessions := memory.New()
	const atOnce = 6
	var decided sync.WaitGroup
	decided.Add(atOnce)
	meet := true
	wait := &plugin.Plugin{Name: "wait", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if e.Author == session.User && meet {
			decided.Done()
			decided.Wait()
		}
		return plugin.Outcome{}, nil
	}}
	var houses []*house
	for range atOnce {
		h := open(t, sessions, `rules: [{id: r, limit: {runs: 2, per: user, every: 1h}, action: block}, {id: all, limit: {runs: 100, per: app}, action: block}, {id: see, limit: {runs: 1, per: user}, action: flag}]`, hello(0))
		h.start(h.bot, append(h.plugins, wait)...)
		houses = append(houses, h)
	}
	passed := together(houses, atOnce, "s")
	require.LessOrEqual(t, passed, int64(2))
	require.Equal(t, float64(3*passed), total(houses[0].counts("s0")))
	meet = false
	for range 2 - passed {
		require.Equal(t, "bot: hello", houses[0].say("s0"))
	}
	require.Contains(t, houses[0].say("s0"), "allows 2 runs per user in 1h, and nothing is left; try again in ")
}

// What a plugin behind has taken off an input is not given back.
func TestNothingIsGivenBackThatWasNotTaken(t *testing.T) {
	h := open(t, memory.New(), `rules: [{id: r, limit: {runs: 1, per: user}, action: block}]`, hello(0))
	others := session.Key{App: "app", User: "ann", ID: "others"}
	_, err := h.sessions.Create(ctx, others, nil)
	require.NoError(t, err)
	drops := &plugin.Plugin{Name: "drops", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if e.Author != session.User {
			return plugin.Outcome{}, nil
		}
		c := e.Clone()
		c.Actions.StateIncrement = nil
		_, err := h.sessions.Append(ctx, session.At{Key: others}, &session.Event{Author: "x", Actions: session.Actions{StateIncrement: map[string]float64{forged: 2}}})
		return plugin.Outcome{Replace: c}, err
	}}
	h.start(h.bot, append(h.plugins, drops)...)
	require.Contains(t, h.say("0"), used)
	require.Equal(t, 2.0, total(h.counts("0")))
}

// agentFunc is an agent that is a function.
type agentFunc func(context.Context, *agent.Host) iter.Seq2[*session.Event, error]

func (agentFunc) Name() string        { return "bot" }
func (agentFunc) Description() string { return "" }
func (f agentFunc) Run(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
	return f(ctx, h)
}

const forged = "user:guardrail:limit:r:runs:user:ever:0"

// Nobody else writes the guardrail's keys: not an agent, a tool, a plugin before it, nor a caller.
func TestForgedCounts(t *testing.T) {
	forge := func(e *session.Event) *session.Event {
		e.Actions.StateDelta = map[string]any{forged: nil, "guardrail:x": 1, "user:guardrailed": "mine"}
		e.Actions.StateIncrement = map[string]float64{forged: -5, "app:guardrail:x": 3, "user:n": 1}
		return e
	}
	h := open(t, memory.New(), `rules: [{id: r, limit: {runs: 2, per: user}, action: block}]`, hello(0))
	p, err := guardrail.New(guardrail.Config{Policy: parse(t, `rules: [{id: r, limit: {runs: 2, per: user}, action: block}]`), Sessions: h.sessions, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h.start(agentFunc(func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			yield(forge(&session.Event{Content: genai.NewContentFromText("hello", genai.RoleModel)}), nil)
		}
	}), &plugin.Plugin{Name: "other", Doc: "Forges.", BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
		return plugin.Outcome{Emit: []*session.Event{forge(&session.Event{})}}, nil
	}}, p)
	for range 2 {
		require.Equal(t, []string{"user: hi", "bot: hello"}, h.run(key, forge(session.Message("hi"))))
	}
	require.Equal(t, map[string]any{forged: 2.0, "user:guardrailed": "mine"}, h.counts(key.ID))
	require.Contains(t, h.run(key, forge(session.Message("hi")))[0], "DENIED")
	s, err := h.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, 6.0, s.State["user:n"])
}

// What a caller was shown is counted, whether it stays or leaves; so is what a rule blocks.
func TestWhatWasAskedCounts(t *testing.T) {
	const rules = `rules: [{id: t, limit: {tokens: 50, per: user}, action: block}, {id: m, limit: {model_calls: 1, per: user}, action: block, message: Enough.}, {id: w, stages: [output], detect: {words: [heron]}, action: block}]`
	long := strings.Repeat("a cat ", 40)
	for name, c := range map[string]struct {
		say    []*model.Response
		leaves bool
		tokens float64 // those of "hi" and "Be kind." with them
	}{
		"left in a stream":    {[]*model.Response{piece(long), piece(long), reply(long+long, 900)}, true, (10 + 240 + 3) / 4},
		"blocked":             {[]*model.Response{reply("a heron", 70)}, false, 70},
		"blocked in a stream": {[]*model.Response{piece(long), piece("a heron. "), piece(long), reply("x", 900)}, false, (10 + 240 + 9 + 3) / 4},
		"failed in a stream":  {[]*model.Response{piece(long), {ErrorCode: model.Unfinished, ErrorMessage: "cut"}}, false, (10 + 240 + 3) / 4},
		"failed":              {[]*model.Response{{ErrorCode: model.Failed, ErrorMessage: "no"}}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, memory.New(), rules, func(int) []*model.Response { return c.say })
			for e, err := range h.runner.Run(ctx, key, session.Message("hi"), session.RunConfig{Create: true, Streaming: session.SSE}) {
				require.NoError(t, err)
				if c.leaves && e.Partial {
					break
				}
			}
			counts := h.counts(key.ID)
			require.Equal(t, 1.0, counts["user:guardrail:limit:m:model_calls:user:ever:0"])
			got, _ := counts["user:guardrail:limit:t:tokens:user:ever:0"].(float64)
			require.Equal(t, c.tokens, got)
			require.Contains(t, h.run(key, session.Message("hi"))[0], "DENIED")
		})
	}
}

// A run without an input counts as one; a command is none.
func TestRunsWithoutInput(t *testing.T) {
	h := open(t, memory.New(), `rules: [{id: r, limit: {runs: 2, per: user}, action: block}]`, hello(0))
	require.Equal(t, []string{"user: hi", "bot: hello"}, h.run(key, session.Message("hi")))
	h.run(key, nil)
	require.Equal(t, 2.0, total(h.counts(key.ID)))
	require.Contains(t, h.run(key, nil)[0], "[DENIED]")
	require.Equal(t, 2.0, total(h.counts(key.ID)))
}

// broken is a store that cannot be read when a limit asks.
type broken struct{ session.Service }

func (broken) Get(context.Context, session.Key) (*session.Session, error) {
	return nil, errors.New("the disk is gone")
}

func TestCountsThatCannotBeRead(t *testing.T) {
	for policy, want := range map[string]string{"block": "plugin/guardrail: This could not be checked against the policy. [DENIED]", "allow": "user: hi"} {
		h := open(t, memory.New(), "rules: [{id: w, detect: {words: [heron]}, action: flag}]", hello(0))
		p, err := guardrail.New(guardrail.Config{Policy: parse(t, "{on_error: "+policy+", rules: [{id: r, limit: {runs: 2, per: user}, action: block}]}"), Sessions: broken{h.sessions}, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		h.start(agentFunc(func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(func(*session.Event, error) bool) {}
		}), p)
		var first *session.Event
		for e, err := range h.runner.Run(ctx, key, session.Message("hi"), session.RunConfig{Create: true}) {
			require.NoError(t, err)
			first = e
			break
		}
		require.Equal(t, want, line(first))
		if policy == "allow" {
			require.Len(t, plugin.NotesOf(first).Unchecked, 1)
		}
	}
}

// Without the sessions, as in a process of its own, a limit knows what the run began with, and what it has done since.
func TestLimitsAsAProcess(t *testing.T) {
	h := open(t, memory.New(), "rules: [{id: w, detect: {words: [heron]}, action: flag}]", loops(4, 10, "mail"))
	p, err := guardrail.New(guardrail.Config{Policy: parse(t, `rules: [{id: r, limit: {tokens: 25, per: user}, action: block, message: Enough.}, {id: c, limit: {tool_calls: 2, per: user}, action: block, message: No more.}]`), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h.start(h.bot, remote.Loopback(p))
	require.Equal(t, []string{"user: hi", `bot: mail{"n":1}`, `bot: mail={"ok":true}`, `bot: mail{"n":2}`, `bot: mail={"ok":true}`, `bot: mail{"n":3}`,
		`plugin/guardrail: mail={"error":"No more."} [DENIED]`, "plugin/guardrail: Enough. [DENIED]"}, h.run(key, session.Message("hi")))
	require.Equal(t, 32.0, total(h.counts(key.ID)))
	require.Equal(t, []string{"plugin/guardrail: Enough. [DENIED]"}, h.run(key, session.Message("hi")))
}

// A request that is built anew is one call of a model; two sessions' runs may have one ID.
func TestCallsOfModels(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, limit: {model_calls: 2, per: app}, action: block}]`))
	asks := func(id string) bool {
		out, err := p.BeforeModel(ctx, &session.Invocation{ID: "same", Key: session.Key{App: "app", User: "ann", ID: id}}, &model.Request{Agent: "bot"})
		require.NoError(t, err)
		return !out.Stop
	}
	require.True(t, asks("one"))
	require.True(t, asks("one"))
	require.True(t, asks("two"))
	require.False(t, asks("three"))
	require.True(t, asks("one"))
	for _, c := range []struct {
		id     string
		end    plugin.EndKind
		counts bool
	}{{"one", plugin.EndDone, false}, {"two", plugin.EndLeft, true}, {"three", plugin.EndLeft, false}} { // three was denied
		out, err := p.AfterRun(ctx, &session.Invocation{ID: "same", Key: session.Key{App: "app", User: "ann", ID: c.id}}, plugin.End{Kind: c.end})
		require.NoError(t, err)
		require.Equal(t, c.counts, len(out.Emit) == 1, c.id)
		if c.counts {
			require.Equal(t, map[string]float64{"app:guardrail:limit:r:model_calls:app:ever:0": 1}, out.Emit[0].Actions.StateIncrement)
		}
	}
	require.True(t, asks("three"), "no claim stays")
}

// A call beside a text that is blocked does not happen.
func TestCallOfABlockedAnswer(t *testing.T) {
	h := open(t, memory.New(), `rules: [{id: r, limit: {tool_calls: 1, per: user}, action: block}, {id: w, stages: [output], detect: {words: [heron]}, action: block}]`, func(int) []*model.Response {
		r := reply("a heron", 0)
		r.Content.Parts = append(r.Content.Parts, &genai.Part{FunctionCall: call("mail", nil)})
		return []*model.Response{r}
	})
	require.Contains(t, h.say("a"), "DENIED")
	require.Empty(t, h.counts("a"))
}

// What a plugin has asked a model for is counted; a rewind carries nothing else.
func TestPluginsTokens(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, limit: {tokens: 50, per: app}, action: block}, {id: m, limit: {model_calls: 50, per: app}, action: block}]`))
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 30, CandidatesTokenCount: 3, ThoughtsTokenCount: 4}
	summary := &session.Event{Author: "plugin/compaction", UsageMetadata: usage, Actions: session.Actions{Compaction: &session.Compaction{Through: 1, Content: genai.NewContentFromText("so far", genai.RoleUser)}}}
	inv := &session.Invocation{ID: "i", Key: key}
	out, err := p.OnEvent(ctx, inv, summary)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"app:guardrail:limit:r:tokens:app:ever:0": 37, "app:guardrail:limit:m:model_calls:app:ever:0": 1}, out.Replace.Actions.StateIncrement)
	require.Equal(t, "counts for m, r", out.Reason)
	require.Equal(t, "so far", out.Replace.Actions.Compaction.Content.Parts[0].Text)

	out, err = p.OnEvent(ctx, inv, &session.Event{Author: "plugin/rewind", UsageMetadata: usage, Actions: session.Actions{Rewind: &session.Rewind{}}})
	require.NoError(t, err)
	require.True(t, out.IsZero())
}

// A hook that outlives its run takes nothing with it.
func TestLateHook(t *testing.T) {
	store := &slow{Service: memory.New(), begun: make(chan struct{}, 1), end: make(chan struct{})}
	_, err := store.Create(ctx, key, nil)
	require.NoError(t, err)
	p, err := guardrail.New(guardrail.Config{Policy: parse(t, `rules: [{id: r, limit: {runs: 1, per: user}, action: block}]`), Sessions: store, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	input := session.Message("hi")
	input.Author = session.User
	late := make(chan struct{})
	go func() {
		defer close(late)
		_, _ = p.OnEvent(ctx, &session.Invocation{ID: "late", Key: key}, input)
	}()
	<-store.begun
	_, err = p.AfterRun(ctx, &session.Invocation{ID: "late", Key: key}, plugin.End{})
	require.NoError(t, err)
	close(store.end)
	<-late
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "next", Key: key}, input)
	require.NoError(t, err)
	require.False(t, out.Stop)
}

// slow is a store whose sessions are read when it is told to.
type slow struct {
	session.Service
	begun, end chan struct{}
}

func (s *slow) Get(ctx context.Context, k session.Key) (*session.Session, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.end
	return s.Service.Get(ctx, k)
}
