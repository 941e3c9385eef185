package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Shown goes on with the agent's answer to "card".
var Shown = make(chan struct{}, 1)

// Act is an agent that does what its input says. It says, calls, waits and fails in the ways that clients of
// other protocols have to be told of.
func Act(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		// Answers to calls come first.
		input := host.Now().Input
		for _, c := range host.Answered() {
			switch {
			case c.Response != nil:
				yield(session.Reply("You answered "+JSON(c.Result.Response)), nil)
				return
			case c.Approved():
				yield(session.Respond(c.FunctionCall, map[string]any{"booked": true}), nil)
				yield(session.Reply("Booked."), nil)
				return
			default:
				yield(session.Respond(c.FunctionCall, map[string]any{"error": "declined"}), nil)
				yield(session.Reply("Not booked."), nil)
				return
			}
		}
		text := input.Text()
		stream := func(thought bool, pieces ...string) []*session.Event {
			var list []*session.Event
			for _, piece := range pieces {
				e := session.Reply(piece)
				e.Partial = true
				e.Content.Parts[0].Thought = thought
				list = append(list, e)
			}
			return list
		}
		switch text {
		case "think":
			list := stream(true, "hm", ", well")
			last := session.Reply("It is 4.")
			last.Partial = true
			whole := session.Reply("It is 4.")
			whole.Content.Parts = append(
				[]*genai.Part{{Text: "hm, well", Thought: true}},
				whole.Content.Parts...)
			for _, e := range append(list, last, whole) {
				yield(e, nil)
			}
		case "weather":
			yield(Call("w1", "get_weather", map[string]any{"city": "Paris"}), nil)
			answer := session.Respond(&genai.FunctionCall{ID: "w1", Name: "get_weather"},
				map[string]any{"celsius": 19})
			answer.Actions.StateDelta = map[string]any{
				"last/city": "Paris",
				"a~b":       1,
				"temp:x":    1,
				"gone":      nil,
			}
			yield(answer, nil)
			yield(session.Reply("19 degrees."), nil)
		case "forget":
			e := session.Reply("Forgotten.")
			e.Actions.StateDelta = map[string]any{"last/city": nil, "never": nil}
			e.Actions.StateIncrement = map[string]float64{"user:count": 2}
			yield(e, nil)
		case "book", "book twice":
			e := Call("b1", "book", map[string]any{"table": 4})
			if text == "book twice" {
				e.Content.Parts = append(
					e.Content.Parts,
					Call("b2", "book", map[string]any{"table": 5}).Content.Parts...)
			}
			yield(e, nil)
			ask := &session.Event{}
			ask.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
				"b1": {Hint: "Book table 4?"},
			}
			if text == "book twice" {
				ask.Actions.RequestedToolConfirmations["b2"] = session.Confirmation{Hint: "Book table 5?"}
			}
			yield(ask, nil)
		case "ask":
			e := Call("q1", "adk_request_input", map[string]any{
				"message":         "How many people?",
				"response_schema": map[string]any{"type": "object"},
			})
			e.LongRunningToolIDs = []string{"q1"}
			yield(e, nil)
		case "card":
			for _, e := range stream(false, "Card ", "4111") {
				yield(e, nil)
			}
			select {
			case <-Shown: // a client has seen what a plugin takes out of the whole event
			case <-ctx.Done():
			}
			yield(session.Reply("Card 4111"), nil)
		case "break":
			for _, e := range stream(false, "half a") {
				yield(e, nil)
			}
			yield(nil, errors.New("the secret reason"))
		case "model":
			yield(&session.Event{ErrorCode: "RATE_LIMIT", ErrorMessage: "the model is busy"}, nil)
		case "weather and wait":
			yield(session.Reply("19 degrees."), nil)
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		case "wait":
			for _, e := range stream(false, "I wait") {
				yield(e, nil)
			}
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		default:
			for _, e := range stream(false, "You ", "said: ") {
				yield(e, nil)
			}
			yield(session.Reply("You said: "+text), nil)
		}
	}
}

// Call is an agent's event with a call of a tool.
func Call(id, name string, args map[string]any) *session.Event {
	part := &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
	return &session.Event{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}
}

// Policy denies, redacts, withholds and stops where the input or an event says so. It lets partial events
// pass as they are.
func Policy() *plugin.Plugin {
	return &plugin.Plugin{
		Name:     "policy",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			text := e.Text()
			switch {
			case e.Partial:
			case strings.Contains(text, "4111"):
				c := e.Clone()
				c.Content.Parts[0].Text = strings.ReplaceAll(text, "4111", "[X]")
				return plugin.Outcome{Replace: c, Reason: "a card number"}, nil
			case e.Author == session.User && text == "hush":
				return plugin.Outcome{Withhold: true, Stop: true}, nil
			case e.Author == session.User && text == "forbidden":
				no := session.Reply("That is not allowed here.")
				no.ErrorCode = session.Denied
				no.ErrorMessage = "not allowed"
				return plugin.Outcome{Emit: []*session.Event{no}, Stop: true, Reason: "a rule"}, nil
			}
			return plugin.Outcome{}, nil
		},
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			if inv.Input == nil || inv.Input.Text() != "compact" {
				return plugin.Outcome{}, nil
			}
			summary := &session.Event{}
			summary.Actions.Compaction = &session.Compaction{
				Through:  inv.Position - 1,
				Frontier: inv.Frontier,
				Content:  genai.NewContentFromText("They greeted.", genai.RoleUser),
			}
			return plugin.Outcome{Emit: []*session.Event{summary}}, nil
		},
	}
}

// JSON returns a value as JSON.
func JSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
