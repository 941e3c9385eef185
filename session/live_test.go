package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Live(log + rewind to n) == Live(log[:n]), and State likewise, for every n.
func TestLawOfRewind(t *testing.T) {
	initial := map[string]any{"k": "initial", "o": "initial", "app:a": 1, "none": nil}
	rapid.Check(t, func(rt *rapid.T) {
		log := logtest.Draw(rt, 30)
		for n := range len(log) + 1 {
			back := &session.Event{
				Seq:     int64(len(log)) + 1,
				Actions: session.Actions{Rewind: &session.Rewind{To: int64(n)}},
			}
			longer := append(slices.Clone(log), back)
			require.Equal(rt, logtest.Positions(session.Live(log[:n])),
				logtest.Positions(session.Live(longer)), "live view after a rewind to %d", n)
			require.Equal(rt, session.State(initial, log[:n]), session.State(initial, longer),
				"state after a rewind to %d", n)
		}
	})
}

// Every event that no rewind voided is in the live view, or stands behind its one compaction, whose
// input contained it; nothing that was voided does.
func TestLawOfCompaction(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := logtest.Draw(rt, 40)
		behind := map[int64]map[int64]bool{} // by a compaction's position
		survivors := [][]int64{{}}           // after each position, by the definition of a rewind
		for i, e := range log {
			switch {
			case e.Actions.Rewind != nil:
				survivors = append(survivors, survivors[e.Actions.Rewind.To])
				continue
			case e.Actions.Compaction != nil:
				c, input := e.Actions.Compaction, session.Live(log[:i])
				covered := map[int64]bool{}
				for _, in := range input {
					if in.Actions.Compaction != nil {
						for seq := range behind[in.Seq] {
							covered[seq] = true
						}
					} else if in.Seq <= c.Through && !slices.Contains(c.Keep, in.Seq) {
						covered[in.Seq] = true
					}
				}
				behind[e.Seq] = covered
				survivors = append(survivors, survivors[i])
			default:
				survivors = append(survivors, append(slices.Clone(survivors[i]), e.Seq))
			}
		}
		live := session.Live(log)
		seen := map[int64]int{}
		for i, e := range live {
			require.True(rt, e.Actions.Compaction == nil || i == 0, "compaction at index %d", i)
			require.Nil(rt, e.Actions.Rewind)
			if e.Actions.Compaction == nil {
				seen[e.Seq]++
			}
			for seq := range behind[e.Seq] {
				seen[seq]++
			}
		}
		want := map[int64]int{}
		for _, seq := range survivors[len(log)] {
			want[seq] = 1
		}
		require.Equal(rt, want, seen, "how often each event is in the live view, or behind it")
	})
}

// A compaction changes nothing about the calls that it leaves in the view: what answers them, or that
// they are open.
func TestCompactionKeepsCalls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := logtest.Draw(rt, 40)
		describe := func(view []*session.Event, left map[int64]bool) []string {
			list := []string{}
			for _, c := range session.Calls(view) {
				if left[c.Event.Seq] {
					at := int64(0)
					if c.Response != nil {
						at = c.Response.Seq
					}
					list = append(list, fmt.Sprint(c.ID, " ", c.Event.Seq, ">", at))
				}
			}
			slices.Sort(list) // kept ones come before the tail in both, but for the head
			return list
		}
		for i, e := range log {
			if e.Actions.Compaction == nil {
				continue
			}
			after := session.Live(log[:i+1])
			left := map[int64]bool{}
			for _, e := range after {
				left[e.Seq] = true
			}
			require.Equal(rt, describe(session.Live(log[:i]), left), describe(after, left),
				"calls after the compaction at %d", e.Seq)
		}
	})
}

// Spans, kept from event to event, are those of Live, whatever the log; through their JSON too.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := logtest.Draw(rt, 40)
		var spans store.Spans
		at := []store.Spans{{}} // at the last compaction or rewind at or before each position
		for i, e := range log {
			switch {
			case e.Actions.Rewind != nil:
				spans = at[e.Actions.Rewind.To].Rewind(e.Seq, e.Actions.Rewind.To)
			case e.Actions.Compaction != nil:
				spans = spans.Compact(e.Seq, e.Actions.Compaction)
			}
			data, err := json.Marshal(spans)
			require.NoError(rt, err)
			spans = store.Spans{}
			require.NoError(rt, json.Unmarshal(data, &spans))
			at = append(at, spans)

			got, last := []int64{}, int64(-1)
			for _, r := range spans.Ranges(e.Seq) {
				require.True(rt, r[0] <= r[1] && r[0] != last+1, "ranges %v", spans.Ranges(e.Seq))
				for last = r[0]; last <= r[1]; last++ {
					got = append(got, last)
				}
				last = r[1]
			}
			require.Equal(rt, logtest.Positions(session.Live(log[:i+1])), got,
				"spans %+v after position %d", spans, e.Seq)
		}
	})
}

func TestSpansOfAnEmptyLog(t *testing.T) {
	require.Empty(t, store.Spans{}.Ranges(0))
	require.Equal(t, [][2]int64{{1, 3}}, store.Spans{}.Ranges(3))
	require.Empty(t, store.Spans{}.Rewind(1, 0).Ranges(1))
	require.Equal(t, [][2]int64{{2, 2}}, store.Spans{}.Rewind(1, 0).Ranges(2))
}

// Another kit's compaction over a range of time has no Through and changes nothing.
func TestLiveInertCompaction(t *testing.T) {
	log := []*session.Event{
		{Seq: 1},
		{Seq: 2, Actions: session.Actions{Compaction: &session.Compaction{}}},
		{Seq: 3},
	}
	require.Equal(t, []int64{1, 2, 3}, logtest.Positions(session.Live(log)))
	require.False(t, log[1].Marker())
	require.Empty(t, session.Live(nil))
}

func TestState(t *testing.T) {
	set := func(seq int64, delta map[string]any) *session.Event {
		return &session.Event{Seq: seq, Actions: session.Actions{StateDelta: delta}}
	}
	initial := map[string]any{"k": 1, "app:a": 1, "user:u": 1, "temp:t": 1, "nil": nil}
	require.Equal(t, map[string]any{"k": 1}, session.State(initial, nil))
	log := []*session.Event{
		set(1, map[string]any{"k": 2, "app:a": 2, "temp:t": 2}),
		set(2, map[string]any{"k": nil, "l": 3}),
	}
	got := session.State(initial, log)
	require.Equal(t, map[string]any{"l": 3}, got)
	got["l"] = "changed"
	require.Equal(t, map[string]any{"l": 3}, session.State(initial, log))
	require.Equal(t, map[string]any{}, session.State(nil, nil))
	require.Equal(t, map[string]any{"k": 1, "app:a": 1, "user:u": 1, "temp:t": 1, "nil": nil},
		initial)
}
