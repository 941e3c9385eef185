package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// declare returns the tools that the configuration takes.
func (c *Client) declare(list []*sdk.Tool) ([]*tool.Tool, error) {
	var all []string
	for _, t := range list {
		all = append(all, t.Name)
	}
	for _, name := range slices.Concat(c.config.Tools, c.config.Confirm) {
		if name != "*" && !slices.Contains(all, name) {
			return nil, fmt.Errorf("it has no tool named %q; it has %s", name, strings.Join(all, ", "))
		}
	}
	var tools []*tool.Tool
	theirs := map[string]string{}
	for _, t := range list {
		if len(c.config.Tools) > 0 && !slices.Contains(c.config.Tools, t.Name) {
			continue
		}
		made := c.tool(t)
		if _, err := made.Check(); err != nil {
			return nil, fmt.Errorf("%w (name the tools you want in Tools, without %q)", err, t.Name)
		}
		if other, taken := theirs[made.Name()]; taken {
			return nil, fmt.Errorf("its tools %q and %q would both be named %q; name the one you want in Tools", other, t.Name, made.Name())
		}
		theirs[made.Name()] = t.Name
		tools = append(tools, made)
	}
	return tools, nil
}

// tool returns a tool of the server. Its schema is as the server has it.
func (c *Client) tool(t *sdk.Tool) *tool.Tool {
	description := t.Description
	if description == "" {
		description = t.Title
	}
	name := t.Name
	made := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: c.config.Prefix + plain(name), Description: description, ParametersJsonSchema: t.InputSchema},
		Serial:      t.Annotations == nil || !t.Annotations.ReadOnlyHint,
		Run: func(ctx context.Context, call *tool.Call) (map[string]any, error) {
			return c.call(ctx, name, call)
		},
	}
	if slices.Contains(c.config.Confirm, name) || slices.Contains(c.config.Confirm, "*") {
		made = tool.Confirm(made, fmt.Sprintf("Call %s of the MCP server %s?", name, c.label))
	}
	return made
}

// plain returns a name that every model takes: MCP has '.' and '/' in names too.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
