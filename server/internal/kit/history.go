package kit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// The kit's names for the calls with which an agent asks a human.
const (
	requestConfirmation = "adk_request_confirmation"
	requestInput        = "adk_request_input"
)

// A history writes the events of one session as the kit knows them, in their order. What the kit's pages need to
// ask a human is more than our events say, so a history keeps the calls that it has seen:
//
//   - An event that holds a call until somebody has said yes or no gets a call of its own, named
//     adk_request_confirmation, with the held call in its arguments.
//   - The user's yes or no becomes the response to that call.
//   - An event that says that a call is answered later gets that call once more: the pages look for the calls in
//     longRunningToolIds in the same event.
//
// An event that says that something failed, and nothing else, gets its message as text, and the one with the output
// of a workflow that has ended gets that, unless an agent in it has just said the same: older pages show texts only.
type history struct {
	// log reads the session's events up to a position, for a history that does not begin with the first; nil
	// for one that does.
	log func(ctx context.Context, upTo int64) ([]*session.Event, error)

	calls map[string]*seenCall // by their IDs
	said  string               // the last text of an agent's
	times []float64            // of the log's events, in seconds, at their positions less 1; nil if there is a log to read
}

// seenCall is a call that a history has seen.
type seenCall struct {
	session.Call
	heldAt int64 // the position of the event that holds it, 0 if none does
	waits  bool  // for its response, or for a yes or no
}

// newHistory returns a history that begins with a session's first event, or, with a log, somewhere in it.
func newHistory(log func(ctx context.Context, upTo int64) ([]*session.Event, error)) *history {
	return &history{log: log, calls: map[string]*seenCall{}}
}

// logOf returns what reads a session's events for a history.
func logOf(app *web.App, key session.Key) func(context.Context, int64) ([]*session.Event, error) {
	return func(ctx context.Context, upTo int64) ([]*session.Event, error) {
		var list []*session.Event
		for e, err := range app.Sessions.Read(ctx, key, session.Selection{}) {
			if err != nil {
				return nil, err
			}
			if e.Seq > upTo {
				break
			}
			list = append(list, e)
		}
		return list, nil
	}
}

// add takes in an event. Partial events need not be added.
func (h *history) add(e *session.Event) {
	for h.log == nil && int64(len(h.times)) < e.Seq {
		h.times = append(h.times, seconds(e.Timestamp))
	}
	if e.Author != session.User && e.Text() != "" {
		h.said = e.Text()
	}
	for _, call := range e.FunctionCalls() {
		h.calls[call.ID] = &seenCall{Call: session.Call{FunctionCall: call, Event: e}}
	}
	for _, response := range e.FunctionResponses() {
		if c := h.calls[response.ID]; c != nil {
			c.waits = false
		}
	}
	for _, id := range e.LongRunningToolIDs {
		if c := h.calls[id]; c != nil {
			c.waits = true
		}
	}
	for id := range e.Actions.RequestedToolConfirmations {
		c := h.calls[id]
		if c == nil {
			continue
		}
		c.waits = e.Author != session.User
		if c.waits {
			c.heldAt = e.Seq
		}
	}
}

// complete takes in the events before an event, once, if it needs them: it asks a human, or is about what is
// further up in the log.
func (h *history) complete(ctx context.Context, e *session.Event) error {
	needs := len(e.LongRunningToolIDs) > 0 || len(e.Actions.RequestedToolConfirmations) > 0 ||
		e.Actions.Compaction != nil
	if h.log == nil || !needs || e.Partial {
		return nil
	}
	log, err := h.log(ctx, e.Seq)
	if err != nil {
		return err
	}
	h.log = nil
	h.calls = map[string]*seenCall{}
	h.times = nil
	for _, e := range log {
		h.add(e)
	}
	return nil
}

// confirmationID returns the ID of the call that asks about another one. It says which event holds that, so that
// an answer on a page that is out of date is not taken for one to a later question.
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

