package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// New returns an agent, or an error that says everything that is wrong with its configuration. An
// agent can be the sub-agent of only one agent.
func New(c Config) (agent.Agent, error) {
	a := &llmAgent{Config: c, tools: map[string]*function{}}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("llm: agent %s: %w", c.Name, fmt.Errorf(format, args...)))
	}
	if c.Model == nil {
		bad("Config.Model is nil")
	}
	if c.MaxModelCalls < 0 || c.Timeout < 0 {
		bad("MaxModelCalls and Timeout must not be negative")
	}
	if c.Instruction != "" && c.InstructionFunc != nil {
		bad("Instruction and InstructionFunc are both set; set only one of them")
	}
	add := func(f *function, err error) {
		switch {
		case err != nil:
			bad("%w", err)
		case a.tools[f.Name()] != nil || f.Name() == Transfer || f.Name() == setResponse:
			bad("two functions are named %q, or the name is that of a function which the agent adds itself",
				f.Name())
		default:
			a.tools[f.Name()] = f
			a.functions = append(a.functions, f)
		}
	}
	for _, t := range c.Tools {
		if t == nil {
			bad("a tool is nil")
			continue
		}
		add(newFunction(t))
	}
	for _, callee := range c.AgentTools {
		if callee == nil {
			bad("an agent in AgentTools is nil")
			continue
		}
		add(newCallee(callee))
	}
	var err error
	if _, err := schemaOf(c.Input); err != nil {
		bad("Input: %w", err)
	}
	if a.output, err = schemaOf(c.Output); err != nil {
		bad("Output: %w", err)
	} else if a.output != nil {
		a.giveOutput, err = (&tool.Tool{Declaration: &genai.FunctionDeclaration{Name: setResponse,
			ParametersJsonSchema: c.Output}}).Check()
		if err != nil && len(c.Tools)+len(c.AgentTools)+len(c.SubAgents) > 0 {
			bad("Output: an agent with functions gives its answer by a call, so the schema must be that of an object: %w", err)
		}
	}
	if err := agent.Check(a); err != nil {
		bad("%w", err)
	}
	for _, sub := range c.SubAgents {
		if l, ok := sub.(*llmAgent); ok && l.parent != nil {
			bad("its sub-agent %s is a sub-agent of %s already; make another one", l.Name(), l.parent.Name())
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, sub := range c.SubAgents {
		if l, ok := sub.(*llmAgent); ok {
			l.parent = a
		}
	}
	return a, nil
}

type llmAgent struct {
	Config
	parent     *llmAgent // the agent that it is a sub-agent of, nil if there is none
	functions  []*function
	tools      map[string]*function                        // by name
	output     func(context.Context, any) error            // compares an answer with Output, nil if it has none
	giveOutput func(context.Context, map[string]any) error // checks what is passed to setResponse, nil if it cannot be
}

func schemaOf(v any) (func(context.Context, any) error, error) {
	if v == nil {
		return nil, nil
	}
	return tool.Schema(v)
}

func (a *llmAgent) Name() string        { return a.Config.Name }
func (a *llmAgent) Description() string { return a.Config.Description }

// OutputSchema returns the schema of the agent's answer, nil if that is any text. A workflow in which
// the agent is a node asks for it.
func (a *llmAgent) OutputSchema() any { return a.Config.Output }

// Agents implements agent.Parent.
func (a *llmAgent) Agents() []agent.Agent { return slices.Concat(a.SubAgents, a.AgentTools) }

// Functions returns the declarations of the agent's tools, for who shows what an agent can do. The agents
// that it can call are in Agents.
func (a *llmAgent) Functions() []*genai.FunctionDeclaration {
	var list []*genai.FunctionDeclaration
	for _, t := range a.Tools {
		list = append(list, t.Declaration)
	}
	return list
}

// Run runs the agent, or the one below it that the invocation goes on with, and then each agent
// that is handed over to.
func (a *llmAgent) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		asked := 0
		for next := a.current(host); next != nil; {
			l, ok := next.(*llmAgent)
			if !ok {
				agent.Run(ctx, next, host, yield)
				return
			}
			next = l.loop(ctx, host, yield, a, &asked)
		}
	}
}
