// Package logtest draws random logs, for the tests of package session and of the stores.
//
// A new kind of event: a case of Event. If it may stand in any log, also of drawEvent.
package logtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Draw draws a log that a store would take: messages, state, calls with and without responses,
// compactions with what they keep, rewinds, and rewinds of those.
func Draw(rt *rapid.T, most int) []*session.Event {
	var log []*session.Event
	for range rapid.IntRange(0, most).Draw(rt, "length") {
		seq := int64(len(log)) + 1
		e := drawEvent(rt, log)
		e.ID, e.Seq = fmt.Sprint("e", seq), seq
		log = append(log, e)
	}
	return log
}

func drawEvent(rt *rapid.T, log []*session.Event) *session.Event {
	callID := rapid.SampledFrom([]string{"", "1", "2"}).Draw(rt, "call id")
	switch rapid.IntRange(0, 9).Draw(rt, "kind") {
	case 0, 1:
		return drawBranch(rt, Call(callID))
	case 2, 3:
		return drawBranch(rt, Answer(callID))
	case 4:
		return &session.Event{Actions: session.Actions{Rewind: &session.Rewind{To: rapid.Int64Range(0, int64(len(log))).Draw(rt, "to")}}}
	case 5, 6:
		if e := drawCompaction(rt, log); e != nil {
			return e
		}
	}
	e := session.Message("hello")
	e.Actions.StateDelta = rapid.MapOfN(rapid.SampledFrom([]string{"k", "l", "m", "app:a", "user:u"}),
		rapid.SampledFrom([]any{nil, 1.0, 2.0, "x"}), 0, 2).Draw(rt, "delta")
	return e
}

func drawBranch(rt *rapid.T, e *session.Event) *session.Event {
	e.Branch = rapid.SampledFrom([]string{"", "", "a", "a.b"}).Draw(rt, "branch")
	return e
}

// drawCompaction draws a compaction that may follow the log, nil if none comes to mind.
func drawCompaction(rt *rapid.T, log []*session.Event) *session.Event {
	e := AnyCompaction(rt, log)
	if !e.Marker() || store.CheckCompaction(session.Live(log), Frontier(log), int64(len(log))+1, e) != nil {
		return nil
	}
	return e
}

// KeepTogether adds to what a compaction of a live view through a position keeps: what is of an open call,
// and the rest of an answered call of which it keeps, or does not reach, a part.
func KeepTogether(live []*session.Event, through int64, keep map[int64]bool) {
	stays := func(e *session.Event) bool { return e != nil && (e.Seq > through || keep[e.Seq]) }
	for range live { // what is kept for one call may be a part of another
		for _, call := range session.Calls(live) {
			parts := []*session.Event{call.Event, call.Response}
			if call.Response == nil {
				parts = call.Events()
				for _, e := range live {
					if call.Conversation(e.Branch) {
						parts = append(parts, e)
					}
				}
			}
			if call.Response != nil && !slices.ContainsFunc(parts, stays) {
				continue
			}
			for _, e := range parts {
				if e != nil && e.Seq <= through {
					keep[e.Seq] = true
				}
			}
		}
	}
}

// Event draws an event to follow a log: calls and responses in branches, what says that calls are answered
// later, questions about them, decisions, rewinds and compactions. Most often it may follow the log.
func Event(rt *rapid.T, log []*session.Event) *session.Event {
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 3, rapid.ID[string]).Draw(rt, "ids")
	last := int64(len(log))
	e := &session.Event{Author: "agent"}
	switch rapid.IntRange(0, 13).Draw(rt, "kind") {
	case 0, 1:
		e = Call(ids...)
		if rapid.Bool().Draw(rt, "later") {
			e.LongRunningToolIDs = ids[:1]
		}
	case 2, 3:
		e = Answer(ids...)
		if rapid.Bool().Draw(rt, "interim") {
			e.LongRunningToolIDs = ids[:1]
		}
	case 4:
		e.LongRunningToolIDs = ids
	case 5:
		e.Actions = session.Decision(false, ids...).Actions
	case 6:
		e.Author = session.User
		e.Actions = session.Decision(rapid.Bool().Draw(rt, "yes"), ids...).Actions
	case 7:
		e.Content = genai.NewContentFromText("hello", genai.RoleModel)
	case 8, 9:
		return &session.Event{Actions: session.Actions{
			Rewind: &session.Rewind{To: rapid.Int64Range(-1, last+1).Draw(rt, "to")},
		}}
	default:
		return AnyCompaction(rt, log)
	}
	e.Branch = rapid.SampledFrom([]string{"", "", "a", "b", "f@1", "f@2.c", "a.f@2"}).Draw(rt, "branch")
	return e
}