// wireEvent is an event as the kit knows it. It has no other keys than those of the kit's model of an event, which
// refuses what it does not know.
type wireEvent struct {
	ID                string                                      `json:"id"`
	InvocationID      string                                      `json:"invocationId"`
	Author            string                                      `json:"author"`
	Branch            string                                      `json:"branch,omitempty"`
	Timestamp         float64                                     `json:"timestamp"`
	Content           *wireContent                                `json:"content,omitempty"`
	Partial           bool                                        `json:"partial,omitempty"`
	TurnComplete      bool                                        `json:"turnComplete,omitempty"`
	Interrupted       bool                                        `json:"interrupted,omitempty"`
	ErrorCode         string                                      `json:"errorCode,omitempty"`
	ErrorMessage      string                                      `json:"errorMessage,omitempty"`
	FinishReason      genai.FinishReason                          `json:"finishReason,omitempty"`
	UsageMetadata     *genai.GenerateContentResponseUsageMetadata `json:"usageMetadata,omitempty"`
	GroundingMetadata *genai.GroundingMetadata                    `json:"groundingMetadata,omitempty"`
	CitationMetadata  *genai.CitationMetadata                     `json:"citationMetadata,omitempty"`
	ModelVersion      string                                      `json:"modelVersion,omitempty"`
	CustomMetadata    map[string]any                              `json:"customMetadata,omitempty"`
	LongRunningIDs    []string                                    `json:"longRunningToolIds,omitempty"`
	Actions           wireActions                                 `json:"actions"`
}

type wireContent struct {
	Role  string           `json:"role,omitempty"`
	Parts []jsontext.Value `json:"parts"`
}

// wireActions are the actions that the kit knows. What it does not know (increments of numbers, rewinds) is left
// out.
type wireActions struct {
	StateDelta        map[string]any              `json:"stateDelta"`
	ArtifactDelta     map[string]int64            `json:"artifactDelta"`
	AuthConfigs       struct{}                    `json:"requestedAuthConfigs"`
	Confirmations     map[string]wireConfirmation `json:"requestedToolConfirmations,omitempty"`
	SkipSummarization bool                        `json:"skipSummarization,omitempty"`
	TransferToAgent   string                      `json:"transferToAgent,omitempty"`
	Escalate          bool                        `json:"escalate,omitempty"`
	Compaction        *wireCompaction             `json:"compaction,omitempty"`
}

type wireConfirmation struct {
	Hint      string `json:"hint"`
	Confirmed bool   `json:"confirmed"`
	Payload   any    `json:"payload,omitempty"`
}

// wireCompaction covers a range of time.
type wireCompaction struct {
	Start   float64      `json:"startTimestamp"`
	End     float64      `json:"endTimestamp"`
	Content *wireContent `json:"compactedContent"`
}

// encode returns an event that was added, or a partial one, as the kit knows it.
func (h *history) encode(ctx context.Context, e *session.Event) (jsontext.Value, error) {
	if err := h.complete(ctx, e); err != nil {
		return nil, err
	}
	content, err := contentOf(e.Content)
	if err != nil {
		return nil, err
	}
	wire := wireEvent{
		ID:                e.ID,
		InvocationID:      e.InvocationID,
		Author:            e.Author,
		Branch:            e.Branch,
		Timestamp:         seconds(e.Timestamp),
		Content:           content,
		Partial:           e.Partial,
		TurnComplete:      e.TurnComplete,
		Interrupted:       e.Interrupted,
		ErrorCode:         e.ErrorCode,
		ErrorMessage:      e.ErrorMessage,
		FinishReason:      e.FinishReason,
		UsageMetadata:     e.UsageMetadata,
		GroundingMetadata: e.GroundingMetadata,
		CitationMetadata:  e.CitationMetadata,
		ModelVersion:      e.ModelVersion,
		CustomMetadata:    e.CustomMetadata,
		Actions: wireActions{
			StateDelta:        orEmpty(e.Actions.StateDelta),
			ArtifactDelta:     orEmpty(e.Actions.ArtifactDelta),
			SkipSummarization: e.Actions.SkipSummarization,
			TransferToAgent:   e.Actions.TransferToAgent,
			Escalate:          e.Actions.Escalate,
		},
	}
	if wire.Actions.Compaction, err = h.compaction(e); err != nil {
		return nil, err
	}
	if err := h.decide(e, &wire); err != nil {
		return nil, err
	}
	if err := h.deferred(e, &wire); err != nil {
		return nil, err
	}
	text := &genai.Part{Text: web.TextOf(e)}
	if e.ErrorCode != "" {
		text.Text = cmp.Or(e.ErrorMessage, e.ErrorCode)
	}
	if wire.Content == nil && text.Text != "" && (e.ErrorCode != "" || text.Text != h.said) {
		if err := wire.say(genai.RoleModel, text); err != nil {
			return nil, err
		}
	}
	return encoded(wire)
}

