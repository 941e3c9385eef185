package main

import (
	"maps"
	"slices"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/mcp"
)

// server connects to a server and returns its tools.
func (b *builder) server(path string, m *mcpConfig) []*tool.Tool {
	if b.dry {
		return nil
	}
	c := mcp.Config{Command: m.Command, Env: m.Env, URL: m.URL, Headers: maps.Clone(m.Headers), Prefix: m.Prefix, Tools: m.Tools,
		Confirm: m.Confirm, Timeout: m.Timeout, StartTimeout: m.StartTimeout}
	if len(m.Command) > 0 {
		c.Dir = b.path(".")
		if b.program.verbose {
			c.Stderr = b.program.err
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
		b.bad(path, "%w", exitModel.errorf("server %s: %w", m.Name, err))
		return nil
	}
	b.closers = append(b.closers, client.Close)
	return client.Tools()
}
