package agenthost

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/session"
)

// A toolCall is a function call as contexts have it.
type toolCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`
}

// callOf returns a call. Its arguments are nil, and the context is not valid, if they are no JSON.
func callOf(c *genai.FunctionCall) toolCall {
	t := toolCall{ID: cmp.Or(c.ID, c.Name), Name: c.Name}
	var part struct {
		Call struct {
			Args jsontext.Value `json:"args"`
		} `json:"functionCall"`
	}
	raw := rawParts([]*genai.Part{{FunctionCall: c}})
	if len(raw) == 1 && json.Unmarshal(raw[0], &part) == nil {
		t.Args = part.Call.Args
		if t.Args == nil {
			t.Args = jsontext.Value("{}")
		}
	}
	return t
}

func readArgs(raw jsontext.Value) (map[string]any, error) {
	v, err := session.DecodeValue(raw)
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("the arguments are no object")
	}
	return args, nil
}

// calls judges each call of the event, before it is executed.
func (j *judged) calls() error {
	question := &session.Event{}
	for i, p := range j.now.Parts() {
		if p.FunctionCall == nil {
			continue
		}
		r, err := j.emit(agenthooks.Ask{
			Point:  agenthooks.PreToolCall,
			Fields: agenthooks.Fields{"tool_call": encode(callOf(p.FunctionCall))},
			Usable: func(target jsontext.Value) error { _, err := readArgs(target); return err },
		})
		switch {
		case err != nil:
			return err
		case r.Proceed && r.Changed:
			args, err := readArgs(r.Target)
			if err != nil {
				return err
			}
			j.change(r.Verdict.Reason).Parts()[i].FunctionCall.Args = args
		case r.Proceed:
		case r.Verdict.Liftable() && j.Hold && j.Resolver == nil:
			question.Actions.Confirm(p.FunctionCall.ID, session.Confirmation{Hint: cmp.Or(r.Verdict.Message, r.Verdict.Reason)})
		default:
			j.deny(p.FunctionCall, "", r)
		}
	}
	if question.Actions.RequestedToolConfirmations != nil {
		j.emits = append(j.emits, question)
	}
	return nil
}

// deny answers a call with the denial.
func (j *judged) deny(call *genai.FunctionCall, branch string, r agenthooks.Result) {
	e := session.Respond(call, denied(r))
	e.Branch = branch
	j.emits = append(j.emits, e)
	j.reason = cmp.Or(j.reason, r.Verdict.Reason)
	j.atToolSeam(r)
}

// atToolSeam ends the run if a call was denied because something failed, and that is wanted.
func (j *judged) atToolSeam(r agenthooks.Result) {
	if j.Terminate && agenthooks.HostError(r.Verdict.Reason) {
		j.blocked = true
		j.stop = true
	}
}

// denied is the response of a call that was denied, or whose result was.
func denied(r agenthooks.Result) map[string]any {
	text := "denied: " + cmp.Or(r.Verdict.Reason, "by policy")
	if r.Verdict.Message != "" {
		text += ": " + r.Verdict.Message
	}
	return map[string]any{"error": text}
}

// released judges the calls that the user's input releases. They are in the log, so nothing can change them any more.
func (j *judged) released() error {
	for _, c := range j.inv.Released(j.now) {
		ask := agenthooks.Ask{
			Point:  agenthooks.PreToolCall,
			Fields: agenthooks.Fields{"tool_call": encode(callOf(c.FunctionCall))},
			Usable: func(jsontext.Value) error { return errors.New("the call is in the log") },
		}
		if name, emitted := c.Held.Plugin(); emitted && name == j.Name { // then this yes lifts what was asked about
			ask.Resolver = agenthooks.ResolverFunc(func(_ context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
				allow := &agenthooks.Verdict{Decision: agenthooks.Allow}
				return agenthooks.Resolution{Outcome: agenthooks.Approve, Identity: r.Identity, Verdict: allow}, nil
			})
		}
		r, err := j.emit(ask)
		if err != nil {
			return err
		}
		if !r.Proceed {
			j.deny(c.FunctionCall, c.Event.Branch, r)
		}
	}
	return nil
}

// responses judges each response of the event.
func (j *judged) responses() error {
	if len(j.now.FunctionResponses()) == 0 {
		return nil
	}
	calls := j.inv.CallsSince(j.inv.Position)
	for i, p := range j.now.Parts() {
		if p.FunctionResponse == nil {
			continue
		}
		resp := p.FunctionResponse
		call := toolCall{ID: cmp.Or(resp.ID, resp.Name), Name: resp.Name, Args: jsontext.Value("{}")}
		same := func(c session.Call) bool { return c.ID == resp.ID && (resp.ID != "" || c.Name == resp.Name) }
		if k := slices.IndexFunc(calls, same); k >= 0 {
			call = callOf(calls[k].FunctionCall)
		}
		key, value := resultOf(resp)
		result := map[string]any{"value": value, "is_error": key == "error"}
		r, err := j.emit(agenthooks.Ask{
			Point:  agenthooks.PostToolCall,
			Fields: agenthooks.Fields{"tool_call": encode(call), "tool_result": encode(result)},
			Usable: func(target jsontext.Value) error { _, err := session.DecodeValue(target); return err },
		})
		switch {
		case err != nil:
			return err
		case !r.Proceed:
			e := j.change(r.Verdict.Reason)
			e.Parts()[i].FunctionResponse.Response = denied(r)
			e.Parts()[i].FunctionResponse.Parts = nil
			e.Actions = session.Actions{} // what the tool would have changed
			j.atToolSeam(r)
		case r.Changed:
			v, err := session.DecodeValue(r.Target)
			if err != nil {
				return err
			}
			object, isObject := v.(map[string]any)
			if key != "" || !isObject {
				object = map[string]any{cmp.Or(key, "result"): v}
			}
			j.change(r.Verdict.Reason).Parts()[i].FunctionResponse.Response = object
		}
	}
	return nil
}

// resultOf returns what a response says, and the key under which it does: "result", "error", or "" for all of it. The value
// is nil, and the context not valid, if it is no JSON.
func resultOf(resp *genai.FunctionResponse) (key string, value jsontext.Value) {
	var part struct {
		Response struct {
			Response jsontext.Value `json:"response"`
		} `json:"functionResponse"`
	}
	raw := rawParts([]*genai.Part{{FunctionResponse: resp}})
	if len(raw) != 1 || json.Unmarshal(raw[0], &part) != nil {
		return "", nil
	}
	value = part.Response.Response
	var members map[string]jsontext.Value
	if value.Kind() != '{' || json.Unmarshal(value, &members) != nil {
		return "", jsontext.Value("{}")
	}
	for _, name := range []string{"result", "error"} {
		if v, has := members[name]; has && len(members) == 1 {
			return name, v
		}
	}
	if _, failed := members["error"]; failed {
		return "error", value
	}
	return "", value
}