// decide adds the calls by which an event asks for a yes or no, and the responses to them where the event is the
// user's.
func (h *history) decide(e *session.Event, wire *wireEvent) error {
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		confirmation := e.Actions.RequestedToolConfirmations[id]
		held := h.calls[id]
		if held == nil { // the log does not have the call: another kit's may be so
			held = &seenCall{Call: session.Call{FunctionCall: &genai.FunctionCall{}}, heldAt: e.Seq}
		}
		if e.Author == session.User {
			response := map[string]any{"confirmed": confirmation.Confirmed}
			if confirmation.Payload != nil {
				response["payload"] = confirmation.Payload
			}
			answer := &genai.FunctionResponse{
				ID:       confirmationID(held.heldAt, id),
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
		c := h.calls[id]
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
func (h *history) answeredByAgent(c *seenCall) bool {
	for _, other := range h.calls {
		if other.waits && c.Conversation(other.Event.Branch) {
			return true
		}
	}
	return false
}

// say adds a part to the event's content.
func (w *wireEvent) say(role string, part *genai.Part) error {
	data, err := partOf(part)
	if err != nil {
		return err
	}
	if w.Content == nil {
		w.Content = &wireContent{Role: role}
	}
	w.Content.Parts = append(w.Content.Parts, data)
	return nil
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

// contentOf returns a content with its parts, nil if it has none: older pages fail on a content without parts.
func contentOf(c *genai.Content) (*wireContent, error) {
	if c == nil {
		return nil, nil
	}
	wire := &wireContent{Role: c.Role}
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		data, err := partOf(p)
		if err != nil {
			return nil, err
		}
		if string(data) != "{}" { // a text that is empty says nothing
			wire.Parts = append(wire.Parts, data)
		}
	}
	if len(wire.Parts) == 0 {
		return nil, nil
	}
	return wire, nil
}

// partOf returns a part. A call has its arguments and a response what it says, even if that is nothing: the pages
// read them without asking whether they are there.
func partOf(p *genai.Part) (jsontext.Value, error) {
	data, err := encoded(p)
	switch {
	case err != nil:
		return nil, err
	case p.FunctionCall != nil && len(p.FunctionCall.Args) == 0:
		return withEmpty(data, "functionCall", "args")
	case p.FunctionResponse != nil && len(p.FunctionResponse.Response) == 0:
		return withEmpty(data, "functionResponse", "response")
	}
	return data, nil
}

// withEmpty returns a part with an empty object under a key of its function call or response.
func withEmpty(part jsontext.Value, of, key string) (jsontext.Value, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(part, &keys); err != nil {
		return nil, err
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(keys[of], &inner); err != nil {
		return nil, err
	}
	inner[key] = json.RawMessage("{}")
	whole, err := encoded(inner)
	if err != nil {
		return nil, err
	}
	keys[of] = json.RawMessage(whole)
	return encoded(keys)
}

// encoded returns a value as JSON on one line. It is the standard library's encoder that the tags of package
// genai are made for.
func encoded(v any) (jsontext.Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// orEmpty returns a map that is not nil.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
