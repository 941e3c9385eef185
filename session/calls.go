package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	// Interim are the responses so far after which the call is still open, in order.
	Interim []Interim
	// Deferred is the event that says that the call is answered later, nil if none does: the first that lists it
	// in LongRunningToolIDs, the call's own or one after it, while the call was open.
	Deferred *Event
	// Held is the event, not the user's, that asks a human about the call (RequestedToolConfirmations),
	// the latest if there are several; Decision the user's event that says no, or the last yes that was needed, nil
	// until there is one.
	Held, Decision *Event
	// Decisions are the user's events that have answered a question about the call, in order.
	Decisions []*Event

	asks      []*Event   // every event that has asked about the call
	questions []question // of the last time that the call was held
	said      *Event     // the user's last event before the call
}

// An Interim is a response that tells how far a call is, and that another response comes.
type Interim struct {
	Event  *Event
	Result *genai.FunctionResponse
}

// Latest returns the response that a model is shown, and the event that has it: the response, or the last interim one while
// the call is open. They are nil if there is neither.
func (c *Call) Latest() (*Event, *genai.FunctionResponse) {
	if c.Response == nil && len(c.Interim) > 0 {
		last := c.Interim[len(c.Interim)-1]
		return last.Event, last.Result
	}
	return c.Response, c.Result
}

// Events returns the events that are about the call: its own, those of its other fields, and every question about it. A
// live view that has them all has the same questions open. An event may be there twice.
func (c *Call) Events() []*Event {
	list := slices.Concat([]*Event{c.Event, c.Response, c.Deferred}, c.asks, c.Decisions)
	for _, i := range c.Interim {
		list = append(list, i.Event)
	}
	return slices.DeleteFunc(list, func(e *Event) bool { return e == nil })
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
	held := c.Held != nil && c.Decision == nil
	return c.Response == nil && (held || c.Deferred != nil || c.Held == nil && len(c.Interim) > 0)
}

// Calls returns the function calls of a log or live view in order, each with what became of it. This is the rule:
//
//   - A call is an agent's or a plugin's: a user makes none, and says of none that it is answered later.
//   - A call is open until an event responds to it. Only the first response counts that is not interim.
//   - An agent's response is interim if its event lists the call in LongRunningToolIDs, holds it, or asks a human to log in
//     for it (requestedAuthConfigs, as other kits do). So is a response to a call that its own event lists, in the
//     invocation that has made the call and before the user says more; an error is not.
//   - An event that responds, defers, asks or decides names a call by its id, or by its name if it has no id.
//   - Ids repeat in real logs. The event is about the latest open call before it with that id: in the event's own
//     branch, or else in any branch. What a user says outside of branches is about the latest in any branch.
//   - A decision is about the latest of these calls that is held and not decided. A later question about the same
//     call asks for another decision.
//   - A question says whose yes it needs (Confirmation.Ask): of each role, of as many people as it names. Each author's
//     questions count. A no of one of them is enough.
func Calls(events []*Event) []Call {
	var open CallTracker
	var all []*Call
	for _, e := range events {
		made, _ := open.Add(e)
		all = append(all, made...)
	}
	var calls []Call
	for _, c := range all {
		calls = append(calls, *c)
	}
	return calls
}

// CallTracker joins function calls with what becomes of them as Calls does, one event at a time. It holds the calls that
// are open, and no others. The zero CallTracker is that of an empty log.
type CallTracker struct {
	of   map[openKey][]*Call
	said *Event // the user's last event
}

// Add takes in the log's next event. It returns the calls that the event makes, and those that it answers: they are open
// no longer and do not change any more. A call that is open changes with each event that is about it.
func (o *CallTracker) Add(e *Event) (made, answered []*Call) {
	any := func(*Call) bool { return true }
	if e.Author == User {
		o.said = e
	}
	for _, p := range e.Parts() {
		switch {
		case e.Makes(p):
			c := &Call{FunctionCall: p.FunctionCall, Event: e, said: o.said}
			k := callKey(c.ID, c.Name)
			if o.of == nil {
				o.of = map[openKey][]*Call{}
			}
			o.of[k] = append(o.of[k], c)
			made = append(made, c)
		case p.FunctionResponse != nil:
			k := callKey(p.FunctionResponse.ID, p.FunctionResponse.Name)
			c := o.find(k, e, any)
			switch {
			case c == nil:
			case o.interim(c, e, p.FunctionResponse):
				c.Interim = append(slices.Clip(c.Interim), Interim{Event: e, Result: p.FunctionResponse})
			default:
				c.Response = e
				c.Result = p.FunctionResponse
				o.close(k, c)
				answered = append(answered, c)
			}
		}
	}
	for _, id := range e.LongRunningToolIDs {
		if c := o.find(callKey(id, ""), e, any); c != nil && id != "" && e.Author != User {
			c.Deferred = cmp.Or(c.Deferred, e)
		}
	}
	for id, asked := range e.Actions.RequestedToolConfirmations {
		k := callKey(id, "")
		if e.Author != User {
			if c := o.find(k, e, any); c != nil {
				c.ask(e, asked)
			}
			continue
		}
		held := func(c *Call) bool { return c.Held != nil && c.Decision == nil }
		if c := o.find(k, e, held); c != nil {
			c.decide(e, asked)
		}
	}
	return made, answered
}

// interim reports whether a response to an open call leaves the call open.
func (o *CallTracker) interim(c *Call, e *Event, r *genai.FunctionResponse) bool {
	if !e.FromAgent() || c.ID == "" {
		return false
	}
	_, holds := e.Actions.RequestedToolConfirmations[c.ID]
	if holds || slices.Contains(e.LongRunningToolIDs, c.ID) || asksToLogIn(e, c.ID) {
		return true
	}
	failed := r.Response["error"] != nil
	return !failed && slices.Contains(c.Event.LongRunningToolIDs, c.ID) && e.InvocationID == c.Event.InvocationID &&
		c.said == o.said
}

// asksToLogIn reports whether an event of another kit asks a human to log in for a call.
func asksToLogIn(e *Event, call string) bool {
	var logins map[string]jsontext.Value
	data := e.Actions.Extra["requestedAuthConfigs"]
	return data != nil && json.Unmarshal(data, &logins) == nil && logins[call] != nil
}

// find returns which of the open calls with that key an event is about, nil if it is about none.
func (o *CallTracker) find(k openKey, e *Event, fits func(*Call) bool) (found *Call) {
	outside := e.Author == User && e.Branch == ""
	for _, c := range o.of[k] {
		if !fits(c) {
			continue
		}
		if outside || found == nil || c.Event.Branch == e.Branch || found.Event.Branch != e.Branch {
			found = c
		}
	}
	return found
}

// close takes a call out of those that are open.
func (o *CallTracker) close(k openKey, closed *Call) {
	o.of[k] = slices.DeleteFunc(o.of[k], func(c *Call) bool { return c == closed })
	if len(o.of[k]) == 0 {
		delete(o.of, k)
	}
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
// one, is runner.ErrNotWaiting.
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
