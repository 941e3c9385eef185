package sessions

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Respond adds the response to a call to an input.
func Respond(input *session.Event, call, name string, response any) {
	if input.Content == nil {
		input.Content = &genai.Content{Role: genai.RoleUser}
	}
	part := session.Respond(&genai.FunctionCall{ID: call, Name: name}, Object(response)).Content.Parts[0]
	input.Content.Parts = append(input.Content.Parts, part)
}

// Object returns a value as a function's response, which is an object.
func Object(v any) map[string]any {
	if object, ok := v.(map[string]any); ok {
		return object
	}
	return map[string]any{"result": v}
}

// YesOrNo returns what a text says that is a yes or a no, and nothing else.
func YesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.Trim(text, " \t\r\n.!")) {
	case "yes", "y", "ok", "true", "approve", "approved", "confirm", "confirmed":
		return true, true
	case "no", "n", "false", "decline", "declined", "deny", "reject":
		return false, true
	}
	return false, false
}

// NotWaiting returns the problem with an answer for which no call waits.
func NotWaiting(message string) *web.Problem {
	return web.NewProblem(http.StatusConflict, "not_waiting", message)
}

// noSuchCall is NotWaiting of a response.
func noSuchCall() *web.Problem {
	return NotWaiting("no call of this id waits for its response; " +
		"waiting in the session's path lists those that do")
}

// Approve adds a yes or no to an input, for the calls of those ids, or for all that wait for one.
func (s Service) Approve(
	ctx context.Context,
	app *apps.App,
	key session.Key,
	input *session.Event,
	yes bool,
	calls []string,
	all bool,
) error {
	waiting, err := s.Waiting(ctx, app, key)
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range Mine(ctx, key, waiting) {
		if c.Confirm {
			ids = append(ids, c.ID)
		}
	}
	switch {
	case len(calls) > 0 && all:
		return web.Bad("calls and all are both there: send one of them")
	case len(calls) > 0:
	case len(ids) == 0 && input.ID == "":
		return NotWaiting("no call waits for a yes or no")
	case !all:
		return web.Bad("which calls? Send calls, a list of ids, or \"all\": true; these wait: " +
			strings.Join(ids, ", "))
	case input.ID != "":
		return web.Bad("with an id, name the calls: when it is sent again, others may wait")
	default:
		calls = ids
	}
	for _, id := range calls {
		input.Actions.Confirm(id, session.Confirmation{Confirmed: yes})
	}
	return nil
}

// RespondTo adds the responses to calls that wait for one to an input, by the calls' ids. An input with an ID
// may have been sent before; then the calls may have these responses already.
func (s Service) RespondTo(
	ctx context.Context, app *apps.App, key session.Key, input *session.Event, responses map[string]any,
) error {
	live, err := s.Live(ctx, app, key)
	if err != nil {
		return err
	}
	waiting := WaitingIn(live)
	for _, id := range slices.Sorted(maps.Keys(responses)) {
		i := slices.IndexFunc(waiting, func(c WaitingCall) bool { return c.ID == id && !c.Confirm })
		name := ""
		switch {
		case i >= 0:
			name = waiting[i].Name
		case input.ID == "":
			return noSuchCall()
		default:
			for _, c := range session.Calls(live) {
				if c.ID == id {
					name = c.Name // of calls with one ID, the last one counts
				}
			}
			if name == "" {
				return noSuchCall()
			}
		}
		Respond(input, id, name, responses[id])
	}
	return nil
}
