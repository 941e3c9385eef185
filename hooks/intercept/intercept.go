// Package intercept makes the plugins of a runner an interceptor of AGENT-HOOKS 0.1: agents of other kits, in whatever
// language, are judged by them, and what they do is in the log of a session (see runner.Outside).
//
//	point            is offered as
//	input            the user's message; it begins an invocation
//	pre_model_call   a model request, to BeforeModel
//	post_model_call  what the agent says; an answer that comes in pieces is denied
//	pre_tool_call    a function call
//	post_tool_call   its response
//	output           what the agent says, unless the log has it
//	agent_shutdown   the end
//
// What a plugin withholds or answers is a denial, what it holds for a human one that may be lifted, what it changes a
// transform, and what it adds a warning.
//
// A new point, or another translation of one: a method of visit, and its row in points.
package intercept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// An Interceptor judges by the plugins of a runner. It is an agenthooks.Interceptor.
type Interceptor struct {
	Runner *runner.Runner
	// App and User are of the sessions that it makes; the session of the contract is the ID.
	App, User string
}

// A shown is a context, as far as it is used.
type shown struct {
	Point    agenthooks.Point `json:"interception_point"`
	Sequence int64            `json:"sequence"`
	Agent    struct {
		ID string `json:"id"`
	} `json:"agent"`
	Session struct {
		ID string `json:"id"`
	} `json:"session"`
	Input struct {
		Content jsontext.Value `json:"content"`
	} `json:"input"`
	Output struct {
		Content jsontext.Value `json:"content"`
	} `json:"output"`
	Model struct {
		ID string `json:"id"`
	} `json:"model"`
	Messages []message `json:"messages"`
	Response struct {
		Content jsontext.Value `json:"content"`
		Finish  string         `json:"finish_reason"`
	} `json:"response"`
	Call struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args jsontext.Value `json:"args"`
	} `json:"tool_call"`
	Result struct {
		Value   jsontext.Value `json:"value"`
		IsError bool           `json:"is_error"`
	} `json:"tool_result"`
	Summary struct {
		Reason string `json:"reason"`
	} `json:"summary"`
}

type message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
}

// SessionOf returns the ID of the session that a context is of.
func SessionOf(c agenthooks.Context) (string, error) {
	var s shown
	if err := json.Unmarshal(c, &s); err != nil || s.Session.ID == "" {
		return "", errors.New("intercept: the context is not JSON, or has no session.id")
	}
	return s.Session.ID, nil
}

// Intercept judges what a context shows.
func (i *Interceptor) Intercept(ctx context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
	var s shown
	if err := json.Unmarshal(c, &s); err != nil {
		return agenthooks.Verdict{}, errors.New("intercept: the context is not what AGENT-HOOKS 0.1 says")
	}
	v := &visit{shown: s, ctx: ctx, outside: runner.Outside{
		Runner: i.Runner,
		Key:    session.Key{App: i.App, User: i.User, ID: s.Session.ID},
		Agent:  strings.NewReplacer(".", "-", "@", "-", "/", "-").Replace(cmp.Or(s.Agent.ID, "agent")),
	}}
	judge := points[s.Point]
	if judge == nil {
		return agenthooks.Verdict{}, fmt.Errorf("intercept: there is no point %q", s.Point)
	}
	return judge(v)
}

var points = map[agenthooks.Point]func(*visit) (agenthooks.Verdict, error){
	agenthooks.AgentStartup:  func(*visit) (agenthooks.Verdict, error) { return allow, nil },
	agenthooks.Input:         (*visit).input,
	agenthooks.PreModelCall:  (*visit).request,
	agenthooks.PostModelCall: (*visit).answer,
	agenthooks.PreToolCall:   (*visit).call,
	agenthooks.PostToolCall:  (*visit).result,
	agenthooks.Output:        (*visit).output,
	agenthooks.AgentShutdown: (*visit).end,
}

var allow = agenthooks.Verdict{Decision: agenthooks.Allow}

// A visit is one context that is judged.
type visit struct {
	shown
	ctx     context.Context
	outside runner.Outside
}

// offer offers an event. Its ID is made of the point and the number, so that a context that comes twice counts once.
func (v *visit) offer(e *session.Event, id string) (*runner.Offered, agenthooks.Verdict, error) {
	e.ID = v.Session.ID + "/" + id
	got, err := v.outside.Offer(v.ctx, e)
	if err != nil {
		return nil, agenthooks.Verdict{}, err
	}
	return got, v.verdict(got), nil
}

func (v *visit) number() string { return fmt.Sprintf("%s/%d", v.Point, v.Sequence) }

