package groups

import (
	"github.com/plughook/plughook/session"
)

// Another kit of the Agent Development Kit's family asks a human about a call with a call of its own, whose arguments
// name the first one, and may answer a call more than once.

// relatedTo returns, for each call that has a response, interim or not, what else is about it: responses after the one that
// counts, and the kit's own calls that ask a human about it.
func relatedTo(events []*session.Event, calls []session.Call) [][]*session.Event {
	related := make([][]*session.Event, len(calls))
	latest := map[string]int{} // by id, the index of the latest call that has a response
	next := 0                  // of the calls
	for _, e := range events {
		// A later call with the same id is another one.
		for next < len(calls) && calls[next].Event == e {
			c := calls[next]
			delete(latest, c.ID)
			if first, _ := c.Latest(); c.ID != "" && first != nil {
				latest[c.ID] = next
			}
			asked := askedAbout(c)
			if i, ok := latest[asked]; ok && asked != "" && asked != c.ID {
				related[i] = append(related[i], e)
			}
			next++
		}
		for _, r := range e.FunctionResponses() {
			i, ok := latest[r.ID]
			if ok && calls[i].Response != nil && e.Seq > calls[i].Response.Seq {
				related[i] = append(related[i], e)
			}
		}
	}
	return related
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
