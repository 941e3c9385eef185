package sessiontest

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// seqs returns the events' positions.
func seqs(events []*session.Event) []int64 {
	var list []int64
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

func clones(events []*session.Event) []*session.Event {
	var list []*session.Event
	for _, e := range events {
		if e != nil {
			e = e.Clone()
		}
		list = append(list, e)
	}
	return list
}

// say returns an event with an id and the id as its text.
func say(id string) *session.Event {
	e := session.Message(id)
	e.ID = id
	return e
}

// says returns n events m1, m2, … .
func says(n int) []*session.Event {
	var list []*session.Event
	for i := range n {
		list = append(list, say(fmt.Sprintf("m%d", i+1)))
	}
	return list
}

// delta returns an event that sets one state key.
func delta(id, key string, value any) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{StateDelta: map[string]any{key: value}}}
}

func add(id, key string, by float64) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{StateIncrement: map[string]float64{key: by}}}
}

func rewind(id string, to int64) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{Rewind: &session.Rewind{To: to}}}
}

func compact(id string, through, frontier int64, keep ...int64) *session.Event {
	return &session.Event{ID: id, Actions: session.Actions{Compaction: &session.Compaction{
		Through: through, Frontier: frontier, Keep: keep, Content: genai.NewContentFromText("summary "+id, genai.RoleModel)}}}
}

func call(id, callID string) *session.Event { return calls(id, callID) }

// calls returns an event with several calls, made at once.
func calls(id string, callIDs ...string) *session.Event {
	e := &session.Event{ID: id, Author: "agent", Content: &genai.Content{Role: genai.RoleModel}}
	for _, c := range callIDs {
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: c, Name: "f"}})
	}
	return e
}

func answer(id, callID string) *session.Event { return answers(id, callID) }

// answers returns an event with responses to several calls.
func answers(id string, callIDs ...string) *session.Event {
	e := &session.Event{ID: id, Author: "agent", Content: &genai.Content{Role: genai.RoleUser}}
	for _, c := range callIDs {
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c, Name: "f"}})
	}
	return e
}
