package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
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

	models  map[string]model.Model
	tools   map[string][]*tool.Tool // by the name that agents call them by
	used    map[string]bool         // tools and servers
	closers                         // of servers
	errs    []error
}

func (p *program) builder(ctx context.Context, c *config, dry bool, artifacts artifact.Service, sessions session.Service) *builder {
	return &builder{config: c, ctx: ctx, dry: dry, artifacts: artifacts, program: p,
		models: map[string]model.Model{}, tools: map[string][]*tool.Tool{exitLoop: {tool.ExitLoop()}, recall: {compaction.Recall(sessions)}}, used: map[string]bool{}}
}

// agent returns the configuration's agent. What was opened for it is closed by end, also if it fails.
func (b *builder) agent() (agent.Agent, error) {
	if b.Agent == nil {
		return nil, exitUsage.errorf(noAgent, cmp.Or(b.source.Name(), defaultConfig+" (or another file, named with --config)"))
	}
	a := b.build("agent", b.Agent, "", "")
	for i := range b.Tools { // those that nobody uses, too: they are right or wrong all the same
		used := b.used[b.Tools[i].Name]
		_ = b.tool("", b.Tools[i].Name)
		b.used[b.Tools[i].Name] = used
	}
	return a, exitUsage.as(errors.Join(b.errs...))
}

// unused lists what the configuration has and no agent uses.
func (b *builder) unused() (list []string) {
	note := func(what, name string, used bool) {
		if !used {
			list = append(list, what+" "+name)
		}
	}
	for i := range b.Models {
		note("model", b.Models[i].Name, b.models[b.Models[i].Name] != nil || b.summarizes(b.Models[i].Name) || b.judges(b.Models[i].Name))
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
	b.errs = append(b.errs, b.source.Errorf(path, format, args...))
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
		made, err := replayAgent(b.ctx, a.Name, b.path(a.Replay))
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
		SubAgents: all("agents", a.Agents), AgentTools: all("calls", a.Calls), NoParent: a.NoParent, NoPeers: a.NoPeers,
		OutputKey: a.OutputKey, NoHistory: a.Blind, MaxModelCalls: a.MaxModelCalls, Timeout: a.Timeout,
		GenerateContentConfig: a.Generate.config(), Artifacts: b.artifacts}
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
