package kit

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// addAnswer puts a function response of a client into an input: the response to adk_request_confirmation as a
// yes or no to the call that this one asks about, every other as a part. calls are those of the session,
// parts those of the input so far.
func addAnswer(
	input *session.Event, calls []session.Call, parts []*genai.Part, p *genai.Part) ([]*genai.Part, error,
) {
	response := p.FunctionResponse
	heldAt, held, asked := parseConfirmationID(response.ID)
	if response.Name != requestConfirmation || !asked {
		if response.Name == session.AskTool {
			open := func(c session.Call) bool { return c.ID == response.ID && c.Response == nil }
			if !slices.ContainsFunc(calls, open) {
				return nil, sessions.NotWaiting("the question does not wait for an answer any more")
			}
			response.Response = sessions.Object(unwrapped(response.Response))
		}
		return append(parts, p), nil
	}
	waits := slices.ContainsFunc(calls, func(c session.Call) bool {
		return c.ID == held && c.Held != nil && c.Decision == nil && c.Held.Seq == heldAt && c.Response == nil
	})
	if !waits {
		return nil, sessions.NotWaiting("the call does not wait for this yes or no any more")
	}
	decision, err := decisionOf(unwrapped(response.Response))
	if err != nil {
		return nil, err
	}
	input.Actions.Confirm(held, decision)
	return parts, nil
}

// decisionOf reads a yes or no: {"confirmed": true, "payload": …} from newer pages; from older ones what the
// user has typed, which may be that as JSON, or a word.
func decisionOf(response any) (session.Confirmation, error) {
	switch response := response.(type) {
	case bool:
		return session.Confirmation{Confirmed: response}, nil
	case string:
		if yes, ok := sessions.YesOrNo(response); ok {
			return session.Confirmation{Confirmed: yes}, nil
		}
	case map[string]any:
		yes, ok := response["confirmed"].(bool)
		if ok && !yes {
			return session.Confirmation{}, nil // the page's payload is not why: it is the question's, or the arguments
		}
		if ok {
			return session.Confirmation{Confirmed: true, Payload: response["payload"]}, nil
		}
	}
	return session.Confirmation{}, web.Bad(
		`a confirmation is {"confirmed": true} or {"confirmed": false}, or yes or no`)
}

// unwrapped returns what a response says. Older pages put what the user has typed into a lone key "response";
// if that is JSON, it is what the JSON says.
func unwrapped(response map[string]any) any {
	lone, ok := response["response"]
	if !ok || len(response) != 1 {
		return response
	}
	text, ok := lone.(string)
	if !ok {
		return lone
	}
	value, err := session.DecodeValue(jsontext.Value(text))
	if err != nil {
		return text
	}
	return value
}
