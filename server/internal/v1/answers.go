package v1

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

func (x *routes) waiting(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	calls, err := web.WaitingCalls(r.Context(), app.Sessions, key)
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, map[string]any{"waiting": calls})
	return nil
}

// decideBody is a yes or no to calls, with a message that may go with it.
type decideBody struct {
	runBody
	// Calls are the ids of the calls. All says, in their place, that every call is meant that waits for a yes or no.
	Calls []string `json:"calls"`
	All   bool     `json:"all"`
}

func (x *routes) approve(w http.ResponseWriter, r *http.Request) error { return x.decide(w, r, true) }
func (x *routes) decline(w http.ResponseWriter, r *http.Request) error { return x.decide(w, r, false) }

// decide says yes or no to calls, and goes on.
func (x *routes) decide(w http.ResponseWriter, r *http.Request, yes bool) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body decideBody
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	waiting, err := web.WaitingCalls(r.Context(), app.Sessions, key)
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range waiting {
		if c.Confirm {
			ids = append(ids, c.ID)
		}
	}
	switch {
	case len(body.Calls) > 0 && body.All:
		return web.Bad("calls and all are both there: send one of them")
	case len(body.Calls) > 0:
	case len(ids) == 0 && body.ID == "":
		return &web.Problem{Status: http.StatusConflict, Code: "not_waiting", Message: "no call waits for a yes or no"}
	case !body.All:
		return web.Bad("which calls? Send calls, a list of ids, or \"all\": true; these wait: " + strings.Join(ids, ", "))
	case body.ID != "":
		return web.Bad("with an id, name the calls: when it is sent again, others may wait")
	default:
		body.Calls = ids
	}
	return x.reply(w, r, app, key, &body.runBody, func(e *session.Event) {
		e.Actions.RequestedToolConfirmations = session.Decision(yes, body.Calls...).Actions.RequestedToolConfirmations
	})
}

// respond gives long-running calls their responses, and goes on.
func (x *routes) respond(w http.ResponseWriter, r *http.Request) error {
	app, key, err := x.at(r)
	if err != nil {
		return err
	}
	var body struct {
		runBody
		Call string `json:"call"`
		// Response is empty if the body has none: null is a response.
		Response jsontext.Value `json:"response"`
		// Responses are those of several calls, by their ids.
		Responses map[string]any `json:"responses"`
	}
	if err := x.Decode(w, r, &body); err != nil {
		return err
	}
	if (body.Call == "") == (len(body.Responses) == 0) {
		return web.Bad("which call? Send call and response, or responses: an object with the response to each call by the call's id")
	}
	if body.Call != "" {
		if body.Response == nil {
			return web.Bad("response is missing: what the call returns, or the answer to the question")
		}
		var response any
		if err := json.Unmarshal(body.Response, &response); err != nil {
			return err
		}
		body.Responses = map[string]any{body.Call: response}
	}
	waiting, err := web.WaitingCalls(r.Context(), app.Sessions, key)
	if err != nil {
		return err
	}
	var parts []*genai.Part
	for _, id := range slices.Sorted(maps.Keys(body.Responses)) {
		i := slices.IndexFunc(waiting, func(c web.Call) bool { return c.ID == id && !c.Confirm })
		name := ""
		switch {
		case i >= 0:
			name = waiting[i].Name
		case body.ID == "":
			return notWaiting()
		default: // it may be sent again
			if name, err = x.nameOf(r.Context(), app, key, id); err != nil {
				return err
			}
		}
		response, ok := body.Responses[id].(map[string]any)
		if !ok {
			response = map[string]any{"result": body.Responses[id]}
		}
		parts = append(parts, session.Respond(&genai.FunctionCall{ID: id, Name: name}, response).Content.Parts...)
	}
	return x.reply(w, r, app, key, &body.runBody, func(e *session.Event) {
		if e.Content == nil {
			e.Content = &genai.Content{Role: genai.RoleUser}
		}
		e.Content.Parts = append(e.Content.Parts, parts...)
	})
}

// notWaiting is the error for a response to a call that does not wait for one.
func notWaiting() *web.Problem {
	return &web.Problem{Status: http.StatusConflict, Code: "not_waiting", Message: "no call of this id waits for its response; waiting in the session's path lists those that do"}
}

// checkResponses returns an error for an input that does nothing but respond to calls none of which waits: nothing
// would come of it. An input with an id may be one that is sent again.
func checkResponses(ctx context.Context, app *web.App, key session.Key, input *session.Event) error {
	if input == nil || input.ID != "" || input.Content == nil {
		return nil
	}
	for _, p := range input.Content.Parts {
		if p == nil || p.FunctionResponse == nil {
			return nil
		}
	}
	live, err := web.Live(ctx, app.Sessions, key)
	if err != nil {
		return err
	}
	for _, c := range session.Calls(live) {
		for _, response := range input.FunctionResponses() {
			if c.ID == response.ID && c.Response == nil {
				return nil
			}
		}
	}
	return notWaiting()
}

// nameOf returns the name of a call that was answered, perhaps by the input that is sent again.
func (x *routes) nameOf(ctx context.Context, app *web.App, key session.Key, call string) (string, error) {
	live, err := web.Live(ctx, app.Sessions, key)
	if err != nil {
		return "", err
	}
	for _, c := range slices.Backward(session.Calls(live)) {
		if c.ID == call {
			return c.Name, nil
		}
	}
	return "", notWaiting()
}

// reply runs an input that answers calls. answer puts the answer into it.
func (x *routes) reply(w http.ResponseWriter, r *http.Request, app *web.App, key session.Key, body *runBody, answer func(*session.Event)) error {
	create := false
	body.Create = &create
	input, err := body.input()
	var p *web.Problem
	if errors.As(err, &p) && (body.Message != "" || body.Content != nil) {
		return err
	}
	if input == nil {
		input = &session.Event{ID: body.ID, InvocationID: body.Invocation, Author: session.User}
	}
	answer(input)
	q, err := x.prepare(app, key, &runBody{
		Streaming:    body.Streaming,
		OnBusy:       body.OnBusy,
		OnDisconnect: body.OnDisconnect,
	}, wantsStream(r))
	if err != nil {
		return err
	}
	q.Input = input
	return x.answer(w, r, q)
}
