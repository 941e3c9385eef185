package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/logger"
)

const defaultConfig = "runner.yaml"

// config is what a configuration file says. Its tags are the file's keys and their documentation.
type config struct {
	App     string         `yaml:"app" json:"app,omitempty" jsonschema:"app that sessions belong to; --app goes first"`
	Store   string         `yaml:"store" json:"store,omitempty" jsonschema:"where sessions are kept: memory:, sqlite:FILE or postgres://…; --store goes first"`
	Agent   *agentConfig   `yaml:"agent" json:"agent,omitempty" jsonschema:"who answers"`
	Plugins []pluginConfig `yaml:"plugins" json:"plugins,omitempty" jsonschema:"the plugins in the order in which they see an event"`

	source *source
}

type agentConfig struct {
	Replay string `yaml:"replay" json:"replay,omitempty" jsonschema:"a session file with one session: its agents' answers are played, the first to the first input and so on"`
}

// pluginConfig has exactly one kind: a key of the list kinds.
type pluginConfig struct {
	Name    string        `yaml:"name" json:"name,omitempty" jsonschema:"the plugin's name; its kind if empty"`
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a hook may take, such as 2s; no limit if empty"`
	OnError string        `yaml:"on_error" json:"on_error,omitempty" jsonschema:"what a hook's failure does: closed (the default) ends the run, open lets it go on and marks what was not checked"`

	Logger    *logger.Config    `yaml:"logger" json:"logger,omitempty" jsonschema:"writes a log record for each thing that happens"`
	EarlyExit *earlyexit.Config `yaml:"earlyexit" json:"earlyexit,omitempty" jsonschema:"answers by rule and ends the run"`
}

var onErrors = []string{"closed", "open"}

// loadConfig reads the configuration file that the flag names, or the default one if it is there. Paths
// in it are relative to it; environment variables in it are not expanded.
func (p *program) loadConfig() (*config, error) {
	name := p.config
	if name == "" {
		name = defaultConfig
	}
	data, err := os.ReadFile(name)
	if p.config == "" && errors.Is(err, fs.ErrNotExist) {
		return &config{source: &source{}}, nil
	}
	if err != nil {
		return nil, exitUsage.errorf("configuration: %w", err)
	}
	c, err := parseConfig(name, data)
	return c, exitUsage.as(err)
}

// check returns what is wrong with the configuration beyond its form.
func (c *config) check() error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, c.source.errorf(path, format, args...))
	}
	if _, _, err := splitStore(c.Store); c.Store != "" && err != nil {
		bad("store", "%w", err)
	}
	if c.Agent != nil && c.Agent.Replay == "" {
		bad("agent", "the agent needs replay: FILE, a session file whose answers are played")
	}
	names := map[string]string{}
	for i := range c.Plugins {
		plug, path := &c.Plugins[i], fmt.Sprintf("plugins[%d]", i)
		kinds := plug.kinds()
		switch {
		case len(kinds) == 0:
			bad(path, "the plugin has no kind; give it one of: %s", strings.Join(kindNames(), ", "))
			continue
		case len(kinds) > 1:
			bad(path, "the plugin has %d kinds, %s and %s; make it a plugin for each", len(kinds), kinds[0].name, kinds[1].name)
			continue
		}
		if plug.Name == "" {
			plug.Name = kinds[0].name
		}
		if first, taken := names[plug.Name]; taken {
			bad(path, "another plugin, at %s, is named %q; give one of them a name of its own with name:", first, plug.Name)
		}
		names[plug.Name] = c.source.at(path)
		if plug.Timeout < 0 || plug.Timeout == 0 && c.source.has(path+".timeout") {
			bad(path+".timeout", "timeout %v: it must be more than 0", plug.Timeout)
		}
		if plug.OnError != "" && plug.OnError != onErrors[0] && plug.OnError != onErrors[1] {
			bad(path+".on_error", "on_error %q: it is closed or open%s", plug.OnError, meant(plug.OnError, onErrors))
		}
	}
	return errors.Join(errs...)
}

// path returns a path of the configuration as one of this process.
func (c *config) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.source.name), name)
}
