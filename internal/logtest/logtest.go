// Package logtest draws random logs for the tests of package session and of those below it.
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
	live := session.Live(log)
	seq := int64(len(log)) + 1
	c := &session.Compaction{Through: rapid.Int64Range(0, seq-1).Draw(rt, "through"), Content: genai.NewContentFromText("summary", genai.RoleModel)}
	for _, e := range slices.Backward(log) {
		if e.Marker() {
			c.Frontier = e.Seq
			break
		}
	}
	keep := map[int64]bool{}
	for _, e := range live {
		if e.Seq <= c.Through && !e.Marker() && rapid.IntRange(0, 2).Draw(rt, "keep") == 0 {
			keep[e.Seq] = true
		}
	}
	KeepTogether(live, c.Through, keep)
	c.Keep = slices.Sorted(maps.Keys(keep))
	e := &session.Event{Seq: seq, Actions: session.Actions{Compaction: c}}
	if c.Through == 0 || store.CheckCompaction(live, c.Frontier, seq, e) != nil {
		return nil
	}
	return e
}

// KeepTogether adds to what a compaction of a live view through a position keeps: what is of an open call, and the
// rest of an answered call of which it keeps, or does not reach, a part.
func KeepTogether(live []*session.Event, through int64, keep map[int64]bool) {
	stays := func(e *session.Event) bool { return e != nil && (e.Seq > through || keep[e.Seq]) }
	for range live { // what is kept for one call may be a part of another
		for _, call := range session.Calls(live) {
			parts := []*session.Event{call.Event, call.Response}
			if call.Response == nil {
				parts = []*session.Event{call.Event, call.Deferred, call.Held, call.Decision}
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
