package v1

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// answerHandlers answer calls that wait.
var answerHandlers = handlers{
	"waiting": (*routes).waiting,
	"approve": with((*routes).approve),
	"decline": with((*routes).decline),
	"respond": with((*routes).respond),
}

func (x *routes) waiting(_ http.ResponseWriter, r *request) (any, error) {
	calls, err := x.Waiting(r.Context(), r.app, r.key)
	return map[string]any{"waiting": calls}, err
}

// decisionBody is a yes or no to calls, with a message that may go with it.
type decisionBody struct {
	runBody
	// Calls are the ids of the calls. All says, in their stead, that every call is meant that waits for a yes
	// or no.
	Calls []string `json:"calls"`
	All   bool     `json:"all"`
}

func (x *routes) approve(w http.ResponseWriter, r *request, body *decisionBody) (any, error) {
	return x.decide(w, r, body, true)
}

func (x *routes) decline(w http.ResponseWriter, r *request, body *decisionBody) (any, error) {
	return x.decide(w, r, body, false)
}

// decide says yes or no to calls, and goes on.
func (x *routes) decide(w http.ResponseWriter, r *request, body *decisionBody, yes bool) (any, error) {
	return x.runAnswer(w, r, &body.runBody, func(input *session.Event) error {
		input.Actions.RequestedToolConfirmations = nil
		return x.Approve(r.Context(), r.app, r.key, input, yes, body.Calls, body.All)
	})
}

// responseBody has the responses to calls, with a message that may go with them.
type responseBody struct {
	runBody
	Call string `json:"call"`
	// Response is empty if the body has none: null is a response.
	Response jsontext.Value `json:"response"`
	// Responses are those of several calls, by their ids.
	Responses map[string]any `json:"responses"`
}

// respond gives long-running calls their responses, and goes on.
func (x *routes) respond(w http.ResponseWriter, r *request, body *responseBody) (any, error) {
	if (body.Call == "") == (len(body.Responses) == 0) {
		return nil, web.Bad("which call? Send call and response, " +
			"or responses: an object with the response to each call by the call's id")
	}
	if body.Call != "" {
		if body.Response == nil {
			return nil, web.Bad("response is missing: what the call returns, or the answer to the question")
		}
		var response any
		if err := json.Unmarshal(body.Response, &response); err != nil {
			return nil, err
		}
		body.Responses = map[string]any{body.Call: response}
	}
	return x.runAnswer(w, r, &body.runBody, func(input *session.Event) error {
		return x.RespondTo(r.Context(), r.app, r.key, input, body.Responses)
	})
}

// runAnswer runs an input that answers calls: that of a body, with the answer that add puts into it.
func (x *routes) runAnswer(
	w http.ResponseWriter, r *request, body *runBody, add func(*session.Event) error,
) (any, error) {
	input, err := body.input()
	if err != nil && (body.Message != "" || body.Content != nil) {
		return nil, err
	}
	if input == nil {
		input = &session.Event{ID: body.ID, InvocationID: body.Invocation, Author: session.User}
	}
	if err := add(input); err != nil {
		return nil, err
	}
	q, err := body.request(r, input)
	if err != nil {
		return nil, err
	}
	q.Config.Create = false
	return x.answer(w, r, q)
}
