package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
	"github.com/plughook/plughook/yamlfile"
)

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
	b.bad(path, "server %s has no tool %q%s", server, name, yamlfile.Meant(name, names))
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
	if err == nil && c.Vault {
		t, err = b.opening(t)
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
