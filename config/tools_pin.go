package config

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// ToolPins compare the tools of a configuration's agents with the lockfile of a policy that pins tools.
type ToolPins struct {
	Policy string // its file
	Name   string // of the lockfile
	Exists bool   // the lockfile is there by now
	Tools  []policy.PinnedTool
	Idle   []string // globs of pin_tools that match no tool

	policy *policy.Policy
}

// PinTools opens the servers that agents use, reads the declarations of all tools, and compares them
// with the lockfiles of the policies that guardrails of the configuration have and that pin tools. It
// needs no key of a model and no store, and leaves nothing open. stderr gets what servers that are
// commands write to standard error; nil discards it. Nothing is written: Write does that.
func (c *Config) PinTools(ctx context.Context, stderr io.Writer) (list []*ToolPins, err error) {
	// Read the policies.
	for i := range c.file.Plugins {
		p := &c.file.Plugins[i]
		if p.Guardrail == nil || p.Guardrail.File == "" {
			continue
		}
		pol, err := guardrail.Load(ctx, policyName(p.Guardrail.File, c.file.path))
		if err != nil {
			return nil, c.file.source.Errorf(pluginPath(i), "%w", err)
		}
		if !pol.PinsTools() {
			continue
		}
		pins := &ToolPins{Policy: pol.Name(), policy: pol}
		pins.Name, pins.Exists = pol.PinsFile()
		list = append(list, pins)
	}
	if list == nil {
		return nil, nil
	}

	// Read the declarations.
	b := newBuilder(ctx, c.file, nil)
	b.dry = true
	b.servers = true
	b.artifacts = c.file.dryArtifacts()
	b.stderr = stderr
	defer func() {
		for _, f := range b.close {
			err = errors.Join(err, f())
		}
	}()
	a, err := b.agent()
	if err != nil {
		return nil, err
	}
	declarations := offered(a)

	// Compare them.
	for _, pins := range list {
		pins.Idle = pins.policy.PinsNothing(declarations)
		pins.Tools, err = pins.policy.ComparePins(declarations)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Write writes the lockfile once these tools are approved as they are: all of it or nothing. What the
// lockfile has of other tools stays.
func (p *ToolPins) Write(approved []policy.PinnedTool) error {
	data, err := p.policy.Pin(approved)
	if err != nil {
		return err
	}
	return writeLock(p.Name, data)
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
		warnings = append(warnings, pol.PinAdvice()...)
		name, there := pol.PinsFile()
		if !there {
			continue
		}
		tools, err := pol.ComparePins(offered(a))
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		for _, t := range tools {
			switch t.State {
			case "new":
				warnings = append(warnings, fmt.Sprintf("%s: the tool %s is not pinned, so it is not offered to a model; pin it with: runner policy pin %s", name, t.Name, t.Name))
			case "changed":
				warnings = append(warnings, fmt.Sprintf("%s: the tool %s has changed since it was pinned, so its calls are asked about; if the change is right: runner policy pin %s", name, t.Name, t.Name))
			}
		}
	}
	return warnings
}