// verdict returns what became of something, but for changes.
func (v *visit) verdict(got *runner.Offered) agenthooks.Verdict {
	out := allow
	for _, e := range got.Events {
		name, emitted := e.Plugin()
		if text := e.Text(); emitted && text != "" {
			out.Warnings = append(out.Warnings, agenthooks.Warning{Reason: "plugin/" + name, Message: text})
		}
	}
	switch {
	case got.Withheld != nil:
		out.Decision = agenthooks.Deny
		out.Reason = cmp.Or(got.Withheld.Reason, "withheld by "+got.Withheld.Plugin)
	case got.End != nil && got.End.Kind == plugin.EndStopped:
		out.Decision = agenthooks.Deny
		out.Reason = cmp.Or(got.End.Reason, "stopped by "+got.End.Plugin)
	}
	out.Reason = strings.TrimPrefix(out.Reason, "host_error:")
	return out
}

// text returns a content's text: of a content that is none, its JSON.
func text(content jsontext.Value) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	return string(content)
}

// back returns a text as the content that it was: JSON where that was JSON and still is.
func back(now string, was jsontext.Value) jsontext.Value {
	if v := jsontext.Value(now); was.Kind() != '"' && v.IsValid() {
		return v
	}
	data, _ := json.Marshal(now, jsontext.AllowInvalidUTF8(true))
	return data
}

func changed(v agenthooks.Verdict, path string, value jsontext.Value) agenthooks.Verdict {
	v.Decision = agenthooks.Transform
	v.Transform = &agenthooks.Change{Path: path, Value: value}
	return v
}

// say offers a text.
func (v *visit) say(e *session.Event, was jsontext.Value) (agenthooks.Verdict, error) {
	said := e.Text()
	got, out, err := v.offer(e, v.number())
	if err == nil && out.Decision == agenthooks.Allow && got.Event != nil && got.Event.Text() != said {
		out = changed(out, "$target.content", back(got.Event.Text(), was))
	}
	return out, err
}

func (v *visit) input() (agenthooks.Verdict, error) {
	return v.say(session.Message(text(v.Input.Content)), v.Input.Content)
}

func (v *visit) answer() (agenthooks.Verdict, error) {
	if v.Response.Finish == "incremental" {
		return agenthooks.Verdict{Decision: agenthooks.Deny, Reason: "plughook:whole_answers_only",
			Message: "answers that are judged in pieces are not supported; let the host buffer them"}, nil
	}
	if v.Response.Content.Kind() == 'n' || text(v.Response.Content) == "" {
		return allow, nil
	}
	return v.say(session.Reply(text(v.Response.Content)), v.Response.Content)
}

// output offers what is shown, unless the agent has said it since the last input.
func (v *visit) output() (agenthooks.Verdict, error) {
	said := text(v.Output.Content)
	sel := session.Selection{Live: true, Last: 16}
	last, err := session.ReadAll(v.ctx, v.outside.Runner.Sessions(), v.outside.Key, sel)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return agenthooks.Verdict{}, err
	}
	for _, e := range slices.Backward(last) {
		if e.Author == session.User {
			break
		}
		if e.FromAgent() && e.Text() == said && said != "" {
			return allow, nil
		}
	}
	return v.say(session.Reply(said), v.Output.Content)
}

func (v *visit) request() (agenthooks.Verdict, error) {
	req := &model.Request{Agent: v.outside.Agent, Model: v.Model.ID, Config: &genai.GenerateContentConfig{}}
	system := -1
	for i, m := range v.Messages {
		role := genai.Role(genai.RoleUser)
		if m.Role == "assistant" || m.Role == genai.RoleModel {
			role = genai.RoleModel
		}
		c := genai.NewContentFromText(text(m.Content), role)
		if m.Role == "system" && system < 0 && i == 0 {
			system = i
			req.Config.SystemInstruction = c
			continue
		}
		req.Contents = append(req.Contents, c)
	}
	allowed, got, err := v.outside.Ask(v.ctx, req)
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	out := v.verdict(got)
	if allowed == nil {
		out.Decision = agenthooks.Deny
		out.Reason = cmp.Or(out.Reason, "withheld")
	}
	if out.Decision == agenthooks.Deny {
		return out, nil
	}

	// Which messages have another text now?
	contents := allowed.Contents
	if system >= 0 {
		contents = append([]*genai.Content{allowed.Config.SystemInstruction}, contents...)
	}
	if len(contents) != len(v.Messages) {
		out.Decision = agenthooks.Deny
		out.Reason = "plughook:other_messages"
		return out, nil
	}
	differs := false
	for i, c := range contents {
		now := (&session.Event{Content: c}).Text()
		if now != text(v.Messages[i].Content) {
			differs = true
			v.Messages[i].Content = back(now, v.Messages[i].Content)
		}
	}
	if !differs {
		return out, nil
	}
	value, err := json.Marshal(v.Messages)
	return changed(out, "$target", value), err
}

