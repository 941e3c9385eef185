package sessiontest

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
)

// event draws an event to follow the log.
func (m *machine) event(rt *rapid.T, log []*session.Event) *session.Event {
	m.n++
	id := fmt.Sprint("e", m.n)
	switch rapid.IntRange(0, 13).Draw(rt, "kind") {
	case 0, 1, 2:
		e := say(id)
		e.Actions.StateDelta = genState.Draw(rt, "delta")
		return e
	case 3:
		key := rapid.SampledFrom([]string{"app:a", "app:b", "user:u", "user:v"}).Draw(rt, "key")
		by := float64(rapid.IntRange(-3, 3).Draw(rt, "by"))
		if rapid.Bool().Draw(rt, "bounded") {
			return bounded(id, key, by, float64(rapid.IntRange(-2, 4).Draw(rt, "bound")))
		}
		return add(id, key, by)
	case 4:
		return m.branched(rt, calls(id, genCalls.Draw(rt, "calls")...))
	case 5, 6:
		return m.branched(rt, answers(id, genCalls.Draw(rt, "answers")...))
	case 10:
		return m.about(rt, id)
	case 11:
		e := say(id)
		e.Author = "agent"
		return m.branched(rt, e)
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

var genCalls = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 3, rapid.ID[string])

// branched draws a branch: some are of agents side by side, some of agents that were called as tools.
func (m *machine) branched(rt *rapid.T, e *session.Event) *session.Event {
	e.Branch = rapid.SampledFrom([]string{"", "", "a", "b", "f@1", "f@2.c", "a.f@2"}).Draw(rt, "branch")
	return e
}

// about draws what says that calls are answered later, asks a human about them, or is the human's answer.
func (m *machine) about(rt *rapid.T, id string) *session.Event {
	ids := genCalls.Draw(rt, "about")
	e := m.branched(rt, &session.Event{ID: id, Author: "agent"})
	switch rapid.IntRange(0, 3).Draw(rt, "says") {
	case 0:
		e.LongRunningToolIDs = ids
	case 1:
		e = calls(id, ids...)
		e.LongRunningToolIDs = ids[:1]
		return m.branched(rt, e)
	case 2:
		e.Actions = session.Decision(false, ids...).Actions
	case 3:
		e.Author, e.Actions = session.User, session.Decision(rapid.Bool().Draw(rt, "yes"), ids...).Actions
	}
	return e
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
	if rapid.Bool().Draw(rt, "of branches") {
		c := e.Actions.Compaction
		c.Content.Parts = append(c.Content.Parts, &genai.Part{Text: "of a"})
		c.Branches = []string{"", "a"}
	}
	flaw := rapid.IntRange(0, 9).Draw(rt, "flaw")
	for range live { // keep what must be kept together
		if flaw == 2 {
			break // perhaps a call without its response
		}
		covered := covers(live, e.Actions.Compaction)
		groups, closed := together(live)
		for i, group := range groups {
			if closed[i] && covered[group[0]] && covered[group[1]] {
				continue
			}
			for _, seq := range group {
				keep[seq] = keep[seq] || covered[seq]
			}
		}
		maps.DeleteFunc(keep, func(_ int64, kept bool) bool { return !kept })
		e.Actions.Compaction.Keep = sorted()
	}
	switch flaw {
	case 0:
		e.Actions.Compaction.Frontier = rapid.Int64Range(0, int64(len(log))).Draw(rt, "frontier")
	case 1:
		e.Actions.Compaction.Keep = append(sorted(), rapid.Int64Range(0, int64(len(log))).Draw(rt, "keep too"))
	case 3, 4: // perhaps something that must be kept
		if len(keep) > 0 {
			delete(keep, rapid.SampledFrom(sorted()).Draw(rt, "lost"))
			e.Actions.Compaction.Keep = sorted()
		}
	}
	return e
}
