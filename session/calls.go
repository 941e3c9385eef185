package session

import (
	"cmp"
	"strings"

	"google.golang.org/genai"
)

// A Call is a function call in a log, with what became of it.
type Call struct {
	*genai.FunctionCall
	// Event has the call.
	Event *Event
	// Response has the response, nil while the call is open; Result is the response itself.
	Response *Event
	Result   *genai.FunctionResponse
	// Deferred is the event that says that the call is answered later, nil if none does: the first that lists it
	// in LongRunningToolIDs, the call's own or one after it, while the call was open.
	Deferred *Event
	// Held is the event, not the user's, that asks a human about the call (RequestedToolConfirmations),
	// the latest if there are several; Decision the user's event that answers it, nil until there is one.
	Held, Decision *Event
}

// Conversation reports whether a branch is that of the conversation in which an agent answers the call, or
// below it: in the call's own branch an element "agent@id".
func (c *Call) Conversation(branch string) bool {
	caller := c.Event.Branch
	if caller != "" {
		caller += "."
	}
	below, ok := strings.CutPrefix(branch, caller)
	if !ok || c.ID == "" {
		return false
	}
	name, rest, ok := strings.Cut(below, "@")
	return ok && !strings.Contains(name, ".") && (rest == c.ID || strings.HasPrefix(rest, c.ID+"."))
}

// Approved reports whether a human was asked about the call and confirmed it.
func (c *Call) Approved() bool {
	return c.Decision != nil && c.Decision.Actions.RequestedToolConfirmations[c.ID].Confirmed
}

// Waits reports whether the call is open until a human, or what it has started, answers.
func (c *Call) Waits() bool {
	return c.Response == nil && (c.Held != nil && c.Decision == nil || c.Deferred != nil)
}

// Calls returns the function calls of a log or live view in order. A response, a question or a decision
// is about the latest open call before it with its id (its name, if it has no id): one in its own branch,
// or else in any, for ids repeat in real logs. People answer outside of branches: what a user says is about
// the latest in any branch, and a decision about one that is held.
func Calls(events []*Event) []Call {
	var f callFold
	for _, e := range events {
		f.add(e)
	}
	return f.calls
}

// callFold is what Calls knows of the events so far.
type callFold struct {
	calls []Call
	open  map[openKey][]int // the indexes of the calls without a response
}

// find returns which of the open calls with that key an event is about: the index in their list.
func (f *callFold) find(k openKey, e *Event, fits func(*Call) bool) (at int, ok bool) {
	at = -1
	list := f.open[k]
	outside := e.Author == User && e.Branch == ""
	for i, n := range list {
		if !fits(&f.calls[n]) {
			continue
		}
		if outside || at < 0 || f.calls[n].Event.Branch == e.Branch || f.calls[list[at]].Event.Branch != e.Branch {
			at = i
		}
	}
	return at, at >= 0
}

// add takes in the next event. It returns the indexes of the calls that the event makes, and of those that it answers.
func (f *callFold) add(e *Event) (made, answered []int) {
	any := func(*Call) bool { return true }
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.FunctionCall != nil:
				k := callKey(p.FunctionCall.ID, p.FunctionCall.Name)
				if f.open == nil {
					f.open = map[openKey][]int{}
				}
				f.open[k] = append(f.open[k], len(f.calls))
				made = append(made, len(f.calls))
				f.calls = append(f.calls, Call{FunctionCall: p.FunctionCall, Event: e})
			case p.FunctionResponse != nil:
				k := callKey(p.FunctionResponse.ID, p.FunctionResponse.Name)
				if i, ok := f.find(k, e, any); ok {
					n := f.open[k][i]
					f.calls[n].Response = e
					f.calls[n].Result = p.FunctionResponse
					f.open[k] = append(f.open[k][:i:i], f.open[k][i+1:]...)
					answered = append(answered, n)
				}
			}
		}
	}
	for _, id := range e.LongRunningToolIDs {
		if i, ok := f.find(callKey(id, ""), e, any); ok && id != "" {
			c := &f.calls[f.open[callKey(id, "")][i]]
			c.Deferred = cmp.Or(c.Deferred, e)
		}
	}
	for id := range e.Actions.RequestedToolConfirmations {
		k := callKey(id, "")
		if e.Author != User {
			if i, ok := f.find(k, e, any); ok {
				c := &f.calls[f.open[k][i]]
				c.Held = e
				c.Decision = nil
			}
		} else if i, ok := f.find(k, e, func(c *Call) bool { return c.Held != nil && c.Decision == nil }); ok {
			f.calls[f.open[k][i]].Decision = e
		}
	}
	return made, answered
}

// openKey is what a call is found by: its id, or its name if it has none.
type openKey struct{ id, name string }

func callKey(id, name string) openKey {
	if id != "" {
		return openKey{id: id}
	}
	return openKey{name: name}
}

// Decision returns an input with a human's yes or no to calls, by their ids. A run with it alone, of which no call waits for
// one, is runner.ErrDecision.
func Decision(yes bool, calls ...string) *Event {
	e := &Event{Author: User, Actions: Actions{RequestedToolConfirmations: map[string]Confirmation{}}}
	for _, id := range calls {
		e.Actions.RequestedToolConfirmations[id] = Confirmation{Confirmed: yes}
	}
	return e
}

// Respond returns an event with the response to a call, to be yielded by an agent or emitted by a
// plugin: {"error": …} says that the call failed.
func Respond(call *genai.FunctionCall, response map[string]any) *Event {
	r := &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: response}
	return &Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: r}}}}
}
