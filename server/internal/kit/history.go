package kit

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// requestConfirmation is the name of the call with which the kit asks a human for a yes or no about another
// call.
const requestConfirmation = "adk_request_confirmation"

// A history writes the events of one session as the kit knows them, in their order. What the kit's pages need
// to ask a human is more than our events say, so a history keeps the calls that it has seen:
//
//   - An event that holds a call until somebody has said yes or no gets a call of its own, named
//     adk_request_confirmation, with the held call in its arguments.
//   - The user's yes or no becomes the response to that call.
//   - An event that says that a call is answered later gets that call once more: the pages look for the calls in
//     longRunningToolIds in the same event.
//
// Older pages show texts only. So an event without content that says that something failed gets its error
// message as text. The event with the output of a workflow that has ended gets the output as text, unless an
// agent in the workflow has just said the same.
type history struct {
	// log reads the session's events. It is nil for a history that has taken in all of them.
	log iter.Seq2[*session.Event, error]

	calls     session.CallTracker
	callsByID map[string][]*session.Call // the calls by their IDs, in the order of the log
	lastText  string                     // the last text that was not the user's
	times     []float64                  // the time of each event in seconds, at its position less 1; empty as long as log is not nil
}

// newHistory returns a history that begins with a session's first event, or, with a log, somewhere in it.
func newHistory(log iter.Seq2[*session.Event, error]) *history {
	return &history{log: log, callsByID: map[string][]*session.Call{}}
}

// add takes in an event. Partial events need not be added.
func (h *history) add(e *session.Event) {
	for h.log == nil && int64(len(h.times)) < e.Seq {
		h.times = append(h.times, seconds(e.Timestamp))
	}
	if e.Author != session.User && e.Text() != "" {
		h.lastText = e.Text()
	}
	added, _ := h.calls.Add(e)
	for _, c := range added {
		h.callsByID[c.ID] = append(h.callsByID[c.ID], c)
	}
}

// call returns the call with an ID that an event holds, decides or defers: otherwise the latest with the ID,
// nil if there is none.
func (h *history) call(id string, e *session.Event) *session.Call {
	calls := h.callsByID[id]
	if len(calls) == 0 {
		return nil
	}
	for _, c := range calls {
		for _, about := range []*session.Event{c.Held, c.Decision, c.Deferred} {
			if about != nil && about.Seq == e.Seq {
				return c
			}
		}
	}
	return calls[len(calls)-1]
}

// complete reads the session's earlier events, once, before an event is written that refers to them: an event
// that asks a human about a call, or a compaction, which the kit knows by the times of the events that it
// covers.
func (h *history) complete(e *session.Event) error {
	needs := len(e.LongRunningToolIDs) > 0 || len(e.Actions.RequestedToolConfirmations) > 0 ||
		e.Actions.Compaction != nil
	if h.log == nil || !needs || e.Partial {
		return nil
	}
	whole := newHistory(nil)
	for earlier, err := range h.log {
		if err != nil {
			return err
		}
		if earlier.Seq > e.Seq {
			break
		}
		whole.add(earlier)
	}
	*h = *whole
	return nil
}

// confirmationID returns the ID of the call that asks about another one. It says which event holds that, so
// that an answer on a page that is out of date is not taken for one to a later question.
func confirmationID(heldAt int64, call string) string {
	return "confirm-" + strconv.FormatInt(heldAt, 10) + "-" + call
}

// parseConfirmationID is the inverse of confirmationID.
func parseConfirmationID(id string) (heldAt int64, call string, ok bool) {
	rest, ok := strings.CutPrefix(id, "confirm-")
	position, call, dash := strings.Cut(rest, "-")
	heldAt, err := strconv.ParseInt(position, 10, 64)
	return heldAt, call, ok && dash && err == nil
}