// event returns an event with a part that has this JSON, in which long numbers are exact.
func event(role, part string, value map[string]any) (*session.Event, error) {
	parts := []any{map[string]any{part: value}}
	data, err := json.Marshal(map[string]any{"content": map[string]any{"role": role, "parts": parts}})
	if err != nil {
		return nil, err
	}
	e := &session.Event{}
	return e, json.Unmarshal(data, e)
}

func (v *visit) offerCall(id string) (*runner.Offered, agenthooks.Verdict, error) {
	e, err := event(genai.RoleModel, "functionCall", map[string]any{"id": v.Call.ID, "name": v.Call.Name, "args": v.Call.Args})
	if err != nil {
		return nil, agenthooks.Verdict{}, err
	}
	return v.offer(e, id)
}

func (v *visit) call() (agenthooks.Verdict, error) {
	got, out, err := v.offerCall(v.number())
	if err != nil || out.Decision == agenthooks.Deny || len(got.Calls) == 0 {
		return out, err
	}
	c := got.Calls[0]
	switch {
	case c.Response != nil:
		name, _ := c.Response.Plugin()
		out.Decision = agenthooks.Deny
		out.Reason = cmp.Or(plugin.NotesOf(c.Response).Reason, "answered by "+name)
		out.Message, _ = c.Result.Response["error"].(string)
		out.Reason = strings.TrimPrefix(out.Reason, "host_error:")
	case c.Held != nil && !c.Approved():
		out.Decision = agenthooks.Deny
		out.Reason = "plughook:held"
		out.Message = c.Held.Actions.RequestedToolConfirmations[c.ID].Hint
		if c.Decision == nil {
			out.Approval = jsontext.Value("{}")
		}
	case len(plugin.NotesOf(got.Event).Changed) > 0:
		args, err := member(got.Event, "functionCall", "args")
		if err != nil {
			return out, err
		}
		out = changed(out, "$target", args)
	}
	return out, nil
}

// member returns the JSON of a member of the event's only part.
func member(e *session.Event, part, name string) (jsontext.Value, error) {
	data, err := json.Marshal(e)
	var event struct {
		Content struct {
			Parts []map[string]map[string]jsontext.Value `json:"parts"`
		} `json:"content"`
	}
	if err == nil {
		err = json.Unmarshal(data, &event)
	}
	if err != nil || len(event.Content.Parts) != 1 {
		return nil, errors.New("intercept: a plugin has made of the event what cannot be said")
	}
	if v := event.Content.Parts[0][part][name]; v != nil {
		return v, nil
	}
	return jsontext.Value("{}"), nil
}

func (v *visit) result() (agenthooks.Verdict, error) {
	key := ""
	response := any(v.Result.Value)
	if v.Result.IsError || v.Result.Value.Kind() != '{' {
		key = map[bool]string{true: "error", false: "result"}[v.Result.IsError]
		response = map[string]any{key: v.Result.Value}
	}
	e, err := event(genai.RoleUser, "functionResponse", map[string]any{"id": v.Call.ID, "name": v.Call.Name, "response": response})
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	got, out, err := v.offer(e, v.number())
	if errors.Is(err, runner.ErrNotWaiting) { // the call was not shown, or the log has another response to it
		if _, out, err = v.offerCall(v.number() + "/call"); err == nil && out.Decision != agenthooks.Deny {
			got, out, err = v.offer(e, v.number())
		}
	}
	if err != nil || out.Decision == agenthooks.Deny || got.Event == nil || len(plugin.NotesOf(got.Event).Changed) == 0 {
		return out, err
	}
	now, err := member(got.Event, "functionResponse", "response")
	if err != nil || key == "" {
		return changed(out, "$target", now), err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(now, &members); err != nil {
		return out, err
	}
	if value := members[key]; value != nil {
		now = value
	}
	return changed(out, "$target", now), nil
}

func (v *visit) end() (agenthooks.Verdict, error) {
	kinds := map[string]plugin.EndKind{"error": plugin.EndFailed, "cancelled": plugin.EndCancelled}
	_, err := v.outside.End(v.ctx, plugin.End{Kind: cmp.Or(kinds[v.Summary.Reason], plugin.EndDone)})
	return allow, err
}
