package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
	"github.com/plughook/plughook/tool/mcp"
	"github.com/plughook/plughook/yamlfile"
)

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
			b.tools[name] = b.waits.tools(b.server(fmt.Sprintf("mcp[%d]", i), &b.MCP[i]))
		}
	}
	for i := range b.Tools {
		if b.Tools[i].Name == name {
			b.tools[name] = b.waits.tools(b.command(fmt.Sprintf("tools[%d]", i), &b.Tools[i]))
		}
	}
	return b.tools[name]
}

// toolOf returns one tool of a server.
func (b *builder) toolOf(path, server, name string) []*tool.Tool {
	list := b.tool(path, server)
	if b.dry && !b.servers || len(b.errs) > 0 {
		return nil
	}
	i := slices.IndexFunc(b.MCP, func(m mcpConfig) bool { return m.Name == server })
	prefix := b.MCP[i].Prefix
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

// command makes a tool that is a command.
func (b *builder) command(path string, c *toolConfig) []*tool.Tool {
	made := command.Config{
		Name:        c.Name,
		Description: c.Description,
		Command:     c.Command,
		Dir:         b.path("."),
		Env:         c.Env,
	}
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
	t.Serial = c.Serial
	t.LongRunning = c.LongRunning
	if b.changeTool != nil {
		t = b.changeTool(t)
	}
	if c.Timeout > 0 {
		t = tool.Timeout(t, c.Timeout)
	}
	if c.Confirm != "" {
		t = tool.Confirm(t, c.Confirm, asked(c.Ask)...)
	}
	return []*tool.Tool{t}
}

// asked returns whose yes is needed.
func asked(a session.Approver) []session.Approver {
	if a == (session.Approver{}) {
		return nil
	}
	return []session.Approver{a}
}

// opening returns a tool that gets, in its arguments, what the guardrail has put into its vault.
func (b *builder) opening(t *tool.Tool) (*tool.Tool, error) {
	if b.dry {
		return t, nil
	}
	key := os.Getenv(b.vaultKey())
	if key == "" {
		return nil, fmt.Errorf("vault: the environment variable %s, the guardrail's key_env, is not set",
			b.vaultKey())
	}
	v, err := guardrail.NewVault([]byte(key))
	if err != nil {
		return nil, err
	}
	return v.Tool(t), nil
}

// server connects to a server and returns its tools.
func (b *builder) server(path string, m *mcpConfig) []*tool.Tool {
	if b.dry && !b.servers {
		return nil
	}
	c := mcp.Config{
		Command:      m.Command,
		Env:          m.Env,
		URL:          m.URL,
		Headers:      maps.Clone(m.Headers),
		Prefix:       m.Prefix,
		Tools:        m.Tools,
		Confirm:      m.Confirm,
		Ask:          asked(m.Ask),
		Timeout:      m.Timeout,
		StartTimeout: m.StartTimeout,
		Change:       b.changeTool,
	}
	if len(m.Command) > 0 {
		c.Dir = b.path(".")
		if b.stderr != nil {
			c.Stderr = b.stderr
		}
	}
	for _, header := range slices.Sorted(maps.Keys(m.HeaderEnv)) {
		value, err := secret(m.HeaderEnv[header])
		if err != nil {
			b.bad(path+".header_env."+header, "header %s: %w", header, err)
			return nil
		}
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		c.Headers[header] = value
	}
	client, err := mcp.Open(b.ctx, c)
	if err != nil {
		b.bad(path, "%w", failed(serverFailed, fmt.Errorf("server %s: %w", m.Name, err)))
		return nil
	}
	b.close = append(b.close, client.Close)
	return client.Tools()
}