// encode returns an event as the kit knows it, in JSON. The event was added, or is a partial one.
func (h *history) encode(e *session.Event) (jsontext.Value, error) {
	if err := h.complete(e); err != nil {
		return nil, err
	}
	wire, err := newWireEvent(e)
	if err != nil {
		return nil, err
	}
	wire.Actions.Compaction, err = h.compaction(e)
	if err != nil {
		return nil, err
	}

	// What the pages need to ask a human.
	if err := h.decide(e, wire); err != nil {
		return nil, err
	}
	if err := h.deferred(e, wire); err != nil {
		return nil, err
	}

	// Older pages show nothing but texts.
	text := &genai.Part{Text: web.TextOf(e)}
	if e.ErrorCode != "" {
		text.Text = cmp.Or(e.ErrorMessage, e.ErrorCode)
	}
	if wire.Content == nil && text.Text != "" && (e.ErrorCode != "" || text.Text != h.lastText) {
		if err := wire.say(genai.RoleModel, text); err != nil {
			return nil, err
		}
	}
	return encoded(wire)
}

// decide adds the calls by which an event asks for a yes or no, and the responses to them where the event is
// the user's.
func (h *history) decide(e *session.Event, wire *wireEvent) error {
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		confirmation := e.Actions.RequestedToolConfirmations[id]
		held := h.call(id, e)
		if held == nil { // the log does not have the call; another kit's log may be so
			held = &session.Call{FunctionCall: &genai.FunctionCall{}, Held: e}
		}
		if e.Author == session.User {
			response := map[string]any{"confirmed": confirmation.Confirmed}
			if confirmation.Payload != nil {
				response["payload"] = confirmation.Payload
			}
			heldAt := int64(0)
			if held.Held != nil {
				heldAt = held.Held.Seq
			}
			answer := &genai.FunctionResponse{
				ID:       confirmationID(heldAt, id),
				Name:     requestConfirmation,
				Response: response,
			}
			if err := wire.say(genai.RoleUser, &genai.Part{FunctionResponse: answer}); err != nil {
				return err
			}
			continue
		}
		question := wireConfirmation{Hint: confirmation.Hint, Payload: confirmation.Payload}
		if wire.Actions.Confirmations == nil {
			wire.Actions.Confirmations = map[string]wireConfirmation{}
		}
		wire.Actions.Confirmations[id] = question
		asks := &genai.FunctionCall{
			ID:   confirmationID(e.Seq, id),
			Name: requestConfirmation,
			Args: map[string]any{
				"originalFunctionCall": map[string]any{
					"id":   id,
					"name": held.Name,
					"args": orEmpty(held.Args),
				},
				"toolConfirmation": question,
			},
		}
		wire.LongRunningIDs = append(wire.LongRunningIDs, asks.ID)
		if err := wire.say(genai.RoleModel, &genai.Part{FunctionCall: asks}); err != nil {
			return err
		}
	}
	return nil
}

// deferred adds the calls of which an event says that somebody outside answers them later.
func (h *history) deferred(e *session.Event, wire *wireEvent) error {
	own := map[string]bool{}
	for _, call := range e.FunctionCalls() {
		own[call.ID] = true
	}
	for _, id := range e.LongRunningToolIDs {
		c := h.call(id, e)
		if !own[id] && (c == nil || h.answeredByAgent(c)) {
			continue
		}
		wire.LongRunningIDs = append(wire.LongRunningIDs, id)
		if own[id] {
			continue
		}
		if err := wire.say(genai.RoleModel, &genai.Part{FunctionCall: c.FunctionCall}); err != nil {
			return err
		}
	}
	return nil
}

// answeredByAgent reports whether an agent answers a call, and waits for a human itself.
func (h *history) answeredByAgent(c *session.Call) bool {
	for _, calls := range h.callsByID {
		for _, other := range calls {
			if other.Waits() && c.Conversation(other.Event.Branch) {
				return true
			}
		}
	}
	return false
}

// compaction returns an event's compaction as a range of time, nil if it has none.
func (h *history) compaction(e *session.Event) (*wireCompaction, error) {
	c := e.Actions.Compaction
	if c == nil || c.Through == 0 {
		return nil, nil
	}
	content, err := contentOf(c.Content)
	if err != nil || content == nil {
		return nil, err
	}
	content.Role = cmp.Or(content.Role, genai.RoleModel)
	covered := &wireCompaction{Start: seconds(e.Timestamp), End: seconds(e.Timestamp), Content: content}
	if c.Through <= int64(len(h.times)) {
		covered.Start = h.times[0]
		covered.End = h.times[c.Through-1]
	}
	return covered, nil
}
