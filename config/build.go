package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/a2a"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// builder makes the agent of a configuration that was checked, and the models, tools and servers
// that the agent needs: each once, and none that nobody uses.
type builder struct {
	*file
	ctx context.Context
	// dry makes only what needs neither a key nor a server. The agent cannot run then.
	dry bool
	// servers connects to servers even if dry is set, so that their tools are known.
	servers   bool
	artifacts artifact.Service // nil if there is none
	stderr    io.Writer        // gets what servers write to standard error; nil discards it
	waits     waits            // is told of calls of models and tools
	// changeTool is Options.Tool, onlyModel Options.Model.
	changeTool func(*tool.Tool) *tool.Tool
	onlyModel  model.Model

	models map[string]model.Model
	tools  map[string][]*tool.Tool // by the name that agents call them by
	used   map[string]bool         // tools and servers
	tokens []string                // the environment variables with tokens for agents that run elsewhere
	close  closers                 // of servers
	errs   []error
}

func newBuilder(ctx context.Context, c *file, sessions session.Service) *builder {
	var settings compaction.Config
	if i := c.compacting(); i >= 0 {
		settings = c.Plugins[i].Compaction.Config
	}
	return &builder{
		file:   c,
		ctx:    ctx,
		models: map[string]model.Model{},
		tools: map[string][]*tool.Tool{exitLoop: {tool.ExitLoop()},
			recall: {compaction.Recall(sessions, settings)}},
		used: map[string]bool{},
	}
}

// agent returns the configuration's agent. The caller closes b.close, also if it fails.
func (b *builder) agent() (agent.Agent, error) {
	if b.Agent == nil {
		return nil, ErrNoAgent
	}
	a := b.build("agent", b.Agent, "", "")
	// Make the tools that no agent uses as well, to say what is wrong with them. They stay unused.
	for i := range b.Tools {
		name := b.Tools[i].Name
		used := b.used[name]
		_ = b.tool("", name)
		b.used[name] = used
	}
	return a, errors.Join(b.errs...)
}

// unused lists what the configuration has and no agent uses.
func (b *builder) unused() (list []string) {
	note := func(what, name string, used bool) {
		if !used {
			list = append(list, what+" "+name)
		}
	}
	for i := range b.Models {
		name := b.Models[i].Name
		note("model", name, b.models[name] != nil || b.summarizes(name) || b.judges(name))
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

// build returns the agent at path. If it names no model, it has the model called ref, which is
// named at refPath.
func (b *builder) build(path string, a *agentConfig, ref, refPath string) agent.Agent {
	if a.Model != "" {
		ref = a.Model
		refPath = path + ".model"
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
	case a.A2A != "":
		token, err := secret(a.TokenEnv)
		if err != nil && !b.dry {
			b.bad(path+".token_env", "%w", err)
		}
		made, err := a2a.New(a.Name, a.Description, a.A2A, a2a.Options{Token: token})
		if err != nil {
			b.bad(path+".a2a", "%w", err)
		}
		if a.TokenEnv != "" {
			b.tokens = append(b.tokens, a.TokenEnv)
		}
		return made
	case a.Sequential != nil:
		return workflow.Sequential(a.Name, a.Description, all("sequential", a.Sequential)...)
	case a.Parallel != nil:
		return workflow.Parallel(a.Name, a.Description, all("parallel", a.Parallel)...)
	case a.Loop != nil:
		return workflow.Loop(a.Name, a.Description, a.Loop.Limit, all("loop.agents", a.Loop.Agents)...)
	case a.Workflow != nil:
		return b.workflow(path+".workflow", a.Name, a.Description, a.Workflow, ref, refPath)
	}
	before := len(b.errs)
	c := llm.Config{
		Name:                  a.Name,
		Description:           a.Description,
		Model:                 b.model(refPath, ref),
		Instruction:           a.Instruction,
		SubAgents:             all("agents", a.Agents),
		AgentTools:            all("calls", a.Calls),
		NoParent:              a.NoParent,
		NoPeers:               a.NoPeers,
		OutputKey:             a.OutputKey,
		NoHistory:             a.Blind,
		MaxModelCalls:         a.MaxModelCalls,
		Timeout:               a.Timeout,
		GenerateContentConfig: a.Generate.config(),
		Artifacts:             b.artifacts,
	}
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
		return nil // a part of it could not be made
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
	c := &genai.GenerateContentConfig{
		Temperature:     g.Temperature,
		TopP:            g.TopP,
		TopK:            g.TopK,
		MaxOutputTokens: g.MaxOutputTokens,
		StopSequences:   g.Stop,
		Seed:            g.Seed,
	}
	if g.ThinkingBudget != nil {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: g.ThinkingBudget}
	}
	return c
}

// model returns the model that is named ref at path.
func (b *builder) model(path, ref string) model.Model {
	if m := b.models[ref]; m != nil {
		return m
	}
	m, err := b.file.model(ref)
	if err != nil { // the check of the file says this first
		b.bad(path, "%w", err)
		return nil
	}
	kind := m.kinds()[0]
	i := slices.IndexFunc(b.Models, func(m modelConfig) bool { return m.Name == ref })
	if i >= 0 {
		path = fmt.Sprintf("models[%d].%s", i, kind.name)
	}
	made, err := b.onlyModel, error(nil)
	if made == nil {
		made, err = b.openModel(b.ctx, ref, b.dry)
	}
	if err != nil {
		b.bad(path, "%w", err)
		made = notOpened{} // so that the error is reported once
	}
	b.models[ref] = b.waits.model(ref, made)
	return b.models[ref]
}

// replayAgent returns an agent that plays a file with one session.
func replayAgent(ctx context.Context, name, file string) (agent.Agent, error) {
	f, err := input.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	var only *session.Recording
	for rec, err := range session.ReadRecordings(file, f) {
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, fmt.Errorf("%s has several sessions, and the agent plays one: write that one into a file of its own", file)
		}
		only = rec
	}
	if only == nil {
		return nil, fmt.Errorf("%s has no session", file)
	}
	return replay.NewScript(name, only)
}
