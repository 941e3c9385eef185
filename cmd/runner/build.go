package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
)

// builder makes the agent of a configuration that was checked, and what the agent needs of models, tools
// and servers: each once, and none that nobody uses.
type builder struct {
	*config
	ctx context.Context
	// dry makes everything that needs neither a key nor a server; what remains cannot run.
	dry       bool
	artifacts artifact.Service // nil if there is none
	program   *program

	models map[string]model.Model
	tools  map[string][]*tool.Tool // by the name that agents call them by
	used   map[string]bool         // tools and servers
	close  []func() error          // of servers
	errs   []error
}

func (p *program) builder(ctx context.Context, c *config, dry bool, artifacts artifact.Service) *builder {
	return &builder{config: c, ctx: ctx, dry: dry, artifacts: artifacts, program: p,
		models: map[string]model.Model{}, tools: map[string][]*tool.Tool{exitLoop: {tool.ExitLoop()}}, used: map[string]bool{}}
}

// agent returns the configuration's agent. What was opened for it is closed by end, also if it fails.
func (b *builder) agent() (agent.Agent, error) {
	if b.Agent == nil {
		return nil, exitUsage.errorf(noAgent, cmp.Or(b.source.name, defaultConfig+" (or another file, named with --config)"))
	}
	a := b.build("agent", b.Agent, "", "")
	for i := range b.Tools { // those that nobody uses, too: they are right or wrong all the same
		used := b.used[b.Tools[i].Name]
		_ = b.tool("", b.Tools[i].Name)
		b.used[b.Tools[i].Name] = used
	}
	return a, exitUsage.as(errors.Join(b.errs...))
}

// end closes what was opened.
func (b *builder) end() error {
	var errs []error
	for _, f := range slices.Backward(b.close) {
		errs = append(errs, f())
	}
	b.close = nil
	return errors.Join(errs...)
}

// unused lists what the configuration has and no agent uses.
func (b *builder) unused() (list []string) {
	note := func(what, name string, used bool) {
		if !used {
			list = append(list, what+" "+name)
		}
	}
	for i := range b.Models {
		note("model", b.Models[i].Name, b.models[b.Models[i].Name] != nil)
	}
	for i := range b.Tools {
		note("tool", b.Tools[i].Name, b.used[b.Tools[i].Name])
	}
	for i := range b.MCP {
		note("server", b.MCP[i].Name, b.used[b.MCP[i].Name])
	}
	return list
}

func (b *builder) bad(path, format string, args ...any) {
	b.errs = append(b.errs, b.source.errorf(path, format, args...))
}

// build returns an agent; ref names the model that it has if it names none, and refPath where.
func (b *builder) build(path string, a *agentConfig, ref, refPath string) agent.Agent {
	if a.Model != "" {
		ref, refPath = a.Model, path+".model"
	}
	all := func(key string, list []agentConfig) []agent.Agent {
		var made []agent.Agent
		for i := range list {
			made = append(made, b.build(fmt.Sprintf("%s.%s[%d]", path, key, i), &list[i], ref, refPath))
		}
		return made
	}
	switch {
	case a.Replay != "":
		made, err := replayAgent(a.Name, b.path(a.Replay))
		if err != nil {
			b.bad(path+".replay", "%w", err)
		}
		return made
	case a.Sequential != nil:
		return workflow.Sequential(a.Name, a.Description, all("sequential", a.Sequential)...)
	case a.Parallel != nil:
		return workflow.Parallel(a.Name, a.Description, all("parallel", a.Parallel)...)
	case a.Loop != nil:
		return workflow.Loop(a.Name, a.Description, a.Loop.Limit, all("loop.agents", a.Loop.Agents)...)
	}
	before := len(b.errs)
	c := llm.Config{Name: a.Name, Description: a.Description, Model: b.model(refPath, ref), Instruction: a.Instruction,
		SubAgents: all("agents", a.Agents), Callees: all("calls", a.Calls), NoParent: a.NoParent, NoPeers: a.NoPeers,
		OutputKey: a.OutputKey, Blind: a.Blind, MaxModelCalls: a.MaxModelCalls, Timeout: a.Timeout,
		Generate: a.Generate.config(), Artifacts: b.artifacts}
	if a.InputSchema != nil { // a nil map in an interface is not nil
		c.Input = a.InputSchema
	}
	if a.OutputSchema != nil {
		c.Output = a.OutputSchema
	}
	for i, name := range a.Tools {
		c.Tools = append(c.Tools, b.tool(fmt.Sprintf("%s.tools[%d]", path, i), name)...)
	}
	if len(b.errs) > before {
		return nil // it could not be made of what there is
	}
	made, err := llm.New(c)
	if err != nil {
		b.bad(path, "%w", err)
	}
	return made
}

