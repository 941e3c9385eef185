package budget_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// What each count counts, for whom, and what is said when it is used up.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit  budget.Limit
		say    saying
		want   []string // the last lines of runs, each in the session before the colon
		models int64
		tools  int64
	}{
		"runs of a user": {
			limit: budget.Limit{Name: "l", Count: "runs", Max: 2, Per: "user"},
			say:   hello(0), models: 2,
			want: []string{"a: bot: hello", "b: bot: hello", "a: plugin/budget: The limit l (2 runs per user) is used up. [DENIED]", "c: plugin/budget: The limit l (2 runs per user) is used up. [DENIED]"},
		},
		"runs of a session": {
			limit: budget.Limit{Name: "l", Count: "runs", Max: 1, Per: "session", Message: "Enough."},
			say:   hello(0), models: 2,
			want: []string{"a: bot: hello", "a: plugin/budget: Enough. [DENIED]", "b: bot: hello", "a: plugin/budget: Enough. [DENIED]"},
		},
		"runs of the app": {
			limit: budget.Limit{Name: "l", Count: "runs", Max: 1, Per: "app", Message: "Enough."},
			say:   hello(0), models: 1,
			want: []string{"a: bot: hello", "b: plugin/budget: Enough. [DENIED]"},
		},
		"model calls": {
			limit: budget.Limit{Name: "l", Count: "model_calls", Max: 3, Per: "user", Message: "Enough."},
			say:   calls(9, 0, "search"), models: 3, tools: 3,
			want: []string{"a: plugin/budget: Enough. [DENIED]", "b: plugin/budget: Enough. [DENIED]"},
		},
		"model calls of a session": {
			limit: budget.Limit{Name: "l", Count: "model_calls", Max: 3, Per: "session", Message: "Enough."},
			say:   calls(1, 0, "search"), models: 5, tools: 3,
			want: []string{"a: bot: done", "a: plugin/budget: Enough. [DENIED]", "b: bot: done"},
		},
		"tokens": {
			limit: budget.Limit{Name: "l", Count: "tokens", Max: 300, Per: "app", Message: "Enough."},
			say:   calls(9, 120, "search"), models: 3, tools: 3,
			want: []string{"a: plugin/budget: Enough. [DENIED]", "b: plugin/budget: Enough. [DENIED]"},
		},
		"tokens that nobody reports": {
			limit: budget.Limit{Name: "l", Count: "tokens", Max: 1, Per: "app"},
			say:   hello(0), models: 2,
			want: []string{"a: bot: hello", "b: bot: hello"},
		},
		"tool calls": {
			limit: budget.Limit{Name: "l", Count: "tool_calls", Max: 2, Per: "user"},
			say:   calls(2, 0, "send_mail", "search"), models: 6, tools: 2,
			want: []string{"a: bot: done", "b: bot: done"},
		},
		"calls of some tools": {
			limit: budget.Limit{Name: "l", Count: "tool_calls", Max: 3, Per: "user", Tools: []string{"send_*"}},
			say:   calls(2, 0, "send_mail", "search"), models: 6, tools: 7,
			want: []string{"a: bot: done", "b: bot: done"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, memory.New(), limits(c.limit), c.say)
			for i, want := range c.want {
				require.Equal(t, want[3:], p.say(want[:1]), "run %d", i)
			}
			require.Equal(t, c.models, p.models.Load())
			require.Equal(t, c.tools, p.tools.Load())
		})
	}
}

// A tenant is who the state key names, over users; sessions without one are a tenant together.
func TestTenants(t *testing.T) {
	c := limits(budget.Limit{Name: "l", Count: "runs", Max: 2, Per: "tenant", Message: "Enough."})
	c.TenantKey = "user:tenant"
	sessions := memory.New()
	p := start(t, sessions, c, hello(0))
	say := func(user, tenant string) string {
		k := session.Key{App: "app", User: user, ID: session.NewID()}
		var state map[string]any
		if tenant != "" {
			state = map[string]any{"user:tenant": tenant}
		}
		_, err := sessions.Create(ctx, k, state)
		require.NoError(t, err)
		lines := p.run(k, session.Message("hi"))
		return lines[len(lines)-1]
	}
	require.Equal(t, "bot: hello", say("ann", "a:corp/ä"))
	require.Equal(t, "bot: hello", say("bob", "a:corp/ä"))
	require.Equal(t, "plugin/budget: Enough. [DENIED]", say("ann", "a:corp/ä"))
	require.Equal(t, "bot: hello", say("eve", "b"))
	require.Equal(t, "bot: hello", say("nobody", ""))
	require.Equal(t, "bot: hello", say("nobody", ""))
	require.Equal(t, "plugin/budget: Enough. [DENIED]", say("none", ""))
}

