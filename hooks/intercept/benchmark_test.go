package intercept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/hooks/intercept"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// BenchmarkIntercept judges an input of 1 KB without plugins, and appends the same events, with a lease for each,
// without a runner. A session has 100 inputs.
func BenchmarkIntercept(b *testing.B) {
	text := strings.Repeat("some words ", 93)
	b.Run("append", func(b *testing.B) {
		sessions := memory.New()
		for n := 0; b.Loop(); n++ {
			key := session.Key{App: "other", User: "ann", ID: fmt.Sprint(n / 100)}
			if n%100 == 0 {
				_, err := sessions.Create(ctx, key, nil)
				require.NoError(b, err)
			}
			lease, err := sessions.Lease(ctx, key, "x")
			require.NoError(b, err)
			e := session.Message(text)
			e.ID = fmt.Sprint(n)
			e.InvocationID = fmt.Sprint("i", n)
			e.Author = session.User
			_, err = sessions.Append(ctx, session.AppendTarget{Key: key, After: int64(n % 100), Fence: lease.Fence}, e)
			require.NoError(b, err)
			lease.Release()
		}
	})
	b.Run("intercept", func(b *testing.B) {
		r, err := runner.New(runner.Options{Agent: agent.Outside("other", ""), Sessions: memory.New()})
		require.NoError(b, err)
		defer r.Close(ctx)
		i := &intercept.Interceptor{Runner: r, App: "other", User: "ann"}
		for n := 0; b.Loop(); n++ {
			v, err := i.Intercept(ctx, agenthooks.Context(fmt.Sprintf(
				`{"spec":"agent-hooks/0.1","interception_point":"input","timestamp":"2026-01-01T00:00:00Z","sequence":%d,`+
					`"agent":{"id":"a","framework":"x"},"session":{"id":"%d"},"input":{"content":%q,"role":"user"}}`,
				n, n/100, text)))
			require.NoError(b, err)
			require.Equal(b, agenthooks.Allow, v.Decision)
		}
	})
}
