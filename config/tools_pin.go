package config

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// PinningPolicies returns the policies that guardrails of the configuration have and that pin tools.
func (c *Config) PinningPolicies(ctx context.Context) (list []*policy.Policy, err error) {
	for i := range c.file.Plugins {
		p := &c.file.Plugins[i]
		if p.Guardrail == nil || p.Guardrail.File == "" {
			continue
		}
		pol, err := guardrail.Load(ctx, policyName(p.Guardrail.File, c.file.path))
		if err != nil {
			return nil, c.file.source.Errorf(pluginPath(i), "%w", err)
		}
		if pol.Pins() != nil {
			list = append(list, pol)
		}
	}
	return list, nil
}

// Declarations opens the servers that agents use, and returns the declarations of all tools that agents offer to their
// models. It needs no key of a model and no store, and leaves nothing open. Of the options only ServerStderr counts.
func (c *Config) Declarations(ctx context.Context, o Options) (list []*genai.FunctionDeclaration, err error) {
	a, err := c.unopened(ctx, o)
	if err != nil {
		return nil, err
	}
	return offered(a), nil
}

// A Prompt returns what an agent's model is given beside the conversation: the system instruction, filled in from the
// state of the invocation, and the declarations of tools. Of the invocation only Key and State count.
type Prompt = func(context.Context, *session.Invocation) (system string, tools []*genai.FunctionDeclaration, err error)

// Prompts returns the prompts of the agents that ask models, by the names of the agents. It opens what Declarations opens.
func (c *Config) Prompts(ctx context.Context, o Options) (map[string]Prompt, error) {
	root, err := c.unopened(ctx, o)
	if err != nil {
		return nil, err
	}
	prompts := map[string]Prompt{}
	for a := range agents(root) {
		if p, ok := a.(interface {
			Prompt(context.Context, *session.Invocation) (string, []*genai.FunctionDeclaration, error)
		}); ok {
			prompts[a.Name()] = p.Prompt
		}
	}
	return prompts, nil
}

// unopened returns the agent of the configuration, which knows its tools and can use nothing: the servers that it has
// asked for their tools are closed again.
func (c *Config) unopened(ctx context.Context, o Options) (a agent.Agent, err error) {
	b := newBuilder(ctx, c.file, nil)
	b.dry = true
	b.servers = true
	b.artifacts = c.file.dryArtifacts()
	b.stderr = o.ServerStderr
	defer func() {
		for _, f := range b.close {
			err = errors.Join(err, f())
		}
	}()
	return b.agent()
}

// offered returns what the models of an agent, and of those below it, are offered.
func offered(root agent.Agent) (list []*genai.FunctionDeclaration) {
	for a := range agents(root) {
		if o, ok := a.(interface {
			Offered() []*genai.FunctionDeclaration
		}); ok {
			list = append(list, o.Offered()...)
		}
	}
	return list
}

// agents yields an agent and those below it, each once.
func agents(root agent.Agent) iter.Seq[agent.Agent] {
	return func(yield func(agent.Agent) bool) {
		seen := map[agent.Agent]bool{}
		var visit func(agent.Agent) bool
		visit = func(a agent.Agent) bool {
			if a == nil || seen[a] {
				return true
			}
			seen[a] = true
			if !yield(a) {
				return false
			}
			if p, ok := a.(agent.Parent); ok {
				for _, below := range p.Agents() {
					if !visit(below) {
						return false
					}
				}
			}
			return true
		}
		visit(root)
	}
}

// pinWarnings warns of lockfiles that are missing, and of tools that are not as they were pinned. The
// tools of servers are not known here.
func (c *file) pinWarnings(a agent.Agent) (warnings []string) {
	for pol := range c.policies {
		pins := pol.Pins()
		if pins == nil {
			continue
		}
		warnings = append(warnings, pins.Advice()...)
		if !pins.There() {
			continue
		}
		tools, err := pins.CompareAll(offered(a))
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		for _, t := range tools {
			switch t.State {
			case "new":
				warnings = append(warnings, fmt.Sprintf("%s: the tool %s is not pinned, so it is not offered to a model; pin it with: runner policy pin %s", pins.File(), t.Name, t.Name))
			case "changed":
				warnings = append(warnings, fmt.Sprintf("%s: the tool %s has changed since it was pinned, so its calls are asked about; if the change is right: runner policy pin %s", pins.File(), t.Name, t.Name))
			}
		}
	}
	return warnings
}