// A call beyond is answered with an error, and the run goes on. Its siblings are made.
func TestDeniedCalls(t *testing.T) {
	p := start(t, memory.New(), limits(
		budget.Limit{
			Name:  "mails",
			Count: "tool_calls",
			Max:   1,
			Per:   "user",
			Tools: []string{"send_mail"},
			Until: "00:00 Europe/Berlin",
		},
		budget.Limit{Name: "all", Count: "tool_calls", Max: 9, Per: "user"},
	), calls(1, 0, "send_mail", "send_mail", "search"))
	require.Equal(t, []string{
		"user: hi",
		"bot: calls send_mail calls send_mail calls search",
		"plugin/budget: send_mail answers map[error:not executed: the limit mails (1 tool call per user until 00:00 Europe/Berlin) is used up; there is more in 10h; go on without it] [DENIED]",
		"bot: send_mail answers map[ok:true] search answers map[ok:true]",
		"bot: done",
	}, p.run(key("a"), session.Message("hi")))
	require.Equal(t, map[string]any{
		"user:budget:mails:tool_calls:day:1777672800000": 1.0,
		"user:budget:all:tool_calls:ever:0":              2.0, // a denied call takes nothing
	}, p.counts("a"))
}

// A call beyond is held until a human answers; an approved one is made, and counts nowhere twice.
func TestAskedCalls(t *testing.T) {
	c := limits(
		budget.Limit{Name: "one", Count: "tool_calls", Max: 1, Per: "user", Beyond: "ask"},
		budget.Limit{Name: "all", Count: "tool_calls", Max: 9, Per: "user"},
	)
	for _, yes := range []bool{true, false} {
		p := start(t, memory.New(), c, calls(1, 0, "send_mail", "search"))
		require.Equal(t, []string{
			"user: hi",
			"bot: calls send_mail calls search",
			"plugin/budget: [c1-1: The limit one (1 tool call per user) is used up. Make this call of search all the same?]",
			"bot: send_mail answers map[ok:true]",
		}, p.run(key("a"), session.Message("hi")))
		p.run(key("a"), session.Decision(yes, "c1-1"))
		made := int64(1)
		if yes {
			made = 2
		}
		require.Equal(t, made, p.tools.Load())
		require.Equal(t, map[string]any{
			"user:budget:one:tool_calls:ever:0": 1.0,
			"user:budget:all:tool_calls:ever:0": 2.0,
		}, p.counts("a"))
	}
}

// At a share there is one warning, which no model is shown and which is no answer.
func TestWarning(t *testing.T) {
	for _, per := range []string{"session", "user", "app"} {
		p := start(t, memory.New(),
			limits(budget.Limit{Name: "l", Count: "tokens", Max: 100, Per: per, Warn: 0.5}),
			calls(1, 15, "search"))
		require.Equal(t, "bot: done", p.say("a"))
		require.Equal(t, []string{
			"user: hi",
			"bot: calls search",
			"bot: search answers map[ok:true]",
			"bot: done",
			"plugin/budget: warning: 60 of 100",
		}, p.run(key("a"), session.Message("hi")))
		require.Equal(t, "bot: done", p.say("a"))
		require.Equal(t, "plugin/budget: The limit l (100 tokens per "+per+") is used up. [DENIED]",
			p.run(key("a"), session.Message("hi"))[3])
	}
}

// A limit of which all is used at once warns and denies.
func TestWarningAtTheEnd(t *testing.T) {
	p := start(t, memory.New(),
		limits(budget.Limit{Name: "l", Count: "runs", Max: 1, Per: "user", Warn: 1}), hello(0))
	require.Equal(t, []string{"user: hi", "plugin/budget: warning: 1 of 1", "bot: hello"},
		p.run(key("a"), session.Message("hi")))
	require.Contains(t, p.say("a"), "[DENIED]")
}
