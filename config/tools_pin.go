package config

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
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
	a, err := b.agent()
	if err != nil {
		return nil, err
	}
	return offered(a), nil
}

// offered returns what the models of an agent, and of those below it, are offered.
func offered(root agent.Agent) (list []*genai.FunctionDeclaration) {
	seen := map[agent.Agent]bool{}
	var visit func(agent.Agent)
	visit = func(a agent.Agent) {
		if a == nil || seen[a] {
			return
		}
		seen[a] = true
		if o, ok := a.(interface {
			Offered() []*genai.FunctionDeclaration
		}); ok {
			list = append(list, o.Offered()...)
		}
		if p, ok := a.(agent.Parent); ok {
			for _, below := range p.Agents() {
				visit(below)
			}
		}
	}
	visit(root)
	return list
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