func (g *generateConfig) config() *genai.GenerateContentConfig {
	if g == nil {
		return nil
	}
	c := &genai.GenerateContentConfig{Temperature: g.Temperature, TopP: g.TopP, TopK: g.TopK, MaxOutputTokens: g.MaxOutputTokens,
		StopSequences: g.Stop, Seed: g.Seed}
	if g.ThinkingBudget != nil {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: g.ThinkingBudget}
	}
	return c
}

// model returns the model that an agent names at path.
func (b *builder) model(path, ref string) model.Model {
	if m := b.models[ref]; m != nil {
		return m
	}
	m, err := b.config.model(ref)
	if err != nil { // which the check has said
		b.bad(path, "%w", err)
		return nil
	}
	kind := m.kinds()[0]
	if i := slices.IndexFunc(b.Models, func(m modelConfig) bool { return m.Name == ref }); i >= 0 {
		path = fmt.Sprintf("models[%d].%s", i, kind.name)
	}
	var made model.Model = notOpened{}
	if !b.dry || !kind.remote {
		if made, err = kind.open(b.ctx, b.config, m); err != nil {
			b.bad(path, "%w", err)
			made = notOpened{} // so that others do not say it again
		}
	}
	b.models[ref] = made
	return made
}

// notOpened stands for a model while a configuration is checked, which asks none.
type notOpened struct{}

func (notOpened) Generate(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		yield(nil, errors.New("the model was not opened"))
	}
}

// tool returns what an agent names at path: a tool, or those of a server.
func (b *builder) tool(path, name string) []*tool.Tool {
	if list, made := b.tools[name]; made {
		return list
	}
	server, of, one := strings.Cut(name, "/")
	if one {
		return b.toolOf(path, server, of)
	}
	b.used[name] = true
	for i := range b.MCP {
		if b.MCP[i].Name == name {
			b.tools[name] = b.server(fmt.Sprintf("mcp[%d]", i), &b.MCP[i])
		}
	}
	for i := range b.Tools {
		if b.Tools[i].Name == name {
			b.tools[name] = b.command(fmt.Sprintf("tools[%d]", i), &b.Tools[i])
		}
	}
	return b.tools[name]
}

// toolOf returns one tool of a server.
func (b *builder) toolOf(path, server, name string) []*tool.Tool {
	list := b.tool(path, server)
	if b.dry || len(b.errs) > 0 {
		return nil
	}
	prefix := b.MCP[slices.IndexFunc(b.MCP, func(m mcpConfig) bool { return m.Name == server })].Prefix
	var names []string
	for _, t := range list {
		if t.Name() == prefix+name {
			return []*tool.Tool{t}
		}
		names = append(names, strings.TrimPrefix(t.Name(), prefix))
	}
	b.bad(path, "server %s has no tool %q%s", server, name, orList(meant(name, names), names))
	return nil
}

func (b *builder) command(path string, c *toolConfig) []*tool.Tool {
	made := command.Config{Name: c.Name, Description: c.Description, Command: c.Command, Dir: b.path("."), Env: c.Env}
	if c.Parameters != nil {
		made.Parameters = c.Parameters
	}
	t, err := command.New(made)
	if err == nil {
		_, err = t.Check()
	}
	if err != nil {
		b.bad(path, "%w", err)
		return nil
	}
	t.Serial, t.LongRunning = c.Serial, c.LongRunning
	if c.Timeout > 0 {
		t = tool.Timeout(t, c.Timeout)
	}
	if c.Confirm != "" {
		t = tool.Confirm(t, c.Confirm)
	}
	return []*tool.Tool{t}
}
