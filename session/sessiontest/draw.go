package sessiontest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
)

// event draws an event to follow the log.
func (m *machine) event(rt *rapid.T, log []*session.Event) *session.Event {
	m.n++
	id := fmt.Sprint("e", m.n)
	callID := rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "call id")
	switch rapid.IntRange(0, 11).Draw(rt, "kind") {
	case 0, 1, 2:
		e := say(id)
		e.Actions.StateDelta = genState.Draw(rt, "delta")
		return e
	case 3:
		return add(id, rapid.SampledFrom([]string{"app:a", "app:b", "user:u", "user:v"}).Draw(rt, "key"), float64(rapid.IntRange(-3, 3).Draw(rt, "by")))
	case 4:
		return call(id, callID)
	case 5, 6:
		return answer(id, callID)
	case 7:
		e := say(id)
		e.Partial = true
		return e
	case 8, 9:
		return rewind(id, rapid.Int64Range(-1, int64(len(log))+1).Draw(rt, "to"))
	default:
		return m.compaction(rt, id, log)
	}
}

// compaction draws a compaction, most often one that is valid.
func (m *machine) compaction(rt *rapid.T, id string, log []*session.Event) *session.Event {
	through := rapid.Int64Range(-1, int64(len(log))+1).Draw(rt, "through")
	live := session.Live(log)
	keep := map[int64]bool{}
	for _, e := range live {
		if e.Seq <= through && !e.Marker() && rapid.IntRange(0, 3).Draw(rt, "keep") == 0 {
			keep[e.Seq] = true
		}
	}
	e := compact(id, through, lastMarker(log))
	sorted := func() []int64 { return slices.Sorted(maps.Keys(keep)) }
	e.Actions.Compaction.Keep = sorted()
	switch rapid.IntRange(0, 9).Draw(rt, "flaw") {
	case 0:
		e.Actions.Compaction.Frontier = rapid.Int64Range(0, int64(len(log))).Draw(rt, "frontier")
	case 1:
		e.Actions.Compaction.Keep = append(sorted(), rapid.Int64Range(0, int64(len(log))).Draw(rt, "keep too"))
	case 2: // perhaps a call without its response
	default:
		for range live { // keep what must be kept together
			covered := covers(live, e.Actions.Compaction)
			for _, p := range pairs(live) {
				if p[1] == 0 && covered[p[0]] || p[1] != 0 && covered[p[0]] != covered[p[1]] {
					for _, seq := range p {
						keep[seq] = keep[seq] || covered[seq]
					}
				}
			}
			maps.DeleteFunc(keep, func(_ int64, kept bool) bool { return !kept })
			e.Actions.Compaction.Keep = sorted()
		}
	}
	return e
}
