package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/plughook/plughook/yamlfile"
)

const defaultConfig = "runner.yaml"

// config is what a configuration file says. Its tags are the file's keys and their documentation.
type config struct {
	App       string         `yaml:"app" json:"app,omitempty" jsonschema:"app that sessions belong to; --app goes first"`
	Store     string         `yaml:"store" json:"store,omitempty" jsonschema:"where sessions are kept: memory:, sqlite:FILE or postgres://…; --store goes first"`
	Artifacts string         `yaml:"artifacts" json:"artifacts,omitempty" jsonschema:"where files of tools and users are kept: a directory, or memory; nowhere if empty"`
	Models    []modelConfig  `yaml:"models" json:"models,omitempty" jsonschema:"models that agents name; one without settings needs no entry"`
	Tools     []toolConfig   `yaml:"tools" json:"tools,omitempty" jsonschema:"commands that agents can call; each call is a process of its own"`
	MCP       []mcpConfig    `yaml:"mcp" json:"mcp,omitempty" jsonschema:"servers of the Model Context Protocol, whose tools agents can call"`
	Agent     *agentConfig   `yaml:"agent" json:"agent,omitempty" jsonschema:"who answers"`
	Plugins   []pluginConfig `yaml:"plugins" json:"plugins,omitempty" jsonschema:"the plugins in the order in which they see an event"`

	source *yamlfile.File
}

// loadConfig reads the configuration file that the flag names, or the default one if it is there. Paths
// in it are relative to it; environment variables in it are not expanded.
func (p *program) loadConfig(ctx context.Context) (*config, error) {
	name := p.config
	if name == "" {
		name = defaultConfig
	}
	data, err := readFile(ctx, name, maxConfig)
	if p.config == "" && errors.Is(err, fs.ErrNotExist) {
		return &config{source: &yamlfile.File{}}, nil
	}
	if err != nil {
		return nil, exitUsage.errorf("configuration: %w", err)
	}
	c, err := parseConfig(name, data)
	return c, exitUsage.as(err)
}

// parseConfig reads a configuration. Its errors say file, line and column.
func parseConfig(name string, data []byte) (*config, error) {
	c := &config{}
	var err error
	if c.source, err = yamlfile.Read(name, data, c); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check returns what is wrong with the configuration beyond its form.
func (c *config) check() error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, c.source.Errorf(path, format, args...))
	}
	if _, _, err := splitStore(c.Store); c.Store != "" && err != nil {
		bad("store", "%w", err)
	}
	c.checkModels(bad)
	c.checkTools(bad)
	c.checkAgents(bad)
	c.checkPlugins(bad)
	return errors.Join(errs...)
}

// complaint notes what is wrong with what stands at a path of the configuration.
type complaint func(path, format string, args ...any)

// names are those that are taken, and where.
type names struct {
	source *yamlfile.File
	what   string
	at     map[string]string
}

func (n *names) take(bad complaint, path, name string) {
	if first, taken := n.at[name]; taken {
		bad(path, "another %s, at %s, is named %q; give one of them a name of its own with name:", n.what, first, name)
		return
	}
	n.at[name] = n.source.At(path)
}

func (c *config) checkTimeout(bad complaint, path string, d time.Duration) {
	c.checkDuration(bad, path, "timeout", d)
}

// checkDuration checks what is at a key of what is at path.
func (c *config) checkDuration(bad complaint, path, key string, d time.Duration) {
	if path += "." + key; d < 0 || d == 0 && c.source.Has(path) {
		bad(path, "%s %v: it must be more than 0", last(path), d)
	}
}

// path returns a path of the configuration as one of this process.
func (c *config) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.source.Name()), name)
}

// last is the last key of a path.
func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
