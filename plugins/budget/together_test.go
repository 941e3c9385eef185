package budget_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// everything has a limit of each kind.
var everything = budget.Config{TenantKey: "user:tenant", Limits: []budget.Limit{
	{Name: "runs", Count: "runs", Max: 20, Per: "user", Every: time.Hour, Warn: 0.5},
	{Name: "models", Count: "model_calls", Max: 20, Per: "app", Until: "00:00 Europe/Berlin"},
	{Name: "tools", Count: "tool_calls", Max: 3, Per: "session", Beyond: "ask"},
	{Name: "mails", Count: "tool_calls", Max: 1, Per: "tenant", Tools: []string{"send_*"}},
	{Name: "tokens", Count: "tokens", Max: 1000, Per: "session", Every: time.Hour, Warn: 0.1},
}}

func TestEveryPluginsRules(t *testing.T) {
	plugintest.Check(t, made(t, everything))
}

func TestEveryPluginsRulesAsAProcess(t *testing.T) {
	plugintest.Check(t, remote.Loopback(made(t, everything)))
}

// Sessions at the same moment, in one process, as a process of its own, and in processes that share
// a store, use what there is and no more.
func TestAtTheSameMoment(t *testing.T) {
	c := limits(
		budget.Limit{Name: "r", Count: "runs", Max: 7, Per: "user", Every: time.Hour, Warn: 0.5},
		budget.Limit{Name: "t", Count: "tokens", Max: 1000, Per: "app", Warn: 0.05},
	)
	file := filepath.Join(t.TempDir(), "s.db")
	for name, start := range map[string]func(*testing.T) []*process{
		"one process": func(t *testing.T) []*process {
			return []*process{start(t, memory.New(), c, hello(1))}
		},
		"plugins as processes": func(t *testing.T) (list []*process) {
			sessions := memory.New()
			for range 2 {
				list = append(list, startWith(t, sessions, hello(1), remote.Loopback(made(t, c))))
			}
			return list
		},
		"two processes": func(t *testing.T) (list []*process) {
			for range 2 {
				sessions, err := sqlite.Open(ctx, file)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, sessions.Close()) })
				list = append(list, start(t, sessions, c, hello(1)))
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			processes := start(t)
			require.Equal(t, 7, together(processes, 30, "s"))
			require.Zero(t, together(processes, 4, "t"))
			counts := processes[0].counts("s0")
			require.Equal(t, 7.0, counts["user:budget:r:runs:1h0m0s:0"])
			require.Equal(t, 7.0, counts["app:budget:t:tokens:ever:0"])
			warnings := 0
			for i := range 30 {
				for e, err := range processes[0].sessions.Read(ctx, key(fmt.Sprintf("s%d", i)), session.Selection{}) {
					require.NoError(t, err)
					if said, ok := e.CustomMetadata[budget.Key].(map[string]any); ok &&
						said["warning"] == true {
						warnings++
						require.Equal(t, "r", said["limit"])
						require.Equal(t, 4.0, said["used"])
					}
				}
			}
			require.Equal(t, 1, warnings)
		})
	}
}

// Processes that decide at the same moment, none having seen what the others add, use what there is
// and no more: of a limit that nobody has used, and of one whose use of an hour ago each of them
// gives back.
func TestNobodyHasSeenTheOthers(t *testing.T) {
	for _, per := range []string{"user", "app"} {
		const atOnce = 5
		var met sync.WaitGroup
		var first atomic.Int64
		meet := &plugin.Plugin{
			Name: "meet",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Text() == "hi" && first.Add(-1) >= 0 { // offered for the first time
					met.Done()
					met.Wait()
				}
				return plugin.Outcome{}, nil
			},
		}
		now := &clock{now: noon}
		c := limits(budget.Limit{Name: "l", Count: "runs", Max: 3, Per: per, Every: time.Hour})
		c.Now = now.Now
		sessions := memory.New()
		var processes []*process
		for range atOnce {
			processes = append(processes, startWith(t, sessions, hello(0), made(t, c), meet))
		}
		for round := range 3 {
			met.Add(atOnce)
			first.Store(atOnce)
			require.Equal(t, 3, together(processes, atOnce, fmt.Sprint(round, "-")), "round %d",
				round)
			total := session.UserPrefix
			if per == "app" {
				total = session.AppPrefix
			}
			require.Equal(t, 3.0, processes[0].counts("0-0")[total+"budget:l:runs:1h0m0s:0"])
			now.pass(2 * time.Hour)
		}
	}
}

// However sessions and processes come between each other, while time passes: no limit of runs or
// tool calls is passed, in no span as long as the window; nothing is denied of which there is some;
// and the state does not grow.
func TestNoLimitIsPassed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(rt, "max")
		every := time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute
		tools := rapid.IntRange(1, 9).Draw(rt, "tools")
		now := &clock{now: time.UnixMilli(rapid.Int64Range(1e11, 4e12).Draw(rt, "now"))}
		c := budget.Config{Now: now.Now, Limits: []budget.Limit{
			{Name: "r", Count: "runs", Max: most, Per: "user", Every: every, Warn: 0.7},
			{Name: "d", Count: "runs", Max: 5, Per: "app", Until: "03:30 Europe/Berlin"},
			{Name: "t", Count: "tool_calls", Max: tools, Per: "user"},
		}}
		if rapid.Bool().Draw(rt, "onlyOne") { // otherwise one limit hides what another does wrong
			c.Limits = c.Limits[:1]
		}

		// Time may pass between the moment at which a budget decides and the append.
		delay := &plugin.Plugin{
			Name: "delay",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Text() == "hi" {
					now.pass(every / 40)
				}
				return plugin.Outcome{}, nil
			},
		}
		sessions := memory.New()
		var processes []*process
		for range 2 {
			processes = append(processes, startWith(t, sessions, calls(1, 0, "search", "search"),
				rewind.New(sessions), made(t, c), delay))
		}
		defer func() {
			for _, p := range processes {
				require.NoError(rt, p.runner.Close(ctx))
			}
		}()

		var mu sync.Mutex
		var passed []span // when the runs that were not denied began, at the earliest and at the latest
		for round := range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			now.pass(time.Duration(rapid.Int64Range(0, int64(every)*2/3).Draw(rt, "pause")))
			var group sync.WaitGroup
			for i := range rapid.IntRange(1, 5).Draw(rt, "atOnce") {
				p := processes[i%2]
				group.Go(func() {
					s := span{from: now.Now()}
					last := p.say(fmt.Sprintf("%d-%d", round%3, i))
					s.to = now.Now()
					if last == "bot: done" {
						mu.Lock()
						passed = append(passed, s)
						mu.Unlock()
					}
				})
			}
			group.Wait()
		}

		for _, a := range passed {
			n := 0
			for _, b := range passed {
				if !b.from.Before(a.from) && b.to.Sub(a.from) < every {
					n++
				}
			}
			require.LessOrEqual(rt, n, most)
		}
		if len(c.Limits) > 1 {
			require.LessOrEqual(rt, processes[0].tools.Load()+processes[1].tools.Load(),
				int64(tools))
		}
		require.NotEmpty(rt, passed)
		s, err := sessions.Get(ctx, key("0-0"))
		require.NoError(rt, err)
		require.LessOrEqual(rt, len(s.State), 30)
	})
}

type span struct{ from, to time.Time }
