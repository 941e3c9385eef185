package compaction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// A trigger by number compacts an ordinary conversation in a window of any size: sizes that nobody has
// set scale with the view.
func TestATriggerByNumberCompactsInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := compaction.Config{
			Window:      rapid.IntRange(1000, 2_000_000).Draw(t, "window"),
			Invocations: rapid.IntRange(3, 40).Draw(t, "invocations"),
		}
		require.Empty(t, c.Warnings())
		inv := &session.Invocation{Key: key}
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		for i, e := range talk(r, c.Invocations) {
			e.Seq = int64(i) + 1
			e.InvocationID = fmt.Sprint(i / 2)
			inv.Live = append(inv.Live, e)
			inv.Position = e.Seq
		}
		plan, err := c.Preview(ctx, inv, "")
		require.NoError(t, err)
		require.NotEmpty(t, plan.Trigger)
		require.Empty(t, plan.Declined, plan.Why)
		require.Less(t, plan.Kept+plan.Summary, plan.Before*9/10+1)
	})
}

func TestAdvise(t *testing.T) {
	for _, c := range []struct {
		config compaction.Config
		want   string // of the advice, "" for none
	}{
		{compaction.Config{}, ""},
		{compaction.Config{Trigger: 16000, Fraction: 0.9}, "fraction 0.9 never asks for a compaction: it is 115200 tokens, and trigger is 16000"},
		{compaction.Config{Trigger: 60000, Fraction: 0.1}, "trigger 60000 never asks for a compaction"},
		{compaction.Config{Invocations: 6, Events: 12}, "invocations 6 never asks for a compaction"},
		{compaction.Config{Invocations: 6, Events: 13}, ""},
		{compaction.Config{Invocations: 6, MinGain: 7680}, "invocations 6 starts no compaction yet if each of the invocations has 1000 tokens: too short (6000 tokens); a summary must save 7680"},
		{compaction.Config{Events: 10, MinGain: 2600}, "events 10 starts no compaction yet if each of the events has 250 tokens"},
		{compaction.Config{Clear: compaction.Clear{Keep: 2}}, "clear.trigger is not set"},
		{compaction.Config{Clear: compaction.Clear{Artifacts: 2000}}, ""},
		{compaction.Config{Keep: compaction.Keep{Tokens: 2000}}, "keep.tokens 2000 bounds nothing"},
		{compaction.Config{Events: 10, Tail: 9000}, ""}, // the tail leaves room for half a summary
	} {
		got := c.config.Warnings()
		if c.want == "" {
			require.Empty(t, got)
			continue
		}
		require.Len(t, got, 1)
		require.Contains(t, got[0], c.want)
	}
}