// AnyCompaction draws a compaction to follow a log: most often one that may.
func AnyCompaction(rt *rapid.T, log []*session.Event) *session.Event {
	through := rapid.Int64Range(-1, int64(len(log))+1).Draw(rt, "through")
	live := session.Live(log)
	keep := map[int64]bool{}
	for _, e := range live {
		if e.Seq <= through && !e.Marker() && rapid.IntRange(0, 3).Draw(rt, "keep") == 0 {
			keep[e.Seq] = true
		}
	}
	flaw := rapid.IntRange(0, 11).Draw(rt, "flaw")
	if flaw != 0 { // else it has perhaps a call without its response
		KeepTogether(live, through, keep)
	}
	c := &session.Compaction{
		Through:  through,
		Keep:     slices.Sorted(maps.Keys(keep)),
		Frontier: Frontier(log),
		Content:  genai.NewContentFromText("summary", genai.RoleModel),
	}
	if rapid.Bool().Draw(rt, "of branches") {
		c.Content.Parts = append(c.Content.Parts, &genai.Part{Text: "of a"})
		c.Branches = []string{"", "a"}
	}
	switch flaw {
	case 1:
		c.Frontier = rapid.Int64Range(0, int64(len(log))).Draw(rt, "frontier")
	case 2:
		c.Keep = append(c.Keep, rapid.Int64Range(0, int64(len(log))).Draw(rt, "keep too"))
	case 3, 4, 5: // perhaps something that must be kept
		if n := len(c.Keep); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(rt, "lost")
			c.Keep = slices.Delete(c.Keep, i, i+1)
		}
	}
	return &session.Event{Actions: session.Actions{Compaction: c}}
}

// Frontier returns the position of a log's last compaction or rewind, 0 if there is none.
func Frontier(log []*session.Event) int64 {
	for _, e := range slices.Backward(log) {
		if e.Marker() {
			return e.Seq
		}
	}
	return 0
}

// Call returns an agent's event with function calls of those ids.
func Call(ids ...string) *session.Event {
	e := &session.Event{Author: "agent", Content: &genai.Content{Role: genai.RoleModel}}
	for _, id := range ids {
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}})
	}
	return e
}

// Answer returns an agent's event with the responses to the calls of those ids.
func Answer(ids ...string) *session.Event {
	e := &session.Event{Author: "agent", Content: &genai.Content{Role: genai.RoleUser}}
	for _, id := range ids {
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "f"}})
	}
	return e
}

// Positions returns the events' positions.
func Positions(events []*session.Event) []int64 {
	list := []int64{}
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

// Kilobyte returns an event whose JSON has about 1 KB.
func Kilobyte() *session.Event {
	e := session.Reply(strings.Repeat("The lighthouse is 41 metres tall. ", 19))
	e.ID, e.InvocationID, e.Author = session.NewID(), session.NewID(), "keeper"
	e.Timestamp = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	e.FinishReason, e.ModelVersion = genai.FinishReasonStop, "lantern-2"
	e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 812, CandidatesTokenCount: 17, TotalTokenCount: 829}
	e.Actions.StateDelta = map[string]any{"last": "tower", "count": 3.0}
	return e
}

// Numbered gives the events the positions from 1.
func Numbered(events ...*session.Event) []*session.Event {
	for i, e := range events {
		e.Seq = int64(i) + 1
	}
	return events
}

// Compaction returns an event with a compaction.
func Compaction(through, frontier int64, keep ...int64) *session.Event {
	return &session.Event{Actions: session.Actions{Compaction: &session.Compaction{Through: through, Frontier: frontier, Keep: keep}}}
}
