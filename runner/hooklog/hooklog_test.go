package hooklog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/runner/hooklog"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"

	"iter"
)

var key = session.Key{App: "app", User: "ada", ID: "s"}

// echo is an agent that answers.
func echo(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) { yield(session.Reply("Hello."), nil) }
}

// plugins are one that does nothing, one that notes something beside each event, and one that changes answers.
func plugins() []*plugin.Plugin {
	return []*plugin.Plugin{
		{Name: "quiet", OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		}},
		{Name: "notes", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			c := e.Clone()
			c.CustomMetadata = map[string]any{"noted": true}
			return plugin.Outcome{Replace: c, Reason: "counts"}, nil
		}},
		{Name: "changes", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == session.User {
				return plugin.Outcome{}, nil
			}
			c := e.Clone()
			c.Content.Parts[0].Text = "Hi."
			return plugin.Outcome{Replace: c, Reason: "shorter"}, nil
		}},
	}
}

func run(t testing.TB, store session.Service, calls *hooklog.Log, inputs int) {
	t.Helper()
	o := runner.Options{Agent: agent.New("a", "", echo), Sessions: store, Plugins: plugins()}
	if calls != nil {
		o.Trace = calls.Trace
	}
	r, err := runner.New(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	for range inputs {
		for _, err := range r.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{Create: true}) {
			require.NoError(t, err)
		}
	}
}

// Also the calls are kept that decided nothing, in order; what only notes something is told from what changes a text.
func TestCalls(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, open := range map[string]func(t *testing.T) (session.Service, hooklog.Options){
		"memory": func(*testing.T) (session.Service, hooklog.Options) { return memory.New(), hooklog.Options{} },
		"store": func(t *testing.T) (session.Service, hooklog.Options) {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
			require.NoError(t, err)
			return s, hooklog.Options{Store: s, Keep: time.Hour}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, o := open(t)
			defer store.Close()
			calls := hooklog.New(o)
			run(t, store, calls, 1)
			list, err := calls.Of(t.Context(), key)
			require.NoError(t, err)
			var told []string
			for _, r := range list {
				told = append(told, fmt.Sprint(r.Plugin, " ", r.Hook, r.Did, r.Reason))
				require.Positive(t, r.Nanoseconds)
			}
			require.Equal(t, []string{
				"quiet OnEvent[]", "notes OnEvent[noted]counts", "changes OnEvent[]",
				"quiet OnEvent[]", "notes OnEvent[noted]counts", "changes OnEvent[replaced]shorter",
			}, told)
			calls.Close(t.Context())

			// Another process reads what the store keeps.
			if o.Store != nil {
				again := hooklog.New(o)
				list, err = again.Of(t.Context(), key)
				require.NoError(t, err)
				require.Len(t, list, 6)
				again.Close(t.Context())
			}
		})
	}
}

// What is kept in memory is bounded, by session and in all.
func TestBounds(t *testing.T) {
	calls := hooklog.New(hooklog.Options{Calls: 10, Sessions: 3})
	call := func(id string, n int) {
		for i := range n {
			calls.Trace(runner.HookCall{Key: session.Key{ID: id}, Plugin: fmt.Sprint(i)})
		}
	}
	of := func(id string) []session.HookRecord {
		list, err := calls.Of(t.Context(), session.Key{ID: id})
		require.NoError(t, err)
		return list
	}
	call("a", 1000)
	require.Len(t, of("a"), 10)
	require.Equal(t, "999", of("a")[9].Plugin)
	call("b", 1)
	call("c", 1)
	call("a", 1)
	call("d", 1)
	require.Empty(t, of("b"), "it was used longest ago")
	require.Len(t, of("a"), 10)
	require.Len(t, of("d"), 1)
	calls.Close(t.Context())
}

// failing is a store that keeps nothing, until it does.
type failing struct {
	session.HookKeeper
	down bool
	kept int
}

func (f *failing) KeepHooks(_ context.Context, _ time.Time, records map[session.Key][]session.HookRecord) error {
	if f.down {
		return errors.New("no connection")
	}
	for _, list := range records {
		f.kept += len(list)
	}
	return nil
}

func (f *failing) Hooks(context.Context, session.Key) ([]session.HookRecord, error) { return nil, nil }

// What the store did not take is offered again.
func TestAStoreThatIsDown(t *testing.T) {
	store := &failing{down: true}
	calls := hooklog.New(hooklog.Options{Store: store})
	for range 3 {
		calls.Trace(runner.HookCall{Key: key, Plugin: "p"})
	}
	_, err := calls.Of(t.Context(), key)
	require.NoError(t, err)
	require.Zero(t, store.kept)
	store.down = false
	calls.Close(t.Context())
	require.Equal(t, 3, store.kept)
}

// BenchmarkRun compares turns with three plugins on SQLite: without hook calls kept, with those kept in memory, and with those
// kept in the store. Batches of all three take turns, so that what else the machine does meets all of them.
func BenchmarkRun(b *testing.B) {
	const batch = 25
	kinds := []string{"none", "memory", "store"}
	took := map[string]time.Duration{}
	turn := map[string]func(){}
	for _, kind := range kinds {
		store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"))
		require.NoError(b, err)
		o := runner.Options{Agent: agent.New("a", "", echo), Sessions: store, Plugins: plugins()}
		var calls *hooklog.Log
		switch kind {
		case "memory":
			calls = hooklog.New(hooklog.Options{})
			o.Trace = calls.Trace
		case "store":
			calls = hooklog.New(hooklog.Options{Store: store, Keep: time.Hour})
			o.Trace = calls.Trace
		}
		r, err := runner.New(o)
		require.NoError(b, err)
		defer func() {
			require.NoError(b, r.Close(context.Background()))
			calls.Close(context.Background())
			require.NoError(b, store.Close())
		}()
		turn[kind] = func() {
			for _, err := range r.Run(b.Context(), key, session.Message("Hello"), session.RunConfig{Create: true}) {
				require.NoError(b, err)
			}
		}
		turn[kind]()
	}
	for i := 0; b.Loop(); i++ {
		for j := range kinds {
			kind := kinds[(i+j)%len(kinds)]
			begin := time.Now()
			for range batch {
				turn[kind]()
			}
			took[kind] += time.Since(begin)
		}
	}
	for _, kind := range kinds[1:] {
		b.ReportMetric(100*(float64(took[kind])/float64(took["none"])-1), kind+"-more-%")
	}
}

// BenchmarkTrace is what a run waits for: the keeping of one call.
func BenchmarkTrace(b *testing.B) {
	calls := hooklog.New(hooklog.Options{})
	e := session.Message("Hello")
	c := runner.HookCall{Key: key, Plugin: "p", Hook: plugin.OnEvent, Event: e, Outcome: plugin.Outcome{Replace: e.Clone(), Reason: "r"}}
	for b.Loop() {
		calls.Trace(c)
	}
}
