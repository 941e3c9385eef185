package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/tool"
)

// guarding makes the plugin of the kind guardrail. Its decisions are on the events, so their records are for -v.
func guarding(pc *pluginConfig, l lent) (*plugin.Plugin, error) {
	c := *pc.Guardrail
	c.Log = lowered(l.log)
	if c.File != "" {
		c.File = l.path(c.File)
	}
	if c.KeyEnv != "" && l.dry { // nothing is judged, so any key will do
		c.Key = bytes.Repeat([]byte{1}, 32)
	}
	c.Models = func(name string) (model.Model, error) {
		m, err := l.model(name)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		return m, nil
	}
	if !l.dry || c.File == "" {
		return guardrail.New(c)
	}
	pol, err := policy.Load(c.File)
	if err != nil {
		return nil, err
	}
	for _, name := range pol.Models() {
		if _, err := c.Models(name); err != nil {
			return nil, fmt.Errorf("guardrail: %s: %w", pol.Name(), err)
		}
	}
	c.Policy, c.File, c.Reload = pol.Local(), "", false // nobody is asked, so no judge's header is needed
	return guardrail.New(c)
}

// vaultKey names the environment variable with the key of the guardrail's vault, "" if there is none.
func (c *config) vaultKey() string {
	for _, p := range c.Plugins {
		if p.Guardrail != nil && p.Guardrail.KeyEnv != "" {
			return p.Guardrail.KeyEnv
		}
	}
	return ""
}

// opening returns the tool with what the guardrail has hidden in its arguments turned back when it runs.
func (b *builder) opening(t *tool.Tool) (*tool.Tool, error) {
	if b.dry {
		return t, nil
	}
	key := os.Getenv(b.vaultKey())
	if key == "" {
		return nil, fmt.Errorf("vault: the environment variable %s, the guardrail's key_env, is not set", b.vaultKey())
	}
	v, err := guardrail.NewVault([]byte(key))
	if err != nil {
		return nil, err
	}
	return v.Tool(t), nil
}

// judges reports whether a guardrail asks the model. A policy that cannot be read is told elsewhere.
func (c *config) judges(name string) bool {
	return slices.ContainsFunc(c.Plugins, func(p pluginConfig) bool {
		if p.Guardrail == nil || p.Guardrail.File == "" {
			return false
		}
		pol, err := policy.Load(c.path(p.Guardrail.File))
		return err == nil && slices.Contains(pol.Models(), name)
	})
}

// unguarded names plugins that say something which no guardrail is offered, and those that are offered what one is yet
// to take out.
func (c *config) unguarded() (advice []string) {
	first := slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Guardrail != nil })
	if first < 0 {
		return nil
	}
	guard := c.Plugins[first].Name
	for i := range c.Plugins {
		p := &c.Plugins[i]
		switch {
		case i < first && (p.Audit != nil || p.Uploads != nil):
			advice = append(advice, fmt.Sprintf("plugin %q stands before %q and keeps what that has not looked at yet; put it after", p.Name, guard))
		case i > first && p.EarlyExit != nil:
			advice = append(advice, fmt.Sprintf("plugin %q stands after %q, which is not offered its answers; put it before", p.Name, guard))
		}
	}
	return advice
}

// unknownTools says which tools that policies name no agent has. What servers and recordings have is not known here: then it
// says nothing.
func (c *config) unknownTools() (advice []string) {
	if c.Agent == nil {
		return nil
	}
	tools, known := c.toolsOf(c.Agent)
	for i := range c.Plugins {
		g := c.Plugins[i].Guardrail
		if g == nil || g.File == "" || !known {
			continue
		}
		if pol, err := policy.Load(c.path(g.File)); err == nil { // or that was told
			advice = append(advice, pol.Advise(tools)...)
		}
	}
	return advice
}

// toolsOf returns the names of the functions that an agent and those below it call, and whether these are all.
func (c *config) toolsOf(a *agentConfig) (tools []string, all bool) {
	all = a.Replay == ""
	for _, name := range a.Tools {
		tools = append(tools, name)
		all = all && (name == exitLoop || name == recall || slices.ContainsFunc(c.Tools, func(t toolConfig) bool { return t.Name == name }))
	}
	if a.OutputSchema != nil {
		tools = append(tools, "set_model_response") // by which its model gives the answer
	}
	for _, in := range a.inside() {
		for i := range in.agents {
			below, known := c.toolsOf(&in.agents[i])
			if tools, all = append(tools, below...), all && known; in.key == "calls" {
				tools = append(tools, in.agents[i].Name)
			}
		}
	}
	return append(tools, llm.Transfer), all
}
