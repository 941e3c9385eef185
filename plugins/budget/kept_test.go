package budget_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// A rewind gives nothing back, nor does its undoing, and a restart changes nothing.
func TestCountsOutlastRewindsAndRestarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	c := limits(
		budget.Limit{Name: "s", Count: "runs", Max: 3, Per: "session", Message: "Of the session."},
		budget.Limit{Name: "w", Count: "tokens", Max: 1000, Per: "session", Every: time.Hour},
		budget.Limit{Name: "u", Count: "tokens", Max: 150, Per: "user", Message: "Of the user."},
	)
	open := func() (*process, func()) {
		sessions, err := sqlite.Open(ctx, file)
		require.NoError(t, err)
		p := start(t, sessions, c, hello(30))
		return p, func() {
			require.NoError(t, p.runner.Close(ctx))
			require.NoError(t, sessions.Close())
		}
	}
	p, shut := open()
	for _, command := range []session.Command{rewind.To(0), rewind.Undo(), rewind.Turns(1)} {
		require.Equal(t, "bot: hello", p.say("a"))
		before := p.counts("a")
		require.NotContains(t, strings.Join(p.run(key("a"), command.Event()), "\n"), "[")
		require.Equal(t, before, p.counts("a"))
	}
	require.Equal(t, "plugin/budget: Of the session. [DENIED]", p.say("a"))
	shut()

	p, shut = open()
	defer shut()
	require.Equal(t, "plugin/budget: Of the session. [DENIED]", p.say("a"))
	require.Equal(t, "bot: hello", p.say("b"))
	require.Equal(t, "bot: hello", p.say("b"))
	require.Equal(t, "plugin/budget: Of the user. [DENIED]", p.say("b"))
}

// The counts go by the plugin's name.
func TestKeysAreTheNamedPlugins(t *testing.T) {
	c := limits(
		budget.Limit{Name: "s", Count: "runs", Max: 5, Per: "session"},
		budget.Limit{Name: "u", Count: "runs", Max: 5, Per: "user", Warn: 0.2},
		budget.Limit{Name: "a", Count: "runs", Max: 5, Per: "app", Every: time.Hour},
	)
	c.Name = "my-budget"
	p := start(t, memory.New(), c, hello(0))
	require.Equal(t, "bot: hello", p.say("a"))
	require.Equal(t, map[string]any{
		"my-budget:s:runs:ever:0":                   1.0,
		"user:my-budget:u:runs:ever:0":              1.0,
		"user:my-budget:u:runs:ever:warned:0":       1.0,
		"app:my-budget:a:runs:1h0m0s:0":             1.0,
		"app:my-budget:a:runs:1h0m0s:1777640700000": -1.0, // 13:05
	}, p.counts("a"))
}

// A window that is over leaves nothing, and its limit begins anew.
func TestWindowsEnd(t *testing.T) {
	now := &clock{now: noon}
	c := limits(
		budget.Limit{
			Name:    "day",
			Count:   "runs",
			Max:     2,
			Per:     "user",
			Until:   "20:00 UTC",
			Warn:    0.5,
			Message: "Tomorrow.",
		},
		budget.Limit{
			Name:  "mine",
			Count: "runs",
			Max:   2,
			Per:   "session",
			Until: "20:00 UTC",
			Warn:  0.5,
		},
	)
	c.Now = now.Now
	p := start(t, memory.New(), c, hello(0))
	for range 3 {
		require.Equal(t, "bot: hello", p.say("a"))
		require.Equal(t, "bot: hello", p.say("a"))
		require.Equal(t, "plugin/budget: Tomorrow. [DENIED]", p.say("a"))
		require.Len(t, p.counts("a"), 4)
		now.pass(24 * time.Hour)
	}
}

// What a rolling window counted is free again when it is that old, is said to be so, and leaves
// nothing but one number.
func TestRollingWindow(t *testing.T) {
	for _, per := range []string{"user", "session"} {
		now := &clock{now: noon}
		c := limits(
			budget.Limit{Name: "l", Count: "runs", Max: 2, Per: per, Every: time.Hour, Warn: 1})
		c.Now = now.Now
		p := start(t, memory.New(), c, hello(0))
		denied := func(again string) string {
			return "plugin/budget: The limit l (2 runs per " + per + " in 1h) is used up; there is more in " + again + ". [DENIED]"
		}
		require.Equal(t, "bot: hello", p.say("a"))
		now.pass(10 * time.Minute)
		require.Equal(t, []string{"user: hi", "plugin/budget: warning: 2 of 2", "bot: hello"},
			p.run(key("a"), session.Message("hi")))
		require.Equal(t, denied("55m"), p.say("a"))
		now.pass(54 * time.Minute)
		require.Equal(t, denied("1m"), p.say("a"))
		now.pass(time.Minute)
		require.Equal(t, []string{"user: hi", "bot: hello"}, p.run(key("a"), session.Message("hi")),
			"it has warned in this window")
		require.Equal(t, denied("10m"), p.say("a"))
		now.pass(1000 * time.Hour)
		require.Equal(t, "bot: hello", p.say("a"))
		require.Len(t, p.counts("a"), 2, "%v", p.counts("a"))
	}
}

