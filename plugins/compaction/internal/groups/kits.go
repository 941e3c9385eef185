package groups

import (
	"encoding/json"

	"github.com/plughook/plughook/session"
)

// Another kit of the Agent Development Kit's family answers a call at once, although the real answer comes
// later: the response says that a human has to confirm the call (requestedToolConfirmations) or to log in
// (requestedAuthConfigs), or that a long-running tool has begun. The answer that counts is another response
// to the same call. The kit asks the human with a call of its own, whose arguments name the first one.

// kitCalls returns, for each call that has a response, the later events about it: more responses to it, and
// the kit's own calls that ask a human about it. open says that the last response is not the one that counts.
func kitCalls(events []*session.Event, calls []session.Call) []kitCall {
	list := make([]kitCall, len(calls))
	latest := map[string]int{} // by id, the index of the latest call that has an answer
	next := 0                  // of the calls
	for _, e := range events {
		// A later call with the same id is another one.
		for next < len(calls) && calls[next].Event == e {
			c := calls[next]
			delete(latest, c.ID)
			if c.ID != "" && c.Response != nil {
				latest[c.ID] = next
			}
			asked := askedAbout(c)
			if i, ok := latest[asked]; ok && asked != "" && asked != c.ID {
				list[i].related = append(list[i].related, e)
			}
			next++
		}
		for _, r := range e.FunctionResponses() {
			i, ok := latest[r.ID]
			if !ok || e.Seq < calls[i].Response.Seq {
				continue
			}
			list[i].open = preliminary(calls[i], e)
			if e != calls[i].Response {
				list[i].related = append(list[i].related, e)
			}
		}
	}
	return list
}

// A kitCall is what another kit has said of a call.
type kitCall struct {
	related []*session.Event
	open    bool
}

// askedAbout returns the id of the call that a kit's own call asks a human about, "" if it is no such call.
func askedAbout(c session.Call) string {
	switch c.Name {
	case "adk_request_confirmation":
		original, _ := c.Args["originalFunctionCall"].(map[string]any)
		id, _ := original["id"].(string)
		return id
	case "adk_request_credential":
		id, _ := c.Args["functionCallId"].(string)
		return id
	}
	return ""
}

// preliminary reports whether the response to a call in an event is not the one that counts.
func preliminary(c session.Call, e *session.Event) bool {
	if !e.FromAgent() {
		return false
	}
	if _, asks := e.Actions.RequestedToolConfirmations[c.ID]; asks {
		return true
	}
	var logins map[string]json.RawMessage
	if json.Unmarshal(e.Actions.Extra["requestedAuthConfigs"], &logins) == nil && logins[c.ID] != nil {
		return true
	}
	return c.Deferred != nil && e.InvocationID == c.Event.InvocationID
}
