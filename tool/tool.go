// Package tool defines what agents can call: a declaration for the model, and a function.
//
// A new property of tools is a field of Tool, and a wrapper that sets it, such as Confirm. A keyword of schemas that is checked:
// a row in document.go, and what it costs in meter.go.
package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

// A Tool is a function that a model can call. It is a value: to change one, copy it and replace a
// field, as Confirm does. New makes one of a Go function.
type Tool struct {
	// Declaration is what the model is told: name, description, parameters (ParametersJsonSchema or
	// Parameters).
	Declaration *genai.FunctionDeclaration
	// Run executes a call; the arguments have been checked against the declaration's schema. What
	// it returns is the response. An error, or a panic, becomes the response {"error": …}, which
	// the model reads, so it has no secret in it. An *Ask holds the call for a human.
	//
	// The response of a LongRunning tool says how far it has come: the call waits for another one, in
	// an input with the function's response. Call.Final and an error say that none comes. A nil
	// response and no error says nothing yet, and the model is not asked; of any other tool it is an
	// empty response.
	//
	// The invocation does not end before Run returns, so Run honours ctx.
	Run func(ctx context.Context, call *Call) (map[string]any, error)
	// LongRunning says that the answer comes in a later invocation, unless Call.Final is set.
	LongRunning bool
	// Serial says that a call must not run at the same time as other calls of the same answer: it
	// runs alone, after the calls before it.
	Serial bool
}

// Name returns the declaration's name.
func (t *Tool) Name() string { return t.Declaration.Name }

// A Call is one call of a tool. It belongs to the one Run that it is passed to.
type Call struct {
	// ID, Name and Args are the function call's, as plugins have left it.
	ID, Name string
	Args     map[string]any
	// Agent is the agent that calls, Branch its branch.
	Agent, Branch string
	// Invocation is the invocation as it is when the call begins, with the state that calls before
	// it in the same answer have set if they did not run at the same time.
	Invocation *session.Invocation
	// Confirmation is a human's approval of the call, nil if nobody was asked. If the human
	// declines, Run is not called.
	Confirmation *session.Confirmation
	// Artifacts keeps files; nil if the agent has no artifact service. Save uses it.
	Artifacts artifact.Service
	// Actions are effects beyond the response, and go into the log with it: state, a transfer, an
	// escalation, SkipSummarization. Of two calls in one answer that set one key, the later one's
	// counts. A failed call has none.
	Actions session.Actions
	// Final is set by the Run of a LongRunning tool whose response is the answer: no other one comes.
	Final bool
}

// Get returns the value of a state key: what this call has set or else what the session has, nil if
// neither has one.
func (c *Call) Get(key string) any {
	if v, ok := c.Actions.StateDelta[key]; ok {
		return v
	}
	return c.Invocation.State[key]
}

// Set sets a state key to a JSON value; nil deletes it.
func (c *Call) Set(key string, value any) { c.Actions.Set(key, value) }

// Save keeps an artifact of the session, and notes its version in the log.
func (c *Call) Save(ctx context.Context, name string, data *genai.Part) (version int64, err error) {
	if c.Artifacts == nil {
		return 0, errors.New("tool: the agent has no artifact service; set llm.Config.Artifacts")
	}
	version, err = c.Artifacts.Save(ctx, c.Invocation.Key, name, data)
	if err != nil {
		return 0, err
	}
	c.Actions.ArtifactDelta = maps.Clone(c.Actions.ArtifactDelta)
	if c.Actions.ArtifactDelta == nil {
		c.Actions.ArtifactDelta = map[string]int64{}
	}
	c.Actions.ArtifactDelta[name] = version
	return version, nil
}

// An Ask, returned by Run as its error, holds the call until a human has said yes or no: then Run
// is called again with a Confirmation, or the model told that the human declined. It may take days,
// and another process. What the call has set in Actions is dropped.
type Ask struct {
	// Hint says what the human decides.
	Hint string
	// Payload is a JSON value for the program that shows the question.
	Payload any
	// By says whose yes is needed: that of each of these; the session's own user if there is none.
	By []session.Approver
}

// Error implements error.
func (a *Ask) Error() string { return "a human is asked: " + a.Hint }

// Confirm returns a copy of the tool that holds every call until a human has approved it: each of those that by names, or
// the session's own user if it names none.
func Confirm(t *Tool, hint string, by ...session.Approver) *Tool {
	asks := *t
	asks.Run = func(ctx context.Context, call *Call) (map[string]any, error) {
		if call.Confirmation == nil {
			return nil, &Ask{Hint: hint, By: by}
		}
		return t.Run(ctx, call)
	}
	return &asks
}

// Timeout returns a copy of the tool in which the context of each Run ends after d. If Run fails
// then, the error names the time limit. The call still waits until Run returns.
func Timeout(t *Tool, d time.Duration) *Tool {
	limited := *t
	limited.Run = func(ctx context.Context, call *Call) (map[string]any, error) {
		slow := fmt.Errorf("%s did not finish within %s", t.Name(), d)
		ctx, cancel := context.WithTimeoutCause(ctx, d, slow)
		defer cancel()
		response, err := t.Run(ctx, call)
		if err != nil && context.Cause(ctx) == slow {
			return nil, fmt.Errorf("%w: %w", slow, err)
		}
		return response, err
	}
	return &limited
}

// ExitLoop returns a tool that ends the loop which the agent is in (see package agent/workflow).
func ExitLoop() *Tool {
	return &Tool{
		Declaration: &genai.FunctionDeclaration{Name: "exit_loop",
			Description: "Ends the loop. Call it only when you were told to, and the work is done."},
		Run: func(_ context.Context, call *Call) (map[string]any, error) {
			call.Actions.Escalate = true
			call.Actions.SkipSummarization = true
			return nil, nil
		},
	}
}