// Another limit's numbers that are over go too, some at a time; those that count stay, and so does
// what is not the plugin's.
func TestOldNumbersGo(t *testing.T) {
	p := made(t, limits(budget.Limit{Name: "l", Count: "runs", Max: 5, Per: "user"}))
	state := map[string]any{
		"user:budget:gone:runs:day:1":               3.0,
		"user:budget:gone:runs:day:warned:1":        1.0,
		"budget:gone:runs:day:1":                    3.0,
		"app:budget:gone:runs:1h0m0s:0":             9.0,
		"app:budget:gone:runs:1h0m0s:1":             -4.0,
		"app:budget:gone:runs:1h0m0s:1777636800000": -5.0, // an instant ago: its own limit may be about to move it
		"app:budget:gone:runs:day:99999999999999":   1.0,
		"user:budget:gone:runs:ever:0":              1.0,
		"user:budget:gone:runs:ever:x":              1.0,
		"user:mine:budget:gone:runs:day:1":          1.0,
		"user:budgets:gone:runs:day:1":              1.0,
		"user:budget:gone:runs:day:2":               "x",
	}
	input := session.Message("hi")
	input.Author = session.User
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key("a"), State: state}, input)
	require.NoError(t, err)
	require.Equal(t, session.Actions{
		StateDelta: map[string]any{
			"user:budget:gone:runs:day:1": nil, "user:budget:gone:runs:day:warned:1": nil,
			"budget:gone:runs:day:1": nil, "app:budget:gone:runs:1h0m0s:1": nil,
		},
		StateIncrement: map[string]float64{
			"user:budget:l:runs:ever:0": 1, "app:budget:gone:runs:1h0m0s:0": -4, "app:budget:gone:runs:1h0m0s:1": 4,
		},
		StateBound: map[string]float64{
			"user:budget:l:runs:ever:0":     5,
			"app:budget:gone:runs:1h0m0s:1": 0,
		},
	}, out.Replace.Actions)
}

// An input that is withheld behind the budget was no run.
func TestWhatIsNotAppendedIsNotCounted(t *testing.T) {
	withholds := &plugin.Plugin{
		Name: "no",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == session.User && e.Text() == "no" {
				return plugin.Deny("No.", "no"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	counts := made(t, limits(budget.Limit{Name: "l", Count: "runs", Max: 5, Per: "user"}))
	for _, plugins := range [][]*plugin.Plugin{{counts, withholds}, {withholds, counts}} {
		p := startWith(t, memory.New(), hello(0), plugins...)
		require.Equal(t, "bot: hello", p.say("a"))
		p.run(key("a"), session.Message("no"))
		require.Equal(t, map[string]any{"user:budget:l:runs:ever:0": 1.0}, p.counts("a"))
	}
}

// What a plugin has asked a model for counts, and stays what it is.
func TestPluginsTokens(t *testing.T) {
	p := made(t, limits(
		budget.Limit{Name: "t", Count: "tokens", Max: 50, Per: "app"},
		budget.Limit{Name: "m", Count: "model_calls", Max: 50, Per: "app"},
	))
	usage := &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:     30,
		CandidatesTokenCount: 3,
		ThoughtsTokenCount:   4,
	}
	summary := &session.Event{
		Author:        "plugin/compaction",
		UsageMetadata: usage,
		Actions: session.Actions{
			Compaction: &session.Compaction{
				Through: 1,
				Content: genai.NewContentFromText("so far", genai.RoleUser),
			},
		},
	}
	inv := &session.Invocation{ID: "i", Key: key("a")}
	out, err := p.OnEvent(ctx, inv, summary)
	require.NoError(t, err)
	require.Equal(t,
		map[string]float64{"app:budget:t:tokens:ever:0": 37, "app:budget:m:model_calls:ever:0": 1},
		out.Replace.Actions.StateIncrement)
	require.Empty(t, out.Replace.Actions.StateBound)
	require.Equal(t, "so far", out.Replace.Actions.Compaction.Content.Parts[0].Text)

	for name, e := range map[string]*session.Event{
		"usage of nothing": {Author: "plugin/x", UsageMetadata: &genai.GenerateContentResponseUsageMetadata{}, Content: genai.NewContentFromText("x", genai.RoleModel)},
		"below nothing":    {Author: "plugin/x", UsageMetadata: &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: -5}},
		"a rewind":         {Author: "plugin/rewind", UsageMetadata: usage, Actions: session.Actions{Rewind: &session.Rewind{}}},
		"a response":       {Author: "bot", UsageMetadata: usage, Content: &genai.Content{Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: "x"}}}}},
		"a partial event":  {Author: "bot", UsageMetadata: usage, Partial: true},
	} {
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		require.True(t, out.IsZero(), name)
	}
}

// Whatever the state has under the plugin's keys, events are decided, and what is not a count is
// none.
func FuzzState(f *testing.F) {
	f.Add("user:budget:r:runs:1h0m0s:0", 3.0, "user:budget:r:runs:1h0m0s:9223372036854775807", -1.0)
	f.Add("user:budget:r:runs:1h0m0s:", -3.0, "user:budget:", 1.0)
	f.Add("user:budget:r:runs:1h0m0s:1", -3.0, "user:budget:r:runs:1h0m0s:warned:0", 1.0)
	const total = "user:budget:r:runs:1h0m0s:0"
	p := made(f,
		limits(budget.Limit{Name: "r", Count: "runs", Max: 2, Per: "user", Every: time.Hour}))
	f.Fuzz(func(t *testing.T, first string, n float64, second string, m float64) {
		state := map[string]any{first: n, second: m}
		input := session.Message("hi")
		input.Author = session.User
		out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key("a"), State: state}, input)
		require.NoError(t, err)
		used, _ := state[total].(float64)
		require.False(t, out.Stop && used < 2)
		require.True(t, out.Stop || out.Replace.Actions.StateBound[total] == 2)
	})
}
