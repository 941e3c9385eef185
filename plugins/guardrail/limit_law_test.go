package guardrail_test

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// In no span of time as long as the window is there more than the limit; what is denied is free when the note says so, and
// at the latest after the window and a twelfth; and the state does not grow.
func TestWindowLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(rt, "max")
		every := time.Duration(rapid.IntRange(1, 7200).Draw(rt, "seconds")) * time.Second
		policy, err := guardrail.Parse("p.yaml", fmt.Appendf(nil, `rules: [{id: r, limit: {runs: %d, per: user, every: %v}, action: block}]`, most, every))
		require.NoError(rt, err)
		now := time.UnixMilli(rapid.Int64Range(1, 4e12).Draw(rt, "now"))
		p, err := guardrail.New(guardrail.Config{Policy: policy, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
		require.NoError(rt, err)

		state := map[string]any{}
		var passed []time.Time
		input := func(n int) time.Duration {
			e := session.Message("hi")
			e.Author = session.User
			inv := &session.Invocation{ID: fmt.Sprint(n), Key: key, State: maps.Clone(state)}
			out, err := p.OnEvent(ctx, inv, e)
			require.NoError(rt, err)
			_, err = p.AfterRun(ctx, inv, plugin.End{})
			require.NoError(rt, err)
			if out.Stop {
				note, ok := guardrail.NoteOf(out.Emit[0])
				require.True(rt, ok)
				return time.Duration(note.Records[0].RetryAfter) * time.Second
			}
			for k, v := range out.Replace.Actions.StateDelta {
				require.Nil(rt, v)
				delete(state, k)
			}
			for k, by := range out.Replace.Actions.StateIncrement {
				was, _ := state[k].(float64)
				state[k] = was + by
			}
			passed = append(passed, now)
			return 0
		}
		for i := range rapid.IntRange(1, 60).Draw(rt, "inputs") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(every)/2).Draw(rt, "pause")))
			recent := 0
			for _, at := range passed {
				if now.Sub(at) <= every+every/12+time.Millisecond {
					recent++
				}
			}
			wait := input(i)
			require.False(rt, wait > 0 && recent < most, "denied with %d of %d", recent, most)
			require.LessOrEqual(rt, wait, every+every/12+time.Second)
			if wait > 0 && rapid.Bool().Draw(rt, "waits") {
				now = now.Add(wait)
				require.Zero(rt, input(1000+i), "denied after it has waited")
			}
		}
		for i, at := range passed {
			n := 0
			for _, other := range passed[i:] {
				if other.Sub(at) < every {
					n++
				}
			}
			require.LessOrEqual(rt, n, most)
		}
		require.LessOrEqual(rt, len(state), 15)
	})
}

// Whatever the state has under the guardrail's keys, an event is decided, and what is not a count is none.
func FuzzCounts(f *testing.F) {
	f.Add("user:guardrail:limit:r:runs:user:1h0m0s:9999999999999", 3, "x")
	f.Add("user:guardrail:limit:r:runs:user:1h0m0s:", -3, "user:guardrail:limit:")
	p := quiet(f, with(f, `rules: [{id: r, limit: {runs: 2, per: user, every: 1h}, action: block}]`))
	f.Fuzz(func(t *testing.T, k string, n int, other string) {
		inv := &session.Invocation{ID: "i", Key: key, State: map[string]any{k: float64(n), other: "x"}}
		e := session.Message("hi")
		e.Author = session.User
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		_, err = p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(t, err)
		counts := strings.HasPrefix(k, "user:guardrail:limit:r:runs:user:1h0m0s:") && n >= 2
		require.False(t, out.Stop && !counts)
	})
}
