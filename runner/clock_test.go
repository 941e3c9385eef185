package runner_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A run's time comes from one clock: that of its events, of what plugins emit, and of what hooks and agents are told,
// also behind the wire.
func TestARunHasOneClock(t *testing.T) {
	noon := time.Date(2031, 5, 4, 12, 0, 0, 250_000_000, time.FixedZone("", 7200))
	for name, as := range map[string]func(*plugin.Plugin) *plugin.Plugin{
		"in process":       func(p *plugin.Plugin) *plugin.Plugin { return p },
		"through the wire": remote.Loopback,
	} {
		t.Run(name, func(t *testing.T) {
			told := map[plugin.Hook]time.Time{}
			p := &plugin.Plugin{Name: "clock"}
			p.SetHooks(func(_ context.Context, inv *session.Invocation, args plugin.Args) (plugin.Outcome, error) {
				told[args.Hook] = inv.Now()
				return plugin.Outcome{Emit: []*session.Event{session.Reply("it is " + inv.Now().String())}}, nil
			}, plugin.BeforeRun, plugin.OnEvent, plugin.AfterRun)
			said := time.Time{}
			bot := agent.New("bot", "", func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					said = host.Now().Now()
					yield(session.Reply("Hello"), nil)
				}
			})
			r, err := runner.New(runner.Options{
				Agent:    bot,
				Sessions: memory.New(),
				Plugins:  []*plugin.Plugin{as(p)},
				Now:      func() time.Time { return noon },
			})
			require.NoError(t, err)
			key := session.Key{App: "a", User: "u", ID: "s"}
			n := 0
			for e, err := range r.Run(t.Context(), key, session.Message("Hi"), session.RunConfig{Create: true}) {
				require.NoError(t, err)
				require.Equal(t, noon.UTC(), e.Timestamp)
				n++
			}
			require.NoError(t, r.Close(t.Context()))
			require.Equal(t, 6, n)
			require.Equal(t, noon.UTC(), said)
			require.Len(t, told, 3)
			for hook, now := range told {
				require.Equal(t, noon.UTC(), now, hook)
			}
		})
	}
}
