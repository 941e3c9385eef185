package session

import "google.golang.org/genai"

// A Call is a function call in a log, with what answers it.
type Call struct {
	*genai.FunctionCall
	// Event has the call.
	Event *Event
	// Answer has the response, nil while the call is open.
	Answer *Event
	// LongRunning says that the event lists the call among those answered later.
	LongRunning bool
}

// Calls returns the function calls of a log or live view in order. A response answers the latest open
// call before it with its id (with its name, if neither has an id): ids repeat in real logs.
func Calls(events []*Event) []Call {
	var calls []Call
	open := map[string][]int{}
	for _, e := range events {
		if e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.FunctionCall != nil:
				k := callKey(p.FunctionCall.ID, p.FunctionCall.Name)
				open[k] = append(open[k], len(calls))
				c := Call{FunctionCall: p.FunctionCall, Event: e}
				for _, id := range e.LongRunningToolIDs {
					c.LongRunning = c.LongRunning || id != "" && id == c.ID
				}
				calls = append(calls, c)
			case p.FunctionResponse != nil:
				k := callKey(p.FunctionResponse.ID, p.FunctionResponse.Name)
				if n := len(open[k]); n > 0 {
					calls[open[k][n-1]].Answer = e
					open[k] = open[k][:n-1]
				}
			}
		}
	}
	return calls
}

func callKey(id, name string) string {
	if id != "" {
		return "id " + id
	}
	return "name " + name
}
