package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
)

// An event is live exactly if it is in the live view; what is void was voided by a rewind in force; what
// stands behind a compaction was in front of it and leads to the one that heads the view.
func TestStatuses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := logtest.Draw(rt, 40)
		var fates session.EventStatuses
		survivors := [][]int64{
			{},
		} // after each position, by the definition of a rewind; markers included
		for i, e := range log {
			fates.Add(e)
			if r := e.Actions.Rewind; r != nil {
				survivors = append(survivors, append(slices.Clone(survivors[r.To]), e.Seq))
			} else {
				survivors = append(survivors, append(slices.Clone(survivors[i]), e.Seq))
			}
			if rapid.IntRange(0, 9).Draw(rt, "ask") == 0 {
				require.Equal(rt, lives(&fates, log[:i+1]),
					logtest.Positions(ordered(session.Live(log[:i+1]))), "asked at %d", e.Seq)
			}
		}
		live := session.Live(log)
		require.Equal(rt, logtest.Positions(ordered(live)), lives(&fates, log))
		for _, e := range log {
			fate := fates.Of(e)
			require.Equal(rt, !slices.Contains(survivors[len(log)], e.Seq), fate.Void != 0,
				"whether %d is void", e.Seq)
			switch {
			case fate.Void != 0:
				by := log[fate.Void-1]
				require.Zero(rt, fates.Of(by), "the rewind that voids %d is in force", e.Seq)
				require.True(rt, by.Actions.Rewind.To < e.Seq && e.Seq < by.Seq)
			case fate.Behind != 0:
				require.Contains(rt, logtest.Positions(session.Live(log[:fate.Behind-1])), e.Seq,
					"the input of the compaction at %d", fate.Behind)
				require.NotContains(rt, logtest.Positions(session.Live(log[:fate.Behind])), e.Seq)
				at := fate
				for at.Behind != 0 {
					at = fates.Of(log[at.Behind-1])
				}
				require.True(rt, at.Live, "%d leads to the head of the view", e.Seq)
			}
			require.Equal(rt, e.Actions.Rewind != nil && fate.Void == 0,
				fate == session.EventStatus{}, "the fate of %d", e.Seq)
		}
	})
}

func lives(fates *session.EventStatuses, log []*session.Event) []int64 {
	return logtest.Positions(slices.DeleteFunc(slices.Clone(log),
		func(e *session.Event) bool { return !fates.Of(e).Live }))
}

// ordered returns events by position: the live view has the compaction first.
func ordered(events []*session.Event) []*session.Event {
	return slices.SortedFunc(slices.Values(events),
		func(a, b *session.Event) int { return int(a.Seq - b.Seq) })
}
